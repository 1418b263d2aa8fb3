#ifndef CAFFE_KERNELS_INTEGER_ELEMENTWISE_HPP_
#define CAFFE_KERNELS_INTEGER_ELEMENTWISE_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "caffe/kernels/fixed_point.hpp"

// Element by element from 8-bit integers to 8-bit integers, with integers alone. Functions of one
// number are tables: LookUpBytes (byte_elementwise.hpp).
namespace caffe::kernels {

/// Bytes that are read: `zero_point` stands for 0.
struct IntegerOperand {
  const void* data = nullptr;
  bool is_unsigned = true;  ///< uint8_t, else int8_t
  int32_t zero_point = 0;

  /// Element i minus the zero point: -255 to 255.
  CAFFE_HOST_DEVICE int32_t At(size_t i) const {
    return (is_unsigned ? int32_t{static_cast<const uint8_t*>(data)[i]}
                        : int32_t{static_cast<const int8_t*>(data)[i]}) -
           zero_point;
  }
};

/// Bytes that are written: clamp(zero_point + Rescale(x, by), least, most).
struct IntegerResult {
  Multiplier by;
  Rounding rounding = Rounding::DOUBLE;
  int32_t zero_point = 0;
  int32_t least = 0, most = 255;

  CAFFE_HOST_DEVICE int32_t Of(int32_t x) const {
    const int32_t y = zero_point + Rescale(x, by, rounding);
    return y < least ? least : y > most ? most : y;
  }
};

/// Rescale with a multiplier whose value may be negative; the term is then subtracted.
CAFFE_HOST_DEVICE inline int32_t RescaleSigned(int32_t x, Multiplier by, Rounding rounding) {
  return by.value < 0 ? -Rescale(x, {-by.value, by.shift}, rounding) : Rescale(x, by, rounding);
}

/// Left shift of a difference from its zero point before it is added to others.
constexpr int kSumShift = 20;
/// What a difference from its zero point adds to a sum.
CAFFE_HOST_DEVICE inline int32_t TermOfSum(int32_t difference, Multiplier by, Rounding rounding) {
  return RescaleSigned(difference * (1 << kSumShift), by, rounding);
}

/// Bits dropped from a product of two before it is multiplied again.
constexpr int kProductBits = 8;
/// What a product of two adds to a sum.
CAFFE_HOST_DEVICE inline int32_t ProductInSum(int32_t product, Multiplier by, Rounding rounding) {
  return RescaleSigned(product * (1 << (kSumShift - kProductBits)), by, rounding);
}
/// The product of the first `factors` differences times the next one.
CAFFE_HOST_DEVICE inline int32_t NextProduct(int32_t product, size_t factors, int32_t difference) {
  return (factors > 2 ? RoundingShiftRight(product, kProductBits) : product) * difference;
}

/// y = result.Of(the sum of RescaleSigned((x[i] - zero point) * 2^20, by[i])). With two x and
/// multipliers of S_i / (2 max S) and 2 max S / (2^20 S) it is LiteRT's ADD. The multipliers of n x
/// are at most 1 / n, so that sums fit 32 bits. y may be one of the x. Y: int8_t or uint8_t.
template <typename Y>
void AddIntegers(size_t n, const std::vector<IntegerOperand>& x, const std::vector<Multiplier>& by,
                 const IntegerResult& result, Y* y);

/// y = result.Of(the product of all x minus their zero points). With more than three x it is
/// shifted right by 8 bits, with rounding, before each multiplication but the first two; result.by
/// compensates for that. With two x it is LiteRT's MUL. y may be one of the x.
template <typename Y>
void MultiplyIntegers(size_t n, const std::vector<IntegerOperand>& x, const IntegerResult& result,
                      Y* y);

/// y = max(tables[i][x[i]]), compared as Y. A table (256 bytes, indexed by the byte as uint8_t)
/// gives x[i] in y's scale. y may be one of the x.
template <typename Y>
void MaximumOfIntegers(size_t n, const std::vector<const uint8_t*>& x,
                       const std::vector<const uint8_t*>& tables, int32_t least, int32_t most,
                       Y* y);

/// One factor for each `run` of neighbours: x (rows, run, width), a (rows, width).
struct BroadcastShape {
  size_t rows = 0, run = 0, width = 1;
};
/// y[r, i, k] = result.Of((x[r, i, k] - zero point) (a[r, k] - zero point)).
template <typename Y>
void ScaleIntegers(const BroadcastShape& shape, const IntegerOperand& x, const IntegerOperand& a,
                   const IntegerResult& result, Y* y);

/// y[r, i, k] = result.Of(RescaleSigned(the same product * 2^12, by[0]) +
///                        RescaleSigned((b[r, i, k] - zero point) * 2^20, by[1])).
template <typename Y>
void ScaleAndAddIntegers(const BroadcastShape& shape, const IntegerOperand& a,
                         const IntegerOperand& x, const IntegerOperand& b, const Multiplier by[2],
                         const IntegerResult& result, Y* y);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INTEGER_ELEMENTWISE_HPP_
