#ifndef CAFFE_UTIL_RECORD_SHARE_HPP_
#define CAFFE_UTIL_RECORD_SHARE_HPP_

#include <cstdint>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Which records of a source are this solver's where several train together
/// (Caffe::solver_count). The batches that all of them read in one iteration are, together, the
/// batch that one solver would read that took as many records at once. In the TRAIN phase solver r
/// has every solver_count-th of its records, from number r on, as in Caffe. In the TEST phase each
/// has all records, but while RankSettings::share_tests says otherwise: then solver r has
/// records in a row, its batch_size of them, so that its batch is one that a single solver tests.
class RecordShare {
 public:
  /// By the calling thread's settings.
  explicit RecordShare(Phase phase);

  /// Whether this solver has the record `index` places behind where all solvers begin their
  /// batches.
  bool Has(uint64_t index, int batch_size) const {
    return (by_batch_ ? index / batch_size : index) % solvers_ == uint64_t(rank_);
  }
  /// The layer types that deal out their data by this class; each registers itself next to its
  /// code. AddType returns true so that it can initialise a static.
  static bool AddType(const std::string& layer_type);
  static bool IsUsedBy(const std::string& layer_type);

  /// Records in the batches of all solvers.
  uint64_t Total(int batch_size) const { return uint64_t(solvers_) * batch_size; }

 private:
  bool by_batch_;
  int solvers_ = 1, rank_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_RECORD_SHARE_HPP_
