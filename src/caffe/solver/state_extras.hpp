#ifndef CAFFE_SOLVER_STATE_EXTRAS_HPP_
#define CAFFE_SOLVER_STATE_EXTRAS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

// TrainingState.extra: bytes by name, of which there may be several.
namespace caffe {

constexpr char kSolverType[] = "solver_type";
constexpr char kLarcCosines[] = "larc_cosines";  ///< doubles
/// The TrainingState of each of several ranks, serialized, in their order.
constexpr char kRankState[] = "rank_state";
/// A decimal number; absent where it is 0.
constexpr char kSkippedUpdates[] = "skipped_updates";
/// Decimal numbers: how many ranks share tests, then for each test net the one that has the first
/// batch of its next test. Absent where that is rank 0 for all of them.
constexpr char kTestPlace[] = "test_place";

inline void AddExtra(const std::string& name, const std::string& value, TrainingState* state) {
  TrainingState::NamedBytes* entry = state->add_extra();
  entry->set_name(name);
  entry->set_value(value);
}

inline std::vector<std::string> ExtrasOf(const TrainingState& state, const std::string& name) {
  std::vector<std::string> values;
  for (const TrainingState::NamedBytes& entry : state.extra()) {
    if (entry.name() == name) values.push_back(entry.value());
  }
  return values;
}

}  // namespace caffe

#endif  // CAFFE_SOLVER_STATE_EXTRAS_HPP_
