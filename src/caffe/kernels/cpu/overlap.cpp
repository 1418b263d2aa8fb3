#include "caffe/kernels/overlap.hpp"

#include <limits>

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr BoxArrays::Row kNowhere = {{kInfinity, kInfinity, -kInfinity, -kInfinity, 0}};

}  // namespace

void BoxArrays::Add(const Row& box) {
  for (int i = 0; i < 5; ++i) {
    if (size_ == arrays_[i].size()) arrays_[i].resize(size_ + kOverlapLanes, kNowhere.numbers[i]);
    arrays_[i][size_] = box.numbers[i];
  }
  ++size_;
}

bool BoxArrays::Overlap(const Row& box, float more, float threshold) const {
  const float* arrays[5];
  for (int i = 0; i < 5; ++i) arrays[i] = arrays_[i].data();
  return ChosenKernels().overlap(arrays_[0].size(), arrays, box.numbers, more, threshold);
}

}  // namespace caffe::kernels
