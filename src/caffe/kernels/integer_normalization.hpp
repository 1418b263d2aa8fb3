#ifndef CAFFE_KERNELS_INTEGER_NORMALIZATION_HPP_
#define CAFFE_KERNELS_INTEGER_NORMALIZATION_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/lrn.hpp"

// Softmax and divisions by norms on 8-bit integers, with integers alone. Blobs in Caffe's order
// unless a name says otherwise. Y: int8_t or uint8_t.
namespace caffe::kernels {

/// n / d to the nearest, halves away from zero; d > 0.
CAFFE_HOST_DEVICE inline int64_t RoundedQuotient(int64_t n, int64_t d) {
  return (n < 0 ? n - d / 2 : n + d / 2) / d;
}

/// The axis of a softmax, and the extents before and after it.
struct SoftmaxExtents {
  size_t outer = 0, length = 0, inner = 1;
};
/// exp(0) in a softmax's table.
constexpr int32_t kExpOne = 1 << 23;
/// table[d] = exp(-step d) * 2^23, to the nearest: `step` is x's scale.
std::vector<int32_t> SoftmaxTable(double step);
/// An exponential's share of their sum: clamp(zero_point + exponential steps / (256 sum), to the
/// nearest); `steps` is 256 / y's scale.
CAFFE_HOST_DEVICE inline int32_t SoftmaxShare(int64_t exponential, int64_t sum, int32_t steps,
                                              const IntegerResult& result) {
  const int64_t y = result.zero_point + RoundedQuotient(exponential * steps, 256 * sum);
  return static_cast<int32_t>(y < result.least ? result.least : y > result.most ? result.most : y);
}
/// y = SoftmaxShare of table[m - x] and their sum, m being the largest x. X: int8_t or uint8_t.
template <typename X, typename Y>
void SoftmaxIntegers(const SoftmaxExtents& extents, const int32_t* table, int32_t steps,
                     const IntegerResult& result, const X* x, Y* y);

/// A function of whole numbers 0 <= a < 2^40 that decreases from a = 1 on, divided by its value at
/// 1: exact for a < 32, then at 32 places between each power of two and the next, with linear
/// interpolation in between. The value for a = 0 is that for 1. In units of 2^-30.
std::vector<int32_t> FallingTable(const std::function<double(double)>& function);
constexpr int kFallingPlaceBits = 5;  ///< places between powers of two
constexpr int kFallingRestBits = 16;  ///< of the distance from a place to the next
/// The number of entries of such a table.
constexpr size_t kFallingTableSize = 32 + 35 * 32 + 1;
/// Its value at a.
CAFFE_HOST_DEVICE inline int32_t Interpolated(const int32_t* table, uint64_t a) {
  if (a < 1 << kFallingPlaceBits) return table[a];
#ifdef __CUDA_ARCH__
  const int zeros = __clzll(static_cast<long long>(a));  // NOLINT: as CUDA has it
#else
  const int zeros = __builtin_clzll(a);
#endif
  const int octave = 63 - zeros - kFallingPlaceBits;  // a = (32 + place) 2^octave + rest
  const size_t place = (size_t(octave) << kFallingPlaceBits) + (a >> octave);
  const uint64_t rest = a & ((uint64_t{1} << octave) - 1);
  const int64_t part =
      static_cast<int64_t>(octave < kFallingRestBits ? rest << (kFallingRestBits - octave)
                                                     : rest >> (octave - kFallingRestBits));
  const int64_t fall = int64_t{table[place]} - table[place + 1];
  const int64_t half = 1 << (kFallingRestBits - 1);
  return static_cast<int32_t>(table[place] - ((fall * part + half) >> kFallingRestBits));
}
/// q divided by a function of a, before it is rescaled.
CAFFE_HOST_DEVICE inline int32_t DividedBy(const int32_t* table, uint64_t a, int32_t q) {
  return static_cast<int32_t>((int64_t{q} * Interpolated(table, a) + (1 << 7)) >> 8);
}

/// y = result.Of((q table(a) + 2^7) >> 8), where q is x minus its zero point and a the sum of q^2
/// over `size` channels around the element, or over a size x size window of its channel
/// (shape.within_channel), clipped at the border. Other fields of `shape` are not read.
template <typename Y>
void LrnIntegers(const LrnShape& shape, const int32_t* table, const IntegerOperand& x,
                 const IntegerResult& result, Y* y);

/// The same with a the sum over the channels of each position, or over the whole image; `by` are
/// the multipliers of each channel.
struct NormExtents {
  size_t num = 0, channels = 0, spatial = 0;
  bool across_spatial = true;
};
template <typename Y>
void NormalizeIntegers(const NormExtents& extents, const int32_t* table, const IntegerOperand& x,
                       const std::vector<Multiplier>& by, const IntegerResult& result, Y* y);

constexpr int kMaxWindowInBlocks = 258;         ///< squares whose sum is below 2^24
constexpr size_t kMaxChannelsInBlocks = 66051;  ///< squares whose sum is below 2^32
/// The same bits with channels in blocks of the instruction set's vector length (16 with AVX-512,
/// else 8), the last one of x padded with any bytes, that of y with zeros: for windows across
/// channels, of up to kMaxWindowInBlocks, and norms of up to kMaxChannelsInBlocks.
template <typename Y>
void LrnIntegersInBlocks(const LrnShape& shape, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y);
template <typename Y>
void NormalizeIntegersInBlocks(const NormExtents& extents, const int32_t* table,
                               const IntegerOperand& x, const std::vector<Multiplier>& by,
                               const IntegerResult& result, Y* y);

/// 256 times the mean of n numbers with this sum.
CAFFE_HOST_DEVICE inline int32_t MeanOfSum(int64_t sum, int64_t n) {
  return static_cast<int32_t>(RoundedQuotient(256 * sum, n));
}
/// A distance from the mean before it is rescaled: times the table's factor or, without a table,
/// times 256.
CAFFE_HOST_DEVICE inline int32_t Standardized(int32_t distance, int64_t factor, bool has_table) {
  return has_table ? static_cast<int32_t>((distance * factor + (1 << 15)) >> 16) : distance * 256;
}

/// For each of `rows` groups of `length` bytes: d = 256 q - the mean of 256 q, to the nearest, and
/// y = result.Of((d table(v) + 2^15) >> 16), v being the mean of d^2, to the nearest; or
/// y = result.Of(256 d) without a table. For groups of up to 2^24.
template <typename Y>
void StandardizeIntegers(size_t rows, size_t length, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INTEGER_NORMALIZATION_HPP_
