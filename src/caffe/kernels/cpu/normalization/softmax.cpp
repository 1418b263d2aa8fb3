#include "caffe/kernels/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// The columns of an array of shape (outer, channels, inner), each the channels of one softmax.
struct Columns {
  Columns(size_t outer, size_t channels, size_t inner)
      : outer(outer), channels(channels), inner(inner), x_row(channels), y_row(channels) {}
  /// Rows of larger pixels.
  Columns(size_t rows, size_t channels, const ChannelsLast& pixels)
      : outer(rows), channels(channels), inner(1), x_row(pixels.x_pixel), y_row(pixels.y_pixel) {}

  size_t outer, channels, inner;
  size_t x_row, y_row;  ///< elements from one column to the next, where inner is 1
  size_t size() const { return outer * inner; }
  /// Index of the first channel's element; the others follow `inner` apart.
  size_t first(size_t column) const { return column / inner * channels * inner + column % inner; }
};

/// Calls f(begin, end) for parts of the columns, on several threads.
template <typename Function>
void ForSomeColumns(const Columns& columns, Function&& f) {
  const size_t grain =
      std::max<size_t>(1, (kLoopGrain / 16) / std::max<size_t>(1, columns.channels));
  ParallelFor(columns.size(), grain, f);
}

template <typename Function>
void ForEachColumn(const Columns& columns, Function&& f) {
  ForSomeColumns(columns, [&](size_t begin, size_t end) {
    for (size_t column = begin; column < end; ++column) f(columns.first(column), column);
  });
}

// Transposes elements `kChannels` apart, unrolled for the few channels of detectors.
template <size_t kChannels, typename F>
void ToChannels(size_t channels, size_t width, const F* rows, F* tile) {
  const size_t step = kChannels ? kChannels : channels;
  for (size_t c = 0; c < step; ++c) {
    for (size_t i = 0; i < width; ++i) tile[c * width + i] = rows[i * step + c];
  }
}
template <size_t kChannels, typename F>
void ToRows(size_t channels, size_t width, const F* tile, F* rows) {
  const size_t step = kChannels ? kChannels : channels;
  for (size_t c = 0; c < step; ++c) {
    for (size_t i = 0; i < width; ++i) rows[i * step + c] = tile[c * width + i];
  }
}

/// Converts rows of `channels` elements that begin x_row and y_row elements apart.
template <typename X, typename Y>
void ConvertRows(size_t rows, size_t channels, size_t x_row, const X* x, size_t y_row, Y* y) {
  if (x_row == channels && y_row == channels) return Convert(rows * channels, x, y);
  for (size_t i = 0; i < rows; ++i) Convert(channels, x + i * x_row, y + i * y_row);
}

/// Some columns side by side, `count` at most, channel after channel, so that loops go along the
/// columns.
template <typename F>
class ColumnTile {
 public:
  ColumnTile(const Columns& columns, size_t count)
      : columns_(columns),
        most_(std::min({count, kMaxColumns, std::max(kMinColumns, kTileSize / columns.channels)})),
        values_(columns.channels * most_),
        rows_(values_.size()),
        largest_(most_),
        sums_(most_) {}

  /// Loads columns from `column` on, up to `end`; returns how many.
  template <typename T>
  size_t Load(const T* x, size_t column, size_t end) {
    width_ = std::min(most_, end - column);
    const size_t channels = columns_.channels, inner = columns_.inner;
    if (inner == 1) {
      ConvertRows(width_, channels, columns_.x_row, x + column * columns_.x_row, channels,
                  rows_.data());
      Transpose(rows_.data(), values_.data(), ToChannels<2, F>, ToChannels<0, F>);
      return width_;
    }
    width_ = std::min(width_, inner - column % inner);
    const T* from = x + columns_.first(column);
    for (size_t c = 0; c < channels; ++c) Convert(width_, from + c * inner, channel(c));
    return width_;
  }

  template <typename T>
  void Store(size_t column, T* y) {
    const size_t channels = columns_.channels, inner = columns_.inner;
    if (inner == 1) {
      Transpose(values_.data(), rows_.data(), ToRows<2, F>, ToRows<0, F>);
      return ConvertRows(width_, channels, channels, rows_.data(), columns_.y_row,
                         y + column * columns_.y_row);
    }
    T* to = y + columns_.first(column);
    for (size_t c = 0; c < channels; ++c) Convert(width_, channel(c), to + c * inner);
  }

  /// Each value becomes exp(value - the largest of its column); returns the sums of the columns.
  const F* Exponentiate() {
    const size_t channels = columns_.channels;
    std::copy_n(channel(0), width_, largest_.data());
    for (size_t c = 1; c < channels; ++c) {
      loops_.maximum(width_, largest_.data(), channel(c), largest_.data());
    }
    for (size_t c = 0; c < channels; ++c) {
      loops_.subtract(width_, channel(c), largest_.data(), channel(c));
    }
    loops_.exponential(channels * width_, F(1), F(1), values_.data(), values_.data());
    std::copy_n(channel(0), width_, sums_.data());
    for (size_t c = 1; c < channels; ++c) {
      loops_.add(width_, sums_.data(), channel(c), sums_.data());
    }
    return sums_.data();
  }
  void Divide() {
    for (size_t c = 0; c < columns_.channels; ++c) {
      loops_.divide(width_, channel(c), sums_.data(), channel(c));
    }
  }
  const F* largest() const { return largest_.data(); }

 private:
  static constexpr size_t kTileSize = 4096, kMinColumns = 16, kMaxColumns = 512;

  F* channel(size_t c) { return values_.data() + c * width_; }
  template <typename Pair, typename Any>
  void Transpose(const F* from, F* to, Pair pair, Any any) {
    const auto transpose = columns_.channels == 2 ? pair : any;
    transpose(columns_.channels, width_, from, to);
  }

  const ArithmeticLoops<F>& loops_ = Loops<F>();
  const Columns columns_;
  const size_t most_;
  size_t width_ = 0;
  std::vector<F> values_, rows_, largest_, sums_;
};

/// Softmax of rows, along each of them.
template <typename X, typename Y>
void SoftmaxOfRows(const Columns& rows, const X* x, Y* y) {
  using F = LoopType<X, Y>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  const size_t channels = rows.channels;
  ForSomeColumns(rows, [&](size_t begin, size_t end) {
    std::vector<F> row(channels);
    for (size_t i = begin; i < end; ++i) {
      Convert(channels, x + i * rows.x_row, row.data());
      const F largest = *std::max_element(row.begin(), row.end());
      loops.affine(channels, F(1), -largest, row.data(), row.data());
      loops.exponential(channels, F(1), F(1), row.data(), row.data());
      const F sum = static_cast<F>(loops.sum(channels, row.data()));
      for (F& value : row) value /= sum;
      Convert(channels, row.data(), y + i * rows.y_row);
    }
  });
}

// Longer rows get a loop each.
constexpr size_t kShortRow = 128;

template <typename X, typename Y>
void SoftmaxOfColumns(const Columns& columns, const X* x, Y* y) {
  if (columns.size() == 0 || columns.channels == 0) return;
  if (columns.inner == 1 && columns.channels > kShortRow) return SoftmaxOfRows(columns, x, y);
  ForSomeColumns(columns, [&](size_t begin, size_t end) {
    ColumnTile<LoopType<X, Y>> tile(columns, end - begin);
    for (size_t column = begin, width = 0; column < end; column += width) {
      width = tile.Load(x, column, end);
      tile.Exponentiate();
      tile.Divide();
      tile.Store(column, y);
    }
  });
}

}  // namespace

template <typename X, typename Y>
void Softmax(size_t outer, size_t channels, size_t inner, const X* x, Y* y) {
  SoftmaxOfColumns({outer, channels, inner}, x, y);
}

template <typename X, typename Y>
void ChannelsLastSoftmax(size_t pixels, size_t channels, const ChannelsLast& layout, const X* x,
                         Y* y) {
  layout.Check();
  Require(channels <= layout.channels, "softmax of ", channels, " channels in pixels of ",
          layout.channels);
  SoftmaxOfColumns({pixels, channels, layout}, x, y);
  const size_t padding = layout.channels - channels;
  for (size_t i = 0; padding > 0 && i < pixels; ++i) {
    std::fill_n(y + i * layout.y_pixel + channels, padding, Y(0.f));
  }
}

template <typename T, typename D>
void SoftmaxGradient(size_t outer, size_t channels, size_t inner, const T* y, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  ForEachColumn(Columns(outer, channels, inner), [&](size_t first, size_t) {
    F dot = 0;
    for (size_t c = 0; c < channels; ++c) {
      dot += static_cast<F>(y[first + c * inner]) * static_cast<F>(dy[first + c * inner]);
    }
    for (size_t c = 0; c < channels; ++c) {
      const size_t i = first + c * inner;
      dx[i] = static_cast<D>(static_cast<F>(y[i]) * (static_cast<F>(dy[i]) - dot));
    }
  });
}

template <typename T>
void LogSumExp(size_t outer, size_t channels, size_t inner, const T* x,
               AccumulatorType<T>* log_sum) {
  using F = AccumulatorType<T>;
  const Columns columns(outer, channels, inner);
  if (columns.size() == 0 || channels == 0) return;
  ForSomeColumns(columns, [&](size_t begin, size_t end) {
    ColumnTile<F> tile(columns, end - begin);
    for (size_t column = begin, width = 0; column < end; column += width) {
      width = tile.Load(x, column, end);
      const F* sums = tile.Exponentiate();
      for (size_t i = 0; i < width; ++i) {
        log_sum[column + i] = tile.largest()[i] + std::log(sums[i]);
      }
    }
  });
}

#define CAFFE_SOFTMAX(T, D)                                    \
  template void Softmax(size_t, size_t, size_t, const T*, D*); \
  template void SoftmaxGradient(size_t, size_t, size_t, const T*, const D*, D*);
CAFFE_FOR_EACH_PAIR(CAFFE_SOFTMAX)
#undef CAFFE_SOFTMAX

template void ChannelsLastSoftmax(size_t, size_t, const ChannelsLast&, const float*, float*);
template void ChannelsLastSoftmax(size_t, size_t, const ChannelsLast&, const float16*, float16*);
template void ChannelsLastSoftmax(size_t, size_t, const ChannelsLast&, const bfloat16*, bfloat16*);

template void LogSumExp(size_t, size_t, size_t, const float*, float*);
template void LogSumExp(size_t, size_t, size_t, const double*, double*);
template void LogSumExp(size_t, size_t, size_t, const float16*, float*);

}  // namespace caffe::kernels
