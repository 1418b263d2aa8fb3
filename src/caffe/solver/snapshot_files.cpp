#include "snapshot_files.hpp"

#include "caffe/error.hpp"

namespace caffe {

bool SnapshotsInHdf5(const SolverParameter& solver) {
  return solver.snapshot_format() == SolverParameter_SnapshotFormat_HDF5;
}

std::string SnapshotFile(const SolverParameter& solver, int iteration,
                         const std::string& extension) {
  return Join(solver.snapshot_prefix(), "_iter_", iteration, extension);
}

std::string SolverStateFile(const SolverParameter& solver, int iteration) {
  return SnapshotFile(solver, iteration,
                      SnapshotsInHdf5(solver) ? ".solverstate.h5" : ".solverstate");
}

}  // namespace caffe
