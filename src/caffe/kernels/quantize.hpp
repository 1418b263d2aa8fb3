#ifndef CAFFE_KERNELS_QUANTIZE_HPP_
#define CAFFE_KERNELS_QUANTIZE_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::kernels {

/// y = x * factor, rounded to the nearest integer (halves to even), plus the zero point, saturated:
/// to [-127, 127] for Q = int8_t, to [0, 255] for Q = uint8_t. The product is in float; infinities
/// saturate, a NaN becomes the zero point. `factor` is 1 / scale. The same on every instruction
/// set.
template <typename Q>
void Quantize(size_t n, float factor, const float* x, Q* y, int zero_point = 0);

/// y = (q - zero_point) * scale, in float. Q is int8_t or uint8_t.
template <typename Q>
void Dequantize(size_t n, float scale, const Q* q, float* y, int zero_point = 0);

/// y = Dequantize(Quantize(x)): x on the grid of multiples of `scale`. y may be x.
template <typename Q>
void FakeQuantize(size_t n, float scale, const float* x, float* y);

/// The same for x of (groups, outer, channels, inner), where y has the same order and
/// factors[group * channels + channel] applies to each row of `inner`. Q = int8_t.
void QuantizeChannels(size_t groups, size_t outer, size_t channels, size_t inner,
                      const float* factors, const float* x, int8_t* y);
void DequantizeChannels(size_t groups, size_t outer, size_t channels, size_t inner,
                        const float* scales, const int8_t* q, float* y);

/// A summary of a run of floats.
struct ValueSummary {
  size_t zeros = 0;      ///< 0 and -0
  size_t negatives = 0;  ///< below 0, -infinity too
  size_t infinite = 0, not_a_number = 0;
  float least = 0, most = 0;  ///< of the finite values; 0 if there is none
  float largest = 0;          ///< largest magnitude of the finite values
};

/// Serial; for n of at most 2^31.
ValueSummary Summarize(size_t n, const float* x);

/// y = |x| * factor, truncated to an integer. The products must be below 2^31. Serial.
void MagnitudeBins(size_t n, float factor, const float* x, int32_t* y);

/// The largest |x| of finite values in each of groups * channels channels of x, (groups, outer,
/// channels, inner). Returns false if x has NaN or infinities.
bool LargestPerChannel(size_t groups, size_t outer, size_t channels, size_t inner, const float* x,
                       float* largest);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_QUANTIZE_HPP_
