#ifndef CAFFE_KERNELS_BYTE_SUM_HPP_
#define CAFFE_KERNELS_BYTE_SUM_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/integer_elementwise.hpp"

// Sums of two 8-bit integers that layers with weights compute while they write, with the bits of a
// separate AddIntegers.
namespace caffe::kernels {

/// AddIntegers of a byte y of a layer's output and a byte r of the residual.
struct ByteSum {
  int32_t zero_point = 0, residual_zero_point = 0;
  Multiplier by, residual_by;
  IntegerResult result;

  int32_t Of(int32_t y, int32_t r) const {
    return result.Of(TermOfSum(y - zero_point, by, result.rounding) +
                     TermOfSum(r - residual_zero_point, residual_by, result.rounding));
  }
};

/// A ByteSum as kernels compute it for y from `least` to `most`: in 32 bits
///
///     (high[0] y + high[1] r + high_start + ((low[0] y + low[1] r + low_start) >> 15)) >> shift
///
/// clamped to [result_least, result_most], which is floor((A y + B r + C) / 2^(15 + shift)); or by
/// a table, where no such A, B and C give all of its bytes.
struct ByteSumForm {
  int32_t least, most, result_least, result_most;
  bool is_linear;
  int16_t high[2], low[2];  ///< `low` is not negative
  int32_t high_start, low_start, shift;
  const uint8_t* table;  ///< (y - least, r as uint8_t); null for linear forms
};

/// Finds the form: A and B, the multipliers' products or next to them, and a C with which each of
/// up to 65,536 pairs becomes the byte that AddIntegers gives. Nearly all sums have them:
/// AddIntegers' intermediate rounding is far below a step of its result.
class FoundByteSum {
 public:
  /// Takes the kinds of the residual and of the result. Throws Error unless `least` to `most` are
  /// bytes.
  FoundByteSum(const ByteSum& sum, int32_t least, int32_t most, bool residual_is_unsigned,
               bool result_is_unsigned);
  FoundByteSum(const FoundByteSum&) = delete;
  FoundByteSum& operator=(const FoundByteSum&) = delete;

  /// Valid as long as this lives.
  const ByteSumForm& form() const { return form_; }

 private:
  void FillTable(const ByteSum& sum, bool residual_is_unsigned, bool result_is_unsigned);
  bool FindLinear(const ByteSum& sum, bool residual_is_unsigned, bool result_is_unsigned);

  ByteSumForm form_ = {};
  std::vector<uint8_t> table_;
};

/// Bytes that are added to the outputs of a Rescaling, laid out as these: their kind and the form
/// of the sum.
struct Residual {
  const void* data = nullptr;
  bool is_unsigned = true;
  ByteSum sum;
  const ByteSumForm* form = nullptr;  ///< from FoundByteSum; reference functions need none
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_BYTE_SUM_HPP_
