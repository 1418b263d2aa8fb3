#ifndef CAFFE_TEST_INT8_VALUES_HPP_
#define CAFFE_TEST_INT8_VALUES_HPP_

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"

// Values for tests of 8-bit kernels, and what these are to write.
namespace caffe::kernels {

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
Y Written(float y, float factor, int zero_point = 0) {
  if (std::is_same<Y, float>::value) return static_cast<Y>(y);
  const double least = std::is_signed<Y>::value ? -127 : 0,
               most = std::is_signed<Y>::value ? 127 : 255;
  const double rounded = std::nearbyint(y * factor) + double(zero_point);
  return static_cast<Y>(std::min(most, std::max(least, rounded)));
}

inline float Activated(const Activation& f, float x) {
  const float a = static_cast<float>(f.a), b = static_cast<float>(f.b);
  if (f.kind == Activation::RELU) return x < 0 ? a * x : x;
  if (f.kind == Activation::CLIP) return std::min(std::max(x, a), b);
  return x;
}

/// What `post` makes of the sum of output `o`, rounded after each operation; `residual` is
/// null where there is none.
template <typename Y, typename R>
Y Finished(const PostOps& post, int64_t sum, size_t o, const R* residual) {
  volatile float product = static_cast<float>(sum) * post.scale[o];
  volatile float y = product + post.bias[o];
  if (residual) {
    volatile float added = static_cast<float>(*residual) * post.residual_scale;
    y = y + added;
  }
  return Written<Y>(Activated(post.activation, y), post.factor, post.zero_point);
}

/// The sums of the definition, (num, outputs, output...) over one or two spatial axes; `padding` is
/// what surrounds the input.
template <typename X>
std::vector<int64_t> Sums(const ConvolutionShape& s, int num, const std::vector<X>& x,
                          const std::vector<int8_t>& weights, int padding = 0) {
  const bool flat = s.axes() == 1;
  const auto axis = [&](const std::vector<int>& v, int i, int none) {
    return flat ? (i == 0 ? none : v[0]) : v[i];
  };
  const int height = axis(s.input, 0, 1), width = axis(s.input, 1, 1);
  const int out_h = axis(s.output, 0, 1), out_w = axis(s.output, 1, 1);
  const int kernel_h = axis(s.kernel, 0, 1), kernel_w = axis(s.kernel, 1, 1);
  const int channels = s.channels / s.group, outputs = s.outputs / s.group;
  std::vector<int64_t> sums;
  for (int n = 0; n < num; ++n) {
    for (int o = 0; o < s.outputs; ++o) {
      for (int h = 0; h < out_h; ++h) {
        for (int w = 0; w < out_w; ++w) {
          int64_t sum = 0;
          for (int c = 0; c < channels; ++c) {
            for (int i = 0; i < kernel_h; ++i) {
              for (int j = 0; j < kernel_w; ++j) {
                const int y =
                    h * axis(s.stride, 0, 1) - axis(s.pad, 0, 0) + i * axis(s.dilation, 0, 1);
                const int z =
                    w * axis(s.stride, 1, 1) - axis(s.pad, 1, 0) + j * axis(s.dilation, 1, 1);
                const bool inside = y >= 0 && y < height && z >= 0 && z < width;
                const size_t channel = size_t(n) * s.channels + o / outputs * channels + c;
                const int64_t value = inside ? x[(channel * height + y) * width + z] : padding;
                sum += value * weights[((size_t(o) * channels + c) * kernel_h + i) * kernel_w + j];
              }
            }
          }
          sums.push_back(sum);
        }
      }
    }
  }
  return sums;
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_INT8_VALUES_HPP_
