#ifndef CAFFE_KERNELS_CPU_VECTOR_KERNELS_HPP_
#define CAFFE_KERNELS_CPU_VECTOR_KERNELS_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/cpu/elementwise/channel_loops.hpp"
#include "caffe/kernels/cpu/int8/integer_loops.hpp"
#include "caffe/kernels/quantize.hpp"

namespace caffe::kernels {

/// Serial loops over T = float or double. x, y, z are read, the last pointer is written; it may
/// be one of the others.
template <typename T>
struct ArithmeticLoops {
  void (*axpby)(size_t n, T a, const T* x, T b, T* y);                       ///< y = a x + b y
  void (*affine)(size_t n, T a, T b, const T* x, T* y);                      ///< y = a x + b
  void (*multiply_add)(size_t n, const T* a, const T* x, const T* b, T* y);  ///< y = a x + b
  /// y[i] = b + the sum of w[t] x[t][i] over the terms t; y is none of the x.
  void (*weighted_sum)(size_t n, size_t terms, const T* w, const T* const* x, T b, T* y);
  /// y = (a x + b)^-0.75.
  void (*affine_power)(size_t n, T a, T b, const T* x, T* y);
  /// y = x (a s + b)^-0.75, where s[i] is the sum of window[t][i]^2 over the terms t; y is none of
  /// the others.
  void (*response)(size_t n, size_t terms, const T* const* window, T a, T b, const T* x, T* y);
  void (*add)(size_t n, const T* x, const T* z, T* y);
  void (*subtract)(size_t n, const T* x, const T* z, T* y);
  void (*multiply)(size_t n, const T* x, const T* z, T* y);
  void (*divide)(size_t n, const T* x, const T* z, T* y);
  void (*maximum)(size_t n, const T* x, const T* z, T* y);
  void (*relu)(size_t n, T slope, const T* x, T* y);  ///< y = x > 0 ? x : slope x
  void (*relu_gradient)(size_t n, T slope, const T* x, const T* dy, T* dx);
  void (*prelu)(size_t n, const T* slopes, const T* x, T* y);  ///< y = x < 0 ? slopes x : x
  void (*prelu_gradient)(size_t n, const T* slopes, const T* x, const T* dy, T* dx);
  void (*mask_scale)(size_t n, const uint8_t* mask, T a, const T* x, T* y);  ///< y = mask ? a x : 0
  void (*mark_larger)(size_t n, const T* x, const T* z, T mark, T* y);  ///< y = x > z ? mark : y
  void (*gate)(size_t n, const T* gates, const T* x, T* y);             ///< y = gates != 0 ? x : 0
  /// Where x[i * step] is larger than best[i], or as large and at[i * step] + mark less than
  /// where[i], these become best[i] and where[i].
  void (*take_larger)(size_t n, size_t step, T mark, const T* x, const T* at, T* best, T* where);
  double (*sum)(size_t n, const T* x);
  double (*absolute_sum)(size_t n, const T* x);
  double (*square_sum)(size_t n, const T* x);
  double (*dot)(size_t n, const T* x, const T* z);
  double (*negative_dot)(size_t n, const T* x, const T* z);  ///< of min(x, 0), or NaN, and z
  /// sums[2 r + j] += the dot product of w[r] and x[j], r < 4, j < 2; for n up to a few thousand.
  void (*dot_tile)(size_t n, const T* const* w, const T* const* x, double* sums);
  /// y[r][i] += the sum of w[4 t + r] x[t][i] over the terms t, r < 4; y is none of the x.
  void (*add_products)(size_t n, size_t terms, const T* w, const T* const* x, T* const* y);
  // Functions of Activation and their gradients.
  void (*absolute_gradient)(size_t n, const T* x, const T* dy, T* dx);
  void (*exponential)(size_t n, T a, T b, const T* x, T* y);     ///< y = b exp(a x)
  void (*logarithm)(size_t n, T a, T b, T c, const T* x, T* y);  ///< y = c log(a + b x)
  void (*softplus)(size_t n, const T* x, T* y);                  ///< y = log(1 + exp(x))
  void (*sigmoid)(size_t n, T a, const T* x, T* y);              ///< y = 1 / (1 + exp(-a x))
  void (*tanh)(size_t n, const T* x, T* y);                      ///< y = tanh(x)
  void (*clip)(size_t n, T least, T most, const T* x, T* y);     ///< a NaN stays one
  void (*clip_gradient)(size_t n, T least, T most, const T* x, const T* dy, T* dx);
  void (*clipped_relu)(size_t n, T most, T slope, const T* x, T* y);
  void (*clipped_relu_gradient)(size_t n, T most, T slope, const T* x, const T* dy, T* dx);
  void (*hard_swish)(size_t n, T a, T b, const T* x, T* y);
  void (*hard_swish_gradient)(size_t n, T a, T b, const T* x, const T* dy, T* dx);
  void (*gelu)(size_t n, const T* x, T* y);  ///< Activation::GELU
  void (*gelu_gradient)(size_t n, const T* x, const T* dy, T* dx);
  /// y[i] = the sum of w[t * n + i] x[first[i] + t] over the terms t. `first` grows by 0 to 2 from
  /// one to the next; x can be read kResampleMargin elements beyond the last of them.
  void (*resample)(size_t n, size_t terms, const int32_t* first, const T* w, const T* x, T* y);
  /// Of losses.hpp, SmoothL1.
  void (*smooth_l1)(size_t n, T sigma2, const T* d, T* y);
  void (*smooth_l1_gradient)(size_t n, T sigma2, const T* d, T* slope);
  /// NormalizePixels.
  void (*pixels)(size_t n, const uint8_t* x, size_t step, const T* means, T mean, T scale, T* y);
};

/// Serial loops over FLOAT16, widened and rounded in registers: the bits of the same
/// ArithmeticLoops<float> between conversions. The last pointer may be one of the others.
struct HalfLoops {
  void (*add)(size_t n, const uint16_t* x, const uint16_t* z, uint16_t* y);
  void (*multiply)(size_t n, const uint16_t* x, const uint16_t* z, uint16_t* y);
  void (*maximum)(size_t n, const uint16_t* x, const uint16_t* z, uint16_t* y);
  void (*relu)(size_t n, float slope, const uint16_t* x, uint16_t* y);
  void (*relu_gradient)(size_t n, float slope, const uint16_t* x, const uint16_t* dy, uint16_t* dx);
};

/// Serial loops of quantize.hpp.
struct QuantizeLoops {
  void (*to_int8)(size_t n, float factor, int zero_point, const float* x, int8_t* y);
  void (*to_uint8)(size_t n, float factor, int zero_point, const float* x, uint8_t* y);
  void (*from_int8)(size_t n, float scale, int zero_point, const int8_t* q, float* y);
  void (*from_uint8)(size_t n, float scale, int zero_point, const uint8_t* q, float* y);
  void (*summarize)(size_t n, const float* x, ValueSummary* summary);
  void (*bins)(size_t n, float factor, const float* x, int32_t* y);
};

constexpr size_t kResampleMargin = 32;  ///< of ArithmeticLoops::resample: two vectors

constexpr size_t kOverlapLanes = 16;  ///< VectorKernels::overlap takes multiples of it

/// Serial loops compiled once per instruction set (vector_kernels.inc).
struct VectorKernels {
  void (*half_to_float)(size_t n, const uint16_t* x, float* y);
  void (*float_to_half)(size_t n, const float* x, uint16_t* y);
  void (*bfloat16_to_float)(size_t n, const uint16_t* x, float* y);
  void (*float_to_bfloat16)(size_t n, const float* x, uint16_t* y);
  /// ArithmeticLoops::dot_tile with weights of halves.
  void (*half_dot_tile)(size_t n, const uint16_t* const* w, const float* const* x, double* sums);
  /// BoxArrays::Overlap.
  bool (*overlap)(size_t n, const float* const* boxes, const float* box, float more,
                  float threshold);
  HalfLoops halves;
  ArithmeticLoops<float> f32;
  ArithmeticLoops<double> f64;
  QuantizeLoops quantize;
  IntegerLoops integers;
  ChannelLoops channels;
};

/// The kernels of the instruction set in use.
const VectorKernels& ChosenKernels();

template <typename T>
const ArithmeticLoops<T>& Loops();
template <>
inline const ArithmeticLoops<float>& Loops<float>() {
  return ChosenKernels().f32;
}
template <>
inline const ArithmeticLoops<double>& Loops<double>() {
  return ChosenKernels().f64;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_VECTOR_KERNELS_HPP_
