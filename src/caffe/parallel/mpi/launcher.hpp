#ifndef CAFFE_MPI_LAUNCHER_HPP_
#define CAFFE_MPI_LAUNCHER_HPP_

#include <cstdlib>

namespace caffe {

/// How many processes a launcher of MPI programs has started together with this one: mpirun of Open
/// MPI, and those that speak PMI (MPICH, Intel MPI, Slurm's srun). 1 if none did.
inline int LaunchedRanks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return 1;
}

}  // namespace caffe

#endif  // CAFFE_MPI_LAUNCHER_HPP_
