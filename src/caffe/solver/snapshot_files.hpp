#ifndef CAFFE_SOLVER_SNAPSHOT_FILES_HPP_
#define CAFFE_SOLVER_SNAPSHOT_FILES_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

bool SnapshotsInHdf5(const SolverParameter& solver);

/// <prefix>_iter_<n><extension>.
std::string SnapshotFile(const SolverParameter& solver, int iteration,
                         const std::string& extension);

/// The .solverstate or .solverstate.h5 of a snapshot.
std::string SolverStateFile(const SolverParameter& solver, int iteration);

}  // namespace caffe

#endif  // CAFFE_SOLVER_SNAPSHOT_FILES_HPP_
