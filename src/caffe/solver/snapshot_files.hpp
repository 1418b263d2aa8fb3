#ifndef CAFFE_SOLVER_SNAPSHOT_FILES_HPP_
#define CAFFE_SOLVER_SNAPSHOT_FILES_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

bool SnapshotsInHdf5(const SolverParameter& solver);

/// <prefix>_iter_<n><extension>.
std::string SnapshotFile(const SolverParameter& solver, int iteration,
                         const std::string& extension);

/// "_score0_<x>_score1_<y>" of the first five of these, in NVCaffe's way; those that are not finite
/// are left out.
constexpr int kScoresLength = 100;  // at most
std::string ScoresInName(const std::vector<double>& scores);

}  // namespace caffe

#endif  // CAFFE_SOLVER_SNAPSHOT_FILES_HPP_
