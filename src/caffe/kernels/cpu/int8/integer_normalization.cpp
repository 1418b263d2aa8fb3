#include "caffe/kernels/integer_normalization.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"
#include "int8_rescaling.hpp"
#include "int8_tiles.hpp"

namespace caffe::kernels {
namespace {

constexpr int kTableBits = 30;
constexpr size_t kGrainElements = 1 << 12;
constexpr size_t kDifferences = 511;  // between two bytes

/// Common part of divisions with channels in blocks.
class DivisionInBlocks {
 public:
  /// `by`: one per channel.
  template <typename Y>
  DivisionInBlocks(size_t channels, size_t spatial, const int32_t* table, const IntegerOperand& x,
                   const std::vector<Multiplier>& by, const IntegerResult& result, Y* y)
      : block_(ChosenInt8Tiles().block),
        channels_(channels),
        spatial_(spatial),
        padded_(CeilDiv(channels, block_) * block_),
        zeros_(2 * padded_),
        rows_(RowsOf(channels, block_, Largest(table, by), by, result,
                     std::is_signed<Y>::value ? ElementType::INT8 : ElementType::UINT8)) {
    std::fill_n(zeros_.begin(), channels, x.zero_point);
    std::fill_n(zeros_.begin() + padded_, channels, -1);
    first_.x = x.data;
    first_.plane = spatial * block_;
    first_.blocks = static_cast<int>(padded_ / block_);
    first_.zeros = zeros_.data();
    first_.rescaled = rows_.get();
    first_.type = std::is_signed<Y>::value ? ElementType::INT8 : ElementType::UINT8;
    first_.y = y;
  }

  size_t padded() const { return padded_; }
  /// The division, from this pixel of an image on.
  Int8Tiles::Division From(size_t image, size_t pixel) const {
    Int8Tiles::Division division = first_;
    const size_t at = image * padded() * spatial_ + pixel * block_;
    division.x = static_cast<const char*>(first_.x) + at;
    division.y = static_cast<char*>(first_.y) + at;
    return division;
  }
  /// Zeros the padding of the last block of `pixels` pixels of a division's output.
  void Clear(const Int8Tiles::Division& division, size_t pixels) const {
    if (padded() == channels_) return;
    char* last = static_cast<char*>(division.y) + (division.blocks - 1) * division.plane;
    ClearLanes(last, pixels, block_, channels_ % block_, 1);
  }

 private:
  /// The largest (q table(a) + 2^7) >> 8, given that a is at least q^2. With negative multipliers,
  /// a value too large for short sums, which do not support them.
  static int32_t Largest(const int32_t* table, const std::vector<Multiplier>& by) {
    int32_t largest = 0;
    for (int32_t q = 1; q < 256; ++q) {
      largest = std::max(largest, DividedBy(table, static_cast<uint32_t>(q * q), q));
    }
    const auto is_negative = [](const Multiplier& one) { return one.value < 0; };
    return std::any_of(by.begin(), by.end(), is_negative) ? 1 << 30 : largest;
  }
  static RescalingRows RowsOf(size_t channels, size_t block, int32_t largest,
                              const std::vector<Multiplier>& by, const IntegerResult& result,
                              ElementType kind) {
    const std::vector<int32_t> bias(channels);
    std::vector<int32_t> multipliers, shifts;
    for (const Multiplier& one : by) {
      multipliers.push_back(one.value);
      shifts.push_back(one.shift);
    }
    Rescaling rescaling;
    rescaling.bias = bias.data();
    rescaling.multipliers = multipliers.data();
    rescaling.shifts = shifts.data();
    rescaling.rounding = result.rounding;
    rescaling.zero_point = result.zero_point;
    rescaling.least = result.least;
    rescaling.most = result.most;
    return RescalingRows(rescaling, ChosenInt8Tiles(), kind, static_cast<int>(channels),
                         CeilDiv(channels, block) * block,
                         static_cast<size_t>(largest) / (255 * 128) + 1);
  }

  const size_t block_, channels_, spatial_, padded_;
  std::vector<int32_t> zeros_;  ///< and masks of actual channels
  const RescalingRows rows_;
  Int8Tiles::Division first_;
};

/// Calls f(image, first pixel, pixels) for all pixels in parts of up to kPartPixels, on all cores.
constexpr size_t kPartPixels = 64;
template <typename Function>
void ForEachPart(size_t num, size_t channels, size_t spatial, Function&& f) {
  const size_t parts = CeilDiv(spatial, kPartPixels);
  const size_t grain =
      std::max<size_t>(1, kGrainElements / std::max<size_t>(1, channels * kPartPixels));
  ParallelFor(num * parts, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t pixel = i % parts * kPartPixels;
      f(i / parts, pixel, static_cast<int>(std::min(kPartPixels, spatial - pixel)));
    }
  });
}

}  // namespace

std::vector<int32_t> SoftmaxTable(double step) {
  std::vector<int32_t> table(256);
  for (int d = 0; d < 256; ++d) {
    table[d] = static_cast<int32_t>(std::lround(std::exp(-step * d) * kExpOne));
  }
  return table;
}

namespace {

/// Calls f(first place) for rows [begin, end), whose numbers are `inner` apart.
template <typename Function>
void ForEachSoftmaxRow(const SoftmaxExtents& extents, size_t begin, size_t end, Function&& f) {
  const size_t inner = extents.inner;
  while (begin < end) {
    const size_t first = begin % inner, some = std::min(end - begin, inner - first);
    const size_t at = begin / inner * extents.length * inner + first;
    for (size_t i = 0; i < some; ++i) f(at + i);
    begin += some;
  }
}

/// The softmax of two numbers depends only on their difference: detectors have thousands of such
/// pairs.
template <typename Share, typename X, typename Y>
void SoftmaxOfPairs(const SoftmaxExtents& extents, const int32_t* table, const Share& share,
                    const X* x, Y* y) {
  struct Pair {
    Y first, second;
  };
  std::vector<Pair> of_difference(kDifferences);
  for (int d = -255; d <= 255; ++d) {
    const Y first = share(table[std::max(0, -d)], int64_t{table[0]} + table[std::abs(d)]);
    of_difference[255 + d].first = of_difference[255 - d].second = first;
  }
  const Pair* const pairs = of_difference.data() + 255;
  const size_t inner = extents.inner;
  ParallelFor(extents.outer * inner, kGrainElements, [&](size_t begin, size_t end) {
    if (inner == 1) {
      for (size_t i = begin; i < end; ++i) {
        const Pair pair = pairs[x[2 * i] - x[2 * i + 1]];
        y[2 * i] = pair.first;
        y[2 * i + 1] = pair.second;
      }
      return;
    }
    ForEachSoftmaxRow(extents, begin, end, [&](size_t at) {
      const Pair pair = pairs[x[at] - x[at + inner]];
      y[at] = pair.first;
      y[at + inner] = pair.second;
    });
  });
}

}  // namespace

template <typename X, typename Y>
void SoftmaxIntegers(const SoftmaxExtents& extents, const int32_t* table, int32_t steps,
                     const IntegerResult& result, const X* x, Y* y) {
  const size_t length = extents.length, inner = extents.inner, rows = extents.outer * inner;
  const auto share = [&](int64_t e, int64_t sum) {
    return static_cast<Y>(SoftmaxShare(e, sum, steps, result));
  };
  if (length == 2 && rows > kDifferences) return SoftmaxOfPairs(extents, table, share, x, y);
  const auto of_row = [&](size_t at) {
    const X* from = x + at;
    int32_t largest = std::numeric_limits<X>::min();
    for (size_t c = 0; c < length; ++c) largest = std::max<int32_t>(largest, from[c * inner]);
    int64_t sum = 0;
    for (size_t c = 0; c < length; ++c) sum += table[largest - from[c * inner]];
    for (size_t c = 0; c < length; ++c) {
      y[at + c * inner] = share(table[largest - from[c * inner]], sum);
    }
  };
  ParallelFor(rows, std::max<size_t>(1, kGrainElements / std::max<size_t>(1, length)),
              [&](size_t begin, size_t end) { ForEachSoftmaxRow(extents, begin, end, of_row); });
}

std::vector<int32_t> FallingTable(const std::function<double(double)>& function) {
  const double one = function(1);
  Require(std::isfinite(one) && one > 0, "its function of a sum of squares is ", one, " at 1");
  std::vector<int32_t> table(kFallingTableSize);
  for (size_t i = 0; i < table.size(); ++i) {
    double a = static_cast<double>(std::max<size_t>(1, i));
    if (i >= 1 << kFallingPlaceBits) {
      const int octave = static_cast<int>(i >> kFallingPlaceBits) - 1;
      a = std::ldexp((1 << kFallingPlaceBits) + static_cast<double>(i % (1 << kFallingPlaceBits)),
                     octave);
    }
    const double value = function(a) / one;
    Require(value >= 0 && value <= 1, "its function of a sum of squares does not fall at ", a);
    table[i] = static_cast<int32_t>(std::llround(std::ldexp(value, kTableBits)));
  }
  return table;
}

template <typename Y>
void NormalizeIntegers(const NormExtents& extents, const int32_t* table, const IntegerOperand& x,
                       const std::vector<Multiplier>& by, const IntegerResult& result, Y* y) {
  const size_t channels = extents.channels, spatial = extents.spatial;
  const size_t image = channels * spatial;
  const size_t norms = extents.across_spatial ? 1 : spatial;
  ParallelFor(extents.num, 1, [&](size_t begin, size_t end) {
    std::vector<uint64_t> sums(norms);
    for (size_t n = begin; n < end; ++n) {
      std::fill(sums.begin(), sums.end(), 0);
      for (size_t i = 0; i < image; ++i) {
        const int32_t q = x.At(n * image + i);
        sums[extents.across_spatial ? 0 : i % spatial] += static_cast<uint32_t>(q * q);
      }
      IntegerResult of_channel = result;
      for (size_t i = 0; i < image; ++i) {
        of_channel.by = by[i / spatial];
        const uint64_t a = sums[extents.across_spatial ? 0 : i % spatial];
        y[n * image + i] = static_cast<Y>(of_channel.Of(DividedBy(table, a, x.At(n * image + i))));
      }
    }
  });
}

template <typename Y>
void LrnIntegersInBlocks(const LrnShape& s, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y) {
  const size_t plane = size_t(s.height) * s.width;
  const std::vector<Multiplier> by(s.channels, result.by);
  const DivisionInBlocks divisions(s.channels, plane, table, x, by, result, y);
  const auto divide = ChosenInt8Tiles().divide_by_windows[x.is_unsigned];
  const size_t squares = 4 * (divisions.padded() + s.size - 1);
  ForEachPart(s.num, s.channels, plane, [&](size_t image, size_t pixel, int pixels) {
    std::vector<int32_t> scratch(squares);
    const Int8Tiles::Division division = divisions.From(image, pixel);
    divide(division, pixels, table, s.size, scratch.data());
    divisions.Clear(division, pixels);
  });
}

template <typename Y>
void NormalizeIntegersInBlocks(const NormExtents& extents, const int32_t* table,
                               const IntegerOperand& x, const std::vector<Multiplier>& by,
                               const IntegerResult& result, Y* y) {
  const size_t channels = extents.channels, spatial = extents.spatial;
  const DivisionInBlocks divisions(channels, spatial, table, x, by, result, y);
  const Int8Tiles& tiles = ChosenInt8Tiles();
  std::vector<uint32_t> sums(extents.num * spatial);
  ForEachPart(extents.num, channels, spatial, [&](size_t image, size_t pixel, int pixels) {
    tiles.square_sums[x.is_unsigned](divisions.From(image, pixel), pixels,
                                     sums.data() + image * spatial + pixel);
  });
  std::vector<int32_t> of_images;
  for (size_t n = 0; extents.across_spatial && n < extents.num; ++n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < spatial; ++i) sum += sums[n * spatial + i];
    of_images.push_back(Interpolated(table, sum));
  }
  ForEachPart(extents.num, channels, spatial, [&](size_t image, size_t pixel, int pixels) {
    int32_t factors[kPartPixels];
    for (int i = 0; i < pixels; ++i) {
      factors[i] = extents.across_spatial ? of_images[image]
                                          : Interpolated(table, sums[image * spatial + pixel + i]);
    }
    const Int8Tiles::Division division = divisions.From(image, pixel);
    tiles.divide_by_pixel[x.is_unsigned](division, pixels, factors);
    divisions.Clear(division, pixels);
  });
}

template <typename Y>
void StandardizeIntegers(size_t rows, size_t length, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y) {
  const int64_t n = static_cast<int64_t>(length);
  ParallelFor(
      rows, std::max<size_t>(1, kGrainElements / std::max<size_t>(1, length)),
      [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          const size_t first = row * length;
          int64_t sum = 0;
          for (size_t i = 0; i < length; ++i) sum += x.At(first + i);
          const int32_t mean = MeanOfSum(sum, n);
          const auto distance = [&](size_t i) { return 256 * x.At(first + i) - mean; };
          int64_t squares = 0;
          for (size_t i = 0; table && i < length; ++i) {
            squares += int64_t{distance(i)} * distance(i);
          }
          const int64_t factor =
              table ? Interpolated(table, static_cast<uint64_t>(RoundedQuotient(squares, n))) : 0;
          for (size_t i = 0; i < length; ++i) {
            const int32_t p = Standardized(distance(i), factor, table != nullptr);
            y[first + i] = static_cast<Y>(result.Of(p));
          }
        }
      });
}

#define CAFFE_INTEGER_NORMALIZATION(Y)                                                           \
  template void SoftmaxIntegers(const SoftmaxExtents&, const int32_t*, int32_t,                  \
                                const IntegerResult&, const int8_t*, Y*);                        \
  template void SoftmaxIntegers(const SoftmaxExtents&, const int32_t*, int32_t,                  \
                                const IntegerResult&, const uint8_t*, Y*);                       \
  template void NormalizeIntegers(const NormExtents&, const int32_t*, const IntegerOperand&,     \
                                  const std::vector<Multiplier>&, const IntegerResult&, Y*);     \
  template void LrnIntegersInBlocks(const LrnShape&, const int32_t*, const IntegerOperand&,      \
                                    const IntegerResult&, Y*);                                   \
  template void NormalizeIntegersInBlocks(const NormExtents&, const int32_t*,                    \
                                          const IntegerOperand&, const std::vector<Multiplier>&, \
                                          const IntegerResult&, Y*);                             \
  template void StandardizeIntegers(size_t, size_t, const int32_t*, const IntegerOperand&,       \
                                    const IntegerResult&, Y*)
CAFFE_INTEGER_NORMALIZATION(int8_t);
CAFFE_INTEGER_NORMALIZATION(uint8_t);
#undef CAFFE_INTEGER_NORMALIZATION

}  // namespace caffe::kernels
