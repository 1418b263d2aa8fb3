#include "caffe/kernels/integer_normalization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

constexpr int kPlaceBits = 5;  // places between powers of two
constexpr int kRestBits = 16;  // of the distance from a place to the next
constexpr int kTableBits = 30;
constexpr size_t kGrain = 1 << 12;

/// n / d to the nearest, halves away from zero; d > 0.
int64_t RoundedQuotient(int64_t n, int64_t d) { return (n < 0 ? n - d / 2 : n + d / 2) / d; }

int32_t Divided(int32_t q, const int32_t* table, uint64_t a) {
  return static_cast<int32_t>((int64_t{q} * Interpolated(table, a) + (1 << 7)) >> 8);
}

}  // namespace

std::vector<int32_t> SoftmaxTable(double step) {
  std::vector<int32_t> table(256);
  for (int d = 0; d < 256; ++d) {
    table[d] = static_cast<int32_t>(std::lround(std::exp(-step * d) * kExpOne));
  }
  return table;
}

template <typename X, typename Y>
void SoftmaxIntegers(const SoftmaxExtents& extents, const int32_t* table, int32_t steps,
                     const IntegerResult& result, const X* x, Y* y) {
  const size_t length = extents.length, inner = extents.inner;
  ParallelFor(extents.outer * inner, std::max<size_t>(1, kGrain / std::max<size_t>(1, length)),
              [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                  const size_t at = i / inner * length * inner + i % inner;
                  int32_t largest = std::numeric_limits<X>::min();
                  for (size_t c = 0; c < length; ++c) {
                    largest = std::max<int32_t>(largest, x[at + c * inner]);
                  }
                  int64_t sum = 0;
                  for (size_t c = 0; c < length; ++c) sum += table[largest - x[at + c * inner]];
                  for (size_t c = 0; c < length; ++c) {
                    const int64_t e = table[largest - x[at + c * inner]];
                    const int64_t quotient = RoundedQuotient(e * steps, 256 * sum);
                    y[at + c * inner] = static_cast<Y>(std::clamp<int64_t>(
                        result.zero_point + quotient, result.least, result.most));
                  }
                }
              });
}

std::vector<int32_t> FallingTable(const std::function<double(double)>& function) {
  const double one = function(1);
  Require(std::isfinite(one) && one > 0, "its function of a sum of squares is ", one, " at 1");
  std::vector<int32_t> table(kFallingTableSize);
  for (size_t i = 0; i < table.size(); ++i) {
    double a = static_cast<double>(std::max<size_t>(1, i));
    if (i >= 1 << kPlaceBits) {
      const int octave = static_cast<int>(i >> kPlaceBits) - 1;
      a = std::ldexp((1 << kPlaceBits) + static_cast<double>(i % (1 << kPlaceBits)), octave);
    }
    const double value = function(a) / one;
    Require(value >= 0 && value <= 1, "its function of a sum of squares does not fall at ", a);
    table[i] = static_cast<int32_t>(std::llround(std::ldexp(value, kTableBits)));
  }
  return table;
}

int32_t Interpolated(const int32_t* table, uint64_t a) {
  if (a < 1 << kPlaceBits) return table[a];
  const int octave = 63 - __builtin_clzll(a) - kPlaceBits;  // a = (32 + place) 2^octave + rest
  const size_t place = (size_t(octave) << kPlaceBits) + (a >> octave);
  const uint64_t rest = a & ((uint64_t{1} << octave) - 1);
  const int64_t part = static_cast<int64_t>(octave < kRestBits ? rest << (kRestBits - octave)
                                                               : rest >> (octave - kRestBits));
  const int64_t fall = int64_t{table[place]} - table[place + 1];
  return static_cast<int32_t>(table[place] - ((fall * part + (1 << (kRestBits - 1))) >> kRestBits));
}

template <typename Y>
void LrnIntegers(const LrnShape& s, const int32_t* table, const IntegerOperand& x,
                 const IntegerResult& result, Y* y) {
  const size_t plane = size_t(s.height) * s.width;
  const int before = (s.size - 1) / 2;
  ParallelFor(size_t(s.num) * s.channels, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int c = static_cast<int>(i % s.channels);
      for (size_t p = 0; p < plane; ++p) {
        uint64_t sum = 0;
        const auto add = [&](size_t at) {
          const int32_t q = x.At(at);
          sum += static_cast<uint32_t>(q * q);
        };
        if (s.within_channel) {
          const int row = static_cast<int>(p / s.width) - before,
                    column = static_cast<int>(p % s.width) - before;
          for (int h = std::max(0, row); h < std::min(row + s.size, s.height); ++h) {
            for (int w = std::max(0, column); w < std::min(column + s.size, s.width); ++w) {
              add(i * plane + size_t(h) * s.width + w);
            }
          }
        } else {
          for (int k = std::max(0, c - before); k < std::min(c - before + s.size, s.channels);
               ++k) {
            add((i + k - c) * plane + p);
          }
        }
        y[i * plane + p] = static_cast<Y>(result.Of(Divided(x.At(i * plane + p), table, sum)));
      }
    }
  });
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
        y[n * image + i] = static_cast<Y>(of_channel.Of(Divided(x.At(n * image + i), table, a)));
      }
    }
  });
}

template <typename Y>
void StandardizeIntegers(size_t rows, size_t length, const int32_t* table, const IntegerOperand& x,
                         const IntegerResult& result, Y* y) {
  const int64_t n = static_cast<int64_t>(length);
  ParallelFor(
      rows, std::max<size_t>(1, kGrain / std::max<size_t>(1, length)),
      [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          const size_t first = row * length;
          int64_t sum = 0;
          for (size_t i = 0; i < length; ++i) sum += x.At(first + i);
          const int32_t mean = static_cast<int32_t>(RoundedQuotient(256 * sum, n));
          const auto distance = [&](size_t i) { return 256 * x.At(first + i) - mean; };
          int64_t squares = 0;
          for (size_t i = 0; table && i < length; ++i) {
            squares += int64_t{distance(i)} * distance(i);
          }
          const int64_t factor =
              table ? Interpolated(table, static_cast<uint64_t>(RoundedQuotient(squares, n))) : 0;
          for (size_t i = 0; i < length; ++i) {
            const int32_t d = distance(i);
            const int32_t p =
                table ? static_cast<int32_t>((d * factor + (1 << 15)) >> 16) : d * 256;
            y[first + i] = static_cast<Y>(result.Of(p));
          }
        }
      });
}

#define CAFFE_INTEGER_NORMALIZATION(Y)                                                       \
  template void SoftmaxIntegers(const SoftmaxExtents&, const int32_t*, int32_t,              \
                                const IntegerResult&, const int8_t*, Y*);                    \
  template void SoftmaxIntegers(const SoftmaxExtents&, const int32_t*, int32_t,              \
                                const IntegerResult&, const uint8_t*, Y*);                   \
  template void LrnIntegers(const LrnShape&, const int32_t*, const IntegerOperand&,          \
                            const IntegerResult&, Y*);                                       \
  template void NormalizeIntegers(const NormExtents&, const int32_t*, const IntegerOperand&, \
                                  const std::vector<Multiplier>&, const IntegerResult&, Y*); \
  template void StandardizeIntegers(size_t, size_t, const int32_t*, const IntegerOperand&,   \
                                    const IntegerResult&, Y*)
CAFFE_INTEGER_NORMALIZATION(int8_t);
CAFFE_INTEGER_NORMALIZATION(uint8_t);
#undef CAFFE_INTEGER_NORMALIZATION

}  // namespace kernels
}  // namespace caffe
