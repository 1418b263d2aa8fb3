#ifndef CAFFE_INFERENCE_QUANTIZE_GROUPS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_GROUPS_HPP_

#include <cstddef>
#include <numeric>
#include <vector>

namespace caffe::inference {

/// Union-find: disjoint sets of the numbers from 0 on.
class Groups {
 public:
  explicit Groups(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  /// The representative of its set.
  int Of(int value) {
    while (parents_[value] != value) value = parents_[value] = parents_[parents_[value]];
    return value;
  }
  void Join(int a, int b) { parents_[Of(a)] = Of(b); }

 private:
  std::vector<int> parents_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_GROUPS_HPP_
