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
/// are left out. At most kScoresLength letters.
std::string ScoresInName(const std::vector<double>& scores);
constexpr int kScoresLength = 100;

}  // namespace caffe

#endif  // CAFFE_SOLVER_SNAPSHOT_FILES_HPP_
