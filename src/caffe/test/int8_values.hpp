#ifndef CAFFE_TEST_INT8_VALUES_HPP_
#define CAFFE_TEST_INT8_VALUES_HPP_

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

#include "caffe/pointwise.hpp"

// Values for tests of 8-bit kernels, and what these are to write.
namespace caffe {
namespace kernels {

/// Numbers from the whole range, its ends more often than others.
template <typename T>
std::vector<T> Integers(size_t n, std::mt19937* random) {
  const int least = std::is_signed<T>::value ? -127 : 0,
            most = std::is_signed<T>::value ? 127 : 255;
  std::uniform_int_distribution<int> value(least - 40, most + 40);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(std::min(most, std::max(least, value(*random))));
  return values;
}

inline std::vector<float> Floats(size_t n, float scale, std::mt19937* random) {
  std::normal_distribution<float> value(0, scale);
  std::vector<float> values(n);
  for (float& v : values) v = value(*random);
  return values;
}

/// Residuals of a type.
template <typename R>
std::vector<R> Residuals(size_t n, std::mt19937* random) {
  if constexpr (std::is_same<R, float>::value) {
    return Floats(n, 1, random);
  } else {
    return Integers<R>(n, random);
  }
}

template <typename Y>
Y Written(float y, float factor) {
  if (std::is_same<Y, float>::value) return static_cast<Y>(y);
  const float least = std::is_signed<Y>::value ? -127 : 0,
              most = std::is_signed<Y>::value ? 127 : 255;
  return static_cast<Y>(std::nearbyint(std::min(most, std::max(least, y * factor))));
}

inline float Activated(const PointwiseActivation& f, float x) {
  if (f.kind == PointwiseActivation::RELU) return x < 0 ? f.alpha * x : x;
  if (f.kind == PointwiseActivation::CLIP) return std::min(std::max(x, f.alpha), f.beta);
  return x;
}

/// What an epilogue makes of the sum of output `o`, rounded after each operation; `residual` is
/// null where there is none.
template <typename Epilogue, typename Y, typename R>
Y Finished(const Epilogue& epilogue, int64_t sum, size_t o, const R* residual) {
  volatile float product = static_cast<float>(sum) * epilogue.scale[o];
  volatile float y = product + epilogue.bias[o];
  if (residual) {
    volatile float added = static_cast<float>(*residual) * epilogue.residual_scale;
    y = y + added;
  }
  return Written<Y>(Activated(epilogue.activation, y), epilogue.factor);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_TEST_INT8_VALUES_HPP_
