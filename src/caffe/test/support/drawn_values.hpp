#ifndef CAFFE_TEST_DRAWN_VALUES_HPP_
#define CAFFE_TEST_DRAWN_VALUES_HPP_

#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

// Random operands of kernels, and what the bounds of errors are made of.
namespace caffe::kernels {

template <typename T>
std::vector<T> Drawn(size_t count, std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(*random));
  return values;
}
template <typename T>
std::vector<double> Wide(const std::vector<T>& values) {
  std::vector<double> wide;
  for (const T& value : values) wide.push_back(static_cast<float>(value));
  return wide;
}
inline std::vector<double> Magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

/// 64-byte aligned scratch, of NaNs.
class AlignedScratch {
 public:
  explicit AlignedScratch(size_t bytes) : memory_(bytes / sizeof(double) + 8, NAN) {
    data_ = memory_.data();
    size_t space = memory_.size() * sizeof(double);
    std::align(64, 1, data_, space);
  }
  void* data() const { return data_; }

 private:
  std::vector<double> memory_;
  void* data_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_DRAWN_VALUES_HPP_
