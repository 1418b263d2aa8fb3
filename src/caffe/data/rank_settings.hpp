#ifndef CAFFE_UTIL_RANK_SETTINGS_HPP_
#define CAFFE_UTIL_RANK_SETTINGS_HPP_

namespace caffe {

/// How the solver that this thread makes works with those of other ranks (ranks.hpp). How many
/// there are and which one this is, Caffe::solver_count and solver_rank say.
struct RankSettings {
  bool joined = false;          ///< all ranks test, and show what they have in common
  bool batch_per_host = false;  ///< a TRAIN net's batches are those of all ranks together
  bool share_tests = false;     ///< layers of the TEST phase deal out their records too

  /// The calling thread's.
  static RankSettings& Current();
};

}  // namespace caffe

#endif  // CAFFE_UTIL_RANK_SETTINGS_HPP_
