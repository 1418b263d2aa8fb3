#include "snapshot_files.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"

namespace caffe {

bool SnapshotsInHdf5(const SolverParameter& solver) {
  return solver.snapshot_format() == SolverParameter_SnapshotFormat_HDF5;
}

std::string SnapshotFile(const SolverParameter& solver, int iteration,
                         const std::string& extension) {
  return Join(solver.snapshot_prefix(), "_iter_", iteration, extension);
}

std::string ScoresInName(const std::vector<double>& scores) {
  constexpr size_t kMaxScores = 5;
  std::string text;
  for (size_t i = 0; i < std::min(scores.size(), kMaxScores); ++i) {
    if (std::isfinite(scores[i])) text += Join("_score", i, "_", scores[i]);
  }
  return text;
}

}  // namespace caffe
