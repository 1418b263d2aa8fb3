#ifndef CAFFE_KERNELS_CPU_INTEGER_LOOPS_HPP_
#define CAFFE_KERNELS_CPU_INTEGER_LOOPS_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::kernels {

/// RescaleSigned((x - zero_point) * 2^20, by) of bytes x in 32 bits, for by.shift <= 0. With
/// d = x - zero_point and the multiplier = high 2^11 + low it is
///     t = d high + ((d low + added) >> 11)
///     (t + half - (t < 0 and `doubles`)) >> shift
/// times `sign`.
struct SumTerm {
  int32_t zero_point, high, low, added, half, shift, doubles, sign;
};

/// clamp(zero_point + Rescale(x, by), least, most) of 32-bit integers x below 2^30: with
///     t = (((x << left) multiplier + added + 2^62) >> right) - 2^(62 - right) modulo 2^32
///     (t + half - (t < 0 and `doubles`)) >> shift.
struct SumEnd {
  int32_t left, multiplier, right;
  uint64_t added;
  uint32_t subtracted;
  int32_t half, shift, doubles;
  int32_t zero_point, least, most;
};

/// a / size for whole numbers a below 2^31: (a multiplier) >> shift.
struct WholeDivisor {
  uint32_t multiplier;
  int32_t shift, size;
};

/// Means of windows: rows `pitch` bytes apart, positions `pixel` bytes, of 8 lanes or 16.
struct MeanWindow {
  int rows, columns;
  size_t pitch, pixel;
  int32_t start;   ///< start value of sums
  int32_t middle;  ///< added to a mean
  int32_t least, most;
  WholeDivisor divisor;
};

/// A weighted sum of rows of bytes, `pitch` apart, minus the zero point.
struct WeightedRows {
  int terms;
  size_t pitch;
  const int32_t* weights;
  int32_t zero_point;
};

/// A row of a resized plane: output i is the sum of the numbers from first[i] on times the weights
/// start[i] up to start[i + 1], plus `half`, shifted to the right, plus the zero point, clamped.
struct ResizedRow {
  int outputs;
  const int* first;
  const int* start;
  const int32_t* weights;
  int32_t half, shift;
  int32_t zero_point, least, most;
};

/// Serial loops compiled once per instruction set (integer_loops.inc), for int8_t at [0] and
/// uint8_t at [1].
struct IntegerLoops {
  /// sums = terms, or sums + terms.
  void (*add_term[2])(size_t n, const SumTerm& term, bool first, const void* x, int32_t* sums);
  /// products = x minus its zero point, or products times that.
  void (*multiply[2])(size_t n, int32_t zero_point, bool first, const void* x, int32_t* products);
  void (*finish[2])(size_t n, const SumEnd& end, const int32_t* sums, void* y);
  /// At [lanes / 16].
  void (*mean[2][2])(const MeanWindow& window, const void* x, void* y);
  /// sums += squares of x minus its zero point.
  void (*add_squares[2])(size_t n, int32_t zero_point, const void* x, int32_t* sums);
  /// quotients = ((x - zero_point) Interpolated(table, sums) + 2^7) >> 8, for sums below 2^24.
  void (*divide[2])(size_t n, int32_t zero_point, const int32_t* table, const void* x,
                    const int32_t* sums, int32_t* quotients);
  void (*weigh_rows[2])(size_t n, const WeightedRows& rows, const void* x, int32_t* sums);
  /// For 1, 8 and 16 lanes, at [lanes / 8].
  void (*resize_row[2][3])(const ResizedRow& row, const int32_t* sums, void* y);
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INTEGER_LOOPS_HPP_
