#ifndef CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_
#define CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "int8_tiles.hpp"

namespace caffe {
namespace kernels {

/// A Rescaling in the order that tiles of registers read it.
///
/// What fills up the last block of outputs has a sum of 0 and becomes 0 if the range of bytes has
/// it: a quarter of the bias of -4 times the zero point takes the zero point off.
class RescalingRows {
 public:
  /// `terms` products of bytes are a sum. Throws Error if a zero point or an end of the range is no
  /// byte of its kind.
  RescalingRows(const Rescaling& by, Int8Tiles::Kind kind, int outputs, size_t padded, int block,
                size_t terms)
      : block_(block), rows_(padded * Int8Tiles::RESCALING_ROWS) {
    const int first = kind == Int8Tiles::INT8 ? -128 : 0;
    for (const int byte : {by.zero_point, by.least, by.most}) {
      Require(byte >= first && byte < first + 256, "the output's zero point ", by.zero_point,
              " and range from ", by.least, " to ", by.most, " are to be bytes from ", first,
              " to ", first + 255);
    }
    result_.rounds_twice = by.rounding == Rounding::DOUBLE;
    result_.has_other = by.negative_multipliers != nullptr;
    result_.zero_point = by.zero_point;
    result_.least = by.least;
    result_.most = by.most;
    int64_t most_bias = 0;
    bool to_the_left = false;
    for (size_t o = 0; o < padded; ++o) {
      const bool used = o < size_t(outputs);
      const Multiplier multiplier =
          used ? Multiplier{by.multipliers[o], by.shifts[o]} : Multiplier{1 << 30, -1};
      const Multiplier other = used && result_.has_other
                                   ? Multiplier{by.negative_multipliers[o], by.negative_shifts[o]}
                                   : multiplier;
      const int32_t bias = used ? by.bias[o] : -4 * by.zero_point;
      At(Int8Tiles::BIAS, o) = bias;
      At(Int8Tiles::MULTIPLIER, o) = multiplier.value;
      At(Int8Tiles::RIGHT, o) = -multiplier.shift;
      At(Int8Tiles::TWICE, o) = result_.rounds_twice && multiplier.shift < 0 ? -1 : 0;
      At(Int8Tiles::OTHER_MULTIPLIER, o) = other.value;
      At(Int8Tiles::OTHER_RIGHT, o) = -other.shift;
      most_bias = std::max(most_bias, std::abs(int64_t{bias}));
      to_the_left = to_the_left || multiplier.shift > 0;
    }
    result_.is_short = !to_the_left && !result_.has_other &&
                       static_cast<int64_t>(terms) * 255 * 128 + most_bias < int64_t{1} << 29;
  }
  RescalingRows(const RescalingRows&) = delete;
  RescalingRows& operator=(const RescalingRows&) = delete;

  /// As long as this lives.
  Int8Tiles::Rescaled get() const {
    Int8Tiles::Rescaled result = result_;
    result.rows = rows_.data();
    return result;
  }

 private:
  int32_t& At(Int8Tiles::RescalingRow row, size_t output) {
    return rows_[(output / block_ * Int8Tiles::RESCALING_ROWS + row) * block_ + output % block_];
  }

  const size_t block_;
  std::vector<int32_t> rows_;
  Int8Tiles::Rescaled result_;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CPU_INT8_RESCALING_HPP_
