#ifndef CAFFE_INFERENCE_QUANTIZE_GROUPS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_GROUPS_HPP_

#include <cstddef>
#include <numeric>
#include <vector>

namespace caffe::inference {

/// Sets of numbers from 0 on that grow together; each is alone at first.
class Groups {
 public:
  explicit Groups(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  /// The one that stands for all of its set.
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
