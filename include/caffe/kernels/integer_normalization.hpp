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
namespace caffe {
namespace kernels {

/// The axis over which a softmax goes, and extents before and behind it.
struct SoftmaxExtents {
  size_t outer = 0, length = 0, inner = 1;
};
/// What exp(0) is in the table of a softmax.
constexpr int32_t kExpOne = 1 << 23;
/// table[d] = exp(-step d) * 2^23, to the nearest: `step` is x's scale.
std::vector<int32_t> SoftmaxTable(double step);
/// y = clamp(zero_point + (table[m - x] steps) / (256 times the sum of table[m - x]), to the
/// nearest), m being the largest x; `steps` is 256 / y's scale. X: int8_t or uint8_t.
template <typename X, typename Y>
void SoftmaxIntegers(const SoftmaxExtents& extents, const int32_t* table, int32_t steps,
                     const IntegerResult& result, const X* x, Y* y);

/// A function of whole numbers 0 <= a < 2^40 that falls from a = 1 on, divided by its value at 1:
/// as it is for a < 32, then at 32 places between each power of two and the next, with straight
/// lines in between. For a = 0 it is that of 1. In units of 2^-30.
std::vector<int32_t> FallingTable(const std::function<double(double)>& function);
/// The entries of such a table.
constexpr size_t kFallingTableSize = 32 + 35 * 32 + 1;
/// Its value at a.
int32_t Interpolated(const int32_t* table, uint64_t a);

/// y = result.Of((q table(a) + 2^7) >> 8), q being x less its zero point, with `result.by` and
/// a the sum of the q^2: of `size` channels around the element, or of a size x size window of its
/// channel (shape.within_channel), which is cut off at the border. Other fields of `shape` are not
/// read.
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

constexpr int kMostWindowInBlocks = 258;         ///< squares whose sum is below 2^24
constexpr size_t kMostChannelsInBlocks = 66051;  ///< squares whose sum is below 2^32
/// The same bits with channels in blocks, as many in one as the instruction set's vectors hold (16
/// with AVX-512, else 8), the last one of x filled up with any bytes, that of y with zeros: for
/// windows across channels, of up to kMostWindowInBlocks, and norms of up to kMostChannelsInBlocks.
template <typename Y>
void LrnIntegersInBlocks(const LrnShape& shape, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y);
template <typename Y>
void NormalizeIntegersInBlocks(const NormExtents& extents, const int32_t* table,
                               const IntegerOperand& x, const std::vector<Multiplier>& by,
                               const IntegerResult& result, Y* y);

/// Of each of `rows` groups of `length` bytes: d = 256 q - the mean of 256 q, to the nearest, and
/// y = result.Of((d table(v) + 2^15) >> 16), v being the mean of d^2, to the nearest; or
/// y = result.Of(256 d) without a table. For groups of up to 2^24.
template <typename Y>
void StandardizeIntegers(size_t rows, size_t length, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INTEGER_NORMALIZATION_HPP_
