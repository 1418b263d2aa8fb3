// LRN with integers alone, in Caffe's order.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/integer_normalization.hpp"
#include "integer_results.hpp"

namespace caffe::kernels {
namespace {

/// Vectorised sums of squares of one blob.
class SquareSums {
 public:
  SquareSums(const LrnShape& shape, const IntegerOperand& x)
      : shape_(shape),
        x_(x),
        add_(ChosenKernels().integers.add_squares[x.is_unsigned]),
        before_((shape.size - 1) / 2) {}

  /// Over the channels around channel c of an image, at n positions from `first` on.
  void AcrossChannels(size_t image, int c, size_t first, size_t n, int32_t* sums) const {
    const size_t plane = size_t(shape_.height) * shape_.width;
    const int begin = std::max(0, c - before_);
    const int end = std::min(c - before_ + shape_.size, shape_.channels);
    std::fill_n(sums, n, 0);
    for (int k = begin; k < end; ++k) {
      Add(n, (image * shape_.channels + k) * plane + first, sums);
    }
  }

  /// Over the windows of a channel; `of_columns` has room for a plane.
  void WithinChannel(size_t channel, int32_t* of_columns, int32_t* sums) const {
    const int height = shape_.height, width = shape_.width;
    const size_t plane = size_t(height) * width;
    std::fill_n(of_columns, plane, 0);
    std::fill_n(sums, plane, 0);
    for (int k = -before_; k < shape_.size - before_; ++k) {  // rows shifted down by k
      const int first = std::max(0, -k), last = std::min(height, height - k);
      if (first >= last) continue;
      Add(size_t(last - first) * width, channel * plane + size_t(first + k) * width,
          of_columns + size_t(first) * width);
    }
    for (int k = -before_; k < shape_.size - before_; ++k) {
      const int first = std::max(0, -k), last = std::min(width, width - k);
      for (int row = 0; row < height; ++row) {
        const int32_t* from = of_columns + size_t(row) * width;
        int32_t* to = sums + size_t(row) * width;
        for (int i = first; i < last; ++i) to[i] += from[i + k];
      }
    }
  }

 private:
  void Add(size_t n, size_t at, int32_t* sums) const {
    add_(n, x_.zero_point, static_cast<const uint8_t*>(x_.data) + at, sums);
  }

  const LrnShape& shape_;
  const IntegerOperand& x_;
  void (*const add_)(size_t, int32_t, const void*, int32_t*);
  const int before_;
};

/// For windows of up to kMaxWindowInBlocks elements, whose sums are below 2^24.
template <typename Y>
class ShortLrn {
 public:
  ShortLrn(const LrnShape& shape, const int32_t* table, const IntegerOperand& x,
           const IntegerResult& result, Y* y)
      : shape_(shape), table_(table), x_(x), end_(EndOf(result)), y_(y), sums_(shape, x) {}

  void Run() const {
    const size_t plane = size_t(shape_.height) * shape_.width;
    const size_t grain = std::max<size_t>(1, (kLoopGrain / 4) / std::max<size_t>(1, plane));
    ParallelFor(size_t(shape_.num) * shape_.channels, grain, [&](size_t begin, size_t end) {
      std::vector<int32_t> sums(shape_.within_channel ? plane : kChunk), of_columns(plane);
      for (size_t i = begin; i < end; ++i) {
        if (shape_.within_channel) sums_.WithinChannel(i, of_columns.data(), sums.data());
        for (size_t first = 0; first < plane; first += kChunk) {
          const size_t n = std::min(kChunk, plane - first);
          int32_t* some = sums.data() + (shape_.within_channel ? first : 0);
          if (!shape_.within_channel) {
            sums_.AcrossChannels(i / shape_.channels, static_cast<int>(i % shape_.channels), first,
                                 n, some);
          }
          Write(i * plane + first, n, some);
        }
      }
    });
  }

 private:
  void Write(size_t at, size_t n, const int32_t* sums) const {
    const IntegerLoops& loops = ChosenKernels().integers;
    int32_t quotients[kChunk];
    loops.divide[x_.is_unsigned](n, x_.zero_point, table_,
                                 static_cast<const uint8_t*>(x_.data) + at, sums, quotients);
    loops.finish[std::is_unsigned<Y>::value](n, end_, quotients, y_ + at);
  }

  const LrnShape& shape_;
  const int32_t* table_;
  const IntegerOperand& x_;
  const SumEnd end_;
  Y* const y_;
  const SquareSums sums_;
};

/// For any window, an element at a time.
template <typename Y>
void AnyLrn(const LrnShape& s, const int32_t* table, const IntegerOperand& x,
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
        y[i * plane + p] = static_cast<Y>(result.Of(DividedBy(table, sum, x.At(i * plane + p))));
      }
    }
  });
}

}  // namespace

template <typename Y>
void LrnIntegers(const LrnShape& shape, const int32_t* table, const IntegerOperand& x,
                 const IntegerResult& result, Y* y) {
  const int64_t window = shape.within_channel ? int64_t{shape.size} * shape.size : shape.size;
  if (window > kMaxWindowInBlocks || result.by.value < 0) {
    return AnyLrn(shape, table, x, result, y);
  }
  ShortLrn<Y>(shape, table, x, result, y).Run();
}

template void LrnIntegers(const LrnShape&, const int32_t*, const IntegerOperand&,
                          const IntegerResult&, int8_t*);
template void LrnIntegers(const LrnShape&, const int32_t*, const IntegerOperand&,
                          const IntegerResult&, uint8_t*);

}  // namespace caffe::kernels
