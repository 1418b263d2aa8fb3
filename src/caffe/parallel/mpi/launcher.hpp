#ifndef CAFFE_MPI_LAUNCHER_HPP_
#define CAFFE_MPI_LAUNCHER_HPP_

#include <cstdlib>
#include <initializer_list>

namespace caffe {

/// The number in the first of the variables that is set.
inline int LauncherNumber(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return otherwise;
}

/// How many processes a launcher of MPI programs has started together with this one: mpirun of Open
/// MPI, and those that speak PMI (MPICH, Intel MPI, Slurm's srun). 1 if none did.
inline int LaunchedRanks() { return LauncherNumber({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1); }

/// Which of them this one is, also before MPI says it.
inline int LaunchedRank() { return LauncherNumber({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0); }

/// Which of those on its machine; `otherwise` where no launcher has started several. Slurm numbers
/// single processes, too.
inline int LaunchedLocalRank(int otherwise) {
  if (LaunchedRanks() < 2) return otherwise;
  return LauncherNumber({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"},
                        otherwise);
}

}  // namespace caffe

#endif  // CAFFE_MPI_LAUNCHER_HPP_
