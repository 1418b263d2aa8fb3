#ifndef CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_
#define CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "caffe/error.hpp"
#include "caffe/kernels/byte_sum.hpp"
#include "int8_tiles.hpp"

namespace caffe::kernels {

/// Throws Error for types that 8-bit kernels do not read, or do not write.
inline void RequireBytes(ElementType type) {
  Require(type == ElementType::INT8 || type == ElementType::UINT8, "an 8-bit kernel does not take ",
          Name(type));
}
inline void RequireBytesOrFloats(ElementType type) {
  if (type != ElementType::FLOAT) RequireBytes(type);
}

/// A Rescaling in the order in which kernels with register tiles read it.
///
/// The padding of the last block of outputs has a sum of 0 and becomes 0 if that is in range: its
/// bias of -4 times the zero point, times a multiplier of 1/4, cancels the zero point.
class RescalingRows {
 public:
  /// A sum has `terms` products of bytes. Throws Error if a zero point or an end of the output
  /// range is not a byte of its kind, or the residual's form is not for the range of `by`.
  RescalingRows(const Rescaling& by, const Int8Tiles& tiles, ElementType kind, int outputs,
                size_t padded, size_t terms, const Residual* residual = nullptr)
      : block_(tiles.block), rows_(new int32_t[padded * Int8Tiles::RESCALING_ROWS]) {
    RequireBytes(kind);
    result_.rounds_twice = by.rounding == Rounding::DOUBLE;
    result_.has_other = by.negative_multipliers != nullptr;
    result_.zero_point = by.zero_point;
    if (residual) {
      SetSum(by, *residual, kind);
    } else {
      SetRange(by.zero_point, by.least, by.most, kind);
    }
    result_.is_short = FindShort(by, tiles, outputs, padded, terms);
    if (!result_.is_short) FindAny(by, outputs, padded);
    result_.rows = rows_.get();
  }

  /// Valid as long as this lives.
  const Int8Tiles::Rescaled& get() const { return result_; }

 private:
  static constexpr int kMaxBlock = 16;

  void SetRange(int zero_point, int least, int most, ElementType kind) {
    const int first = kind == ElementType::INT8 ? -128 : 0, last = first + 255;
    for (const int byte : {zero_point, least, most}) {
      Require(byte >= first && byte <= last, "the output's zero point ", zero_point,
              " and range from ", least, " to ", most, " are to be bytes from ", first, " to ",
              last);
    }
    result_.least = least;
    result_.most = most;
    result_.clips = least > first || most < last;
  }

  void SetSum(const Rescaling& by, const Residual& residual, ElementType kind) {
    const ByteSumForm* const form = residual.form;
    Require(form && form->least == by.least && form->most == by.most,
            "the form of the residual's sum is not that of bytes from ", by.least, " to ", by.most);
    SetRange(residual.sum.result.zero_point, form->result_least, form->result_most, kind);
    result_.sum = form;
  }

  bool FindShort(const Rescaling& by, const Int8Tiles& tiles, int outputs, size_t padded,
                 size_t terms) {
    const int64_t most_bias = (int64_t{1} << 29) - 1 - static_cast<int64_t>(terms) * 255 * 128;
    if (!tiles.short_rows || most_bias < 0) return false;
    const int64_t halves = result_.has_other ? 1 : 1 + 2 * std::abs(by.zero_point);
    int most_right = 0;
    while (halves << (most_right + 1) < int64_t{1} << 30) ++most_right;
    const size_t blocks = outputs / block_, whole = blocks * block_;
    const auto find = [&](size_t count, const int32_t* bias, Int8Tiles::Multipliers multipliers,
                          Int8Tiles::Multipliers others, size_t first) {
      return tiles.short_rows(static_cast<int>(count), result_, bias, multipliers, others,
                              static_cast<int32_t>(most_bias), most_right,
                              rows_.get() + first * Int8Tiles::RESCALING_ROWS);
    };
    if (!find(blocks, by.bias, {by.multipliers, by.shifts},
              {by.negative_multipliers, by.negative_shifts}, 0)) {
      return false;
    }
    if (whole == padded) return true;
    int32_t bias[kMaxBlock], multipliers[kMaxBlock], shifts[kMaxBlock];
    int32_t other_multipliers[kMaxBlock], other_shifts[kMaxBlock];
    for (size_t lane = 0; lane < block_; ++lane) {
      const Output output = At(by, outputs, whole + lane);
      bias[lane] = output.bias;
      multipliers[lane] = output.multiplier.value;
      shifts[lane] = output.multiplier.shift;
      other_multipliers[lane] = output.other.value;
      other_shifts[lane] = output.other.shift;
    }
    return find(1, bias, {multipliers, shifts}, {other_multipliers, other_shifts}, whole);
  }

  void FindAny(const Rescaling& by, int outputs, size_t padded) {
    for (size_t o = 0; o < padded; ++o) {
      const Output output = At(by, outputs, o);
      int32_t* lane = rows_.get() + o / block_ * Int8Tiles::RESCALING_ROWS * block_ + o % block_;
      lane[Int8Tiles::BIAS * block_] = output.bias;
      lane[Int8Tiles::MULTIPLIER * block_] = output.multiplier.value;
      lane[Int8Tiles::RIGHT * block_] = -output.multiplier.shift;
      lane[Int8Tiles::OTHER_MULTIPLIER * block_] = output.other.value;
      lane[Int8Tiles::OTHER_RIGHT * block_] = -output.other.shift;
    }
  }

  struct Output {
    int32_t bias;
    Multiplier multiplier, other;
  };
  static Output At(const Rescaling& by, int outputs, size_t o) {
    if (o >= size_t(outputs)) {
      const Multiplier quarter = {1 << 30, -1};
      return {-4 * by.zero_point, quarter, quarter};
    }
    const Multiplier multiplier = {by.multipliers[o], by.shifts[o]};
    return {by.bias[o], multiplier,
            by.negative_multipliers ? Multiplier{by.negative_multipliers[o], by.negative_shifts[o]}
                                    : multiplier};
  }

  const size_t block_;
  const std::unique_ptr<int32_t[]> rows_;
  Int8Tiles::Rescaled result_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_
