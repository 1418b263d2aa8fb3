#include "caffe/kernels/lrn.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

// Work is split into independent tiles: some positions of all channels of an image, or one
// channel's plane. A tile's intermediate values stay in the cache.
namespace caffe::kernels {
namespace {

constexpr size_t kTileElements = 1 << 15;
constexpr size_t kBlockedTileElements = 1 << 12;  // processed in many passes: fits the L1 cache

/// `rows` rows of `length` elements, `stride` apart in the array, from `offset` on.
struct Tile {
  size_t offset, stride;
  int rows, length;

  size_t size() const { return size_t(rows) * length; }
};

/// Channels of a window that can make a difference: a larger one reaches all of them from each.
int Window(const LrnShape& s) { return std::min(s.size, std::max(1, 2 * s.channels - 1)); }

size_t Plane(const LrnShape& s) { return size_t(s.height) * s.width; }

int TileLength(const LrnShape& s) {
  if (s.within_channel) return static_cast<int>(Plane(s));
  const size_t length = std::max<size_t>(64, kTileElements / std::max(1, s.channels));
  return static_cast<int>(std::min(length, Plane(s)));
}

/// Calls f(tile) for all tiles; each thread makes its own f by make().
template <typename Make>
void ForEachTile(const LrnShape& s, Make&& make) {
  const size_t plane = Plane(s), length = TileLength(s);
  if (plane == 0) return;
  const size_t tiles = s.within_channel ? s.channels : CeilDiv(plane, length);
  const int rows = s.within_channel ? 1 : s.channels;
  ParallelFor(s.num * tiles, 1, [&](size_t begin, size_t end) {
    auto f = make(rows * length);
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / tiles * s.channels * plane;
      const size_t start = s.within_channel ? i % tiles * plane : i % tiles * length;
      const size_t rest = s.within_channel ? plane : std::min(length, plane - start);
      f(Tile{image + start, plane, rows, static_cast<int>(rest)});
    }
  });
}

template <typename T, typename F>
void Load(const Tile& tile, const T* x, F* y) {
  for (int row = 0; row < tile.rows; ++row) {
    Convert(tile.length, x + tile.offset + row * tile.stride, y + size_t(row) * tile.length);
  }
}

template <typename F, typename T>
void Store(const Tile& tile, const F* x, T* y) {
  for (int row = 0; row < tile.rows; ++row) {
    Convert(tile.length, x + size_t(row) * tile.length, y + tile.offset + row * tile.stride);
  }
}

/// Sums over windows of `size` along an axis of `length` elements `stride` apart, for `inner`
/// neighbouring columns at once: sums[i] = x[i - size / 2] + ... + x[i + size / 2].
template <typename F>
void WindowSums(int length, size_t stride, size_t inner, int size, const F* x, F* sums) {
  const int half = size / 2;
  const auto add = Loops<F>().add;
  for (int i = 0; i < length; ++i) {
    F* row = sums + i * stride;
    const int first = std::max(0, i - half);
    std::copy_n(x + first * stride, inner, row);
    for (int j = first + 1; j <= std::min(length - 1, i + half); ++j) {
      add(inner, row, x + j * stride, row);
    }
  }
}

/// The same along a row.
template <typename F>
void WindowSumsOfRow(int length, int size, const F* x, F* sums) {
  const int half = size / 2;
  for (int i = 0; i < length; ++i) {
    F sum = 0;
    for (int j = std::max(0, i - half); j <= std::min(length - 1, i + half); ++j) sum += x[j];
    sums[i] = sum;
  }
}

/// Sums over the window around each element of a tile.
template <typename F>
void Neighbourhood(const LrnShape& s, const Tile& tile, const F* x, F* scratch, F* sums) {
  if (!s.within_channel) {
    WindowSums(tile.rows, tile.length, tile.length, s.size, x, sums);
    return;
  }
  WindowSums(s.height, s.width, s.width, s.size, x, scratch);
  for (int h = 0; h < s.height; ++h) {
    WindowSumsOfRow(s.width, s.size, scratch + size_t(h) * s.width, sums + size_t(h) * s.width);
  }
}

/// The factor of the sum of squares.
double Factor(const LrnShape& s) {
  return s.alpha / (s.within_channel ? double(s.size) * s.size : double(s.size));
}

/// Buffers for one tile.
template <typename F>
struct Buffers {
  explicit Buffers(size_t n) : x(n), products(n), scratch(n), sums(n), powers(n) {}
  std::vector<F> x, products, scratch, sums, powers;
};

/// b.x = x as F, b.sums = the sums of squares, b.powers = s^-beta for one tile.
template <typename F, typename T>
void ComputePowers(const LrnShape& s, const Tile& tile, const T* x, Buffers<F>* b) {
  const size_t n = tile.size();
  Load(tile, x, b->x.data());
  Loops<F>().multiply(n, b->x.data(), b->x.data(), b->products.data());
  Neighbourhood(s, tile, b->products.data(), b->scratch.data(), b->sums.data());
  const F factor = static_cast<F>(Factor(s)), k = static_cast<F>(s.k);
  const F beta = static_cast<F>(s.beta);
  if (beta == F(0.75)) {  // the usual value
    Loops<F>().affine_power(n, factor, k, b->sums.data(), b->powers.data());
  } else {
    for (size_t i = 0; i < n; ++i) b->powers[i] = std::pow(k + factor * b->sums[i], -beta);
  }
}

/// y = x / s^0.75 across channels for the tiles of an array, each read before it is written.
template <typename F>
class AcrossChannels {
 public:
  explicit AcrossChannels(const LrnShape& s) : s_(s), window_(std::min(s.size, s.channels)) {}

  template <typename T>
  void Forward(const Tile& tile, const T* x, T* y) {
    const F factor = static_cast<F>(Factor(s_)), k = static_cast<F>(s_.k);
    const size_t n = tile.length;
    const F* rows = nullptr;
    size_t pitch = n;
    bool copy = true;
    if constexpr (std::is_same_v<F, T>) {
      copy = x == y;
      if (!copy) rows = x + tile.offset, pitch = tile.stride;
    }
    if (copy) {
      x_.resize(tile.size());
      y_.resize(n);
      rows = x_.data();
      Load(tile, x, x_.data());
    }
    for (int row = 0; row < tile.rows; ++row) {
      const int first = std::max(0, row - s_.size / 2);
      const int last = std::min(tile.rows - 1, row + s_.size / 2);
      for (int i = first; i <= last; ++i) window_[i - first] = rows + i * pitch;
      F* result = y_.data();
      if constexpr (std::is_same_v<F, T>) result = y + tile.offset + row * tile.stride;
      Loops<F>().response(n, last - first + 1, window_.data(), factor, k, rows + row * pitch,
                          result);
      if constexpr (!std::is_same_v<F, T>) {
        Convert(n, result, y + tile.offset + row * tile.stride);
      }
    }
  }

 private:
  const LrnShape& s_;
  std::vector<F> x_, y_;
  std::vector<const F*> window_;
};

}  // namespace

template <typename T>
void LrnForward(const LrnShape& s, const T* x, T* y) {
  using F = AccumulatorType<T>;
  if (!s.within_channel && s.beta == 0.75) {
    return ForEachTile(s, [&](size_t) {
      return [x, y, across = AcrossChannels<F>(s)](const Tile& tile) mutable {
        across.Forward(tile, x, y);
      };
    });
  }
  ForEachTile(s, [&](size_t size) {
    return [&s, x, y, b = Buffers<F>(size)](const Tile& tile) mutable {
      ComputePowers(s, tile, x, &b);
      Loops<F>().multiply(tile.size(), b.x.data(), b.powers.data(), b.x.data());
      Store(tile, b.x.data(), y);
    };
  });
}

namespace {

/// Conversion between floats and stored elements: halves, floats, or integers that stand for
/// `scale` times their value.
struct Stored {
  float scale = 1, factor = 1;

  void Load(size_t n, const uint8_t* x, float* y) const {
    ChosenKernels().quantize.from_uint8(n, scale, 0, x, y);
  }
  void Load(size_t n, const int8_t* x, float* y) const {
    ChosenKernels().quantize.from_int8(n, scale, 0, x, y);
  }
  template <typename T>
  void Load(size_t n, const T* x, float* y) const {
    Convert(n, x, y);
  }
  void Store(size_t n, const float* x, uint8_t* y) const {
    ChosenKernels().quantize.to_uint8(n, factor, 0, x, y);
  }
  void Store(size_t n, const float* x, int8_t* y) const {
    ChosenKernels().quantize.to_int8(n, factor, 0, x, y);
  }
  template <typename T>
  void Store(size_t n, const float* x, T* y) const {
    Convert(n, x, y);
  }
};

/// Where channels lie: `blocks` runs of `lanes` neighbours; elements from one pixel to the next,
/// and from one block to the next.
struct ChannelRuns {
  size_t lanes, blocks;
  size_t x_pixel, y_pixel, step;

  size_t channels() const { return lanes * blocks; }
};

/// Some positions of all channels of an image: the channels of a position are gathered into a row
/// with zeros on both sides, so that windows are sums of neighbours. kBlock: lanes of a run, or 0
/// if that is not known in advance.
template <typename X, typename Y, int kBlock>
class BlockedTile {
 public:
  BlockedTile(const LrnShape& s, const ChannelRuns& runs, size_t most, const Stored& stored)
      : s_(s),
        runs_(runs),
        stored_(stored),
        window_(Window(s)),
        pitch_(runs.channels() + window_ - 1),
        x_(most * runs.channels()),
        squares_(most * pitch_ + window_ - 1),
        powers_(most * pitch_) {}

  /// Handles `length` positions, the first of which lies at `x` and at `y`.
  void Forward(size_t length, const X* x, Y* y) {
    const size_t run = length * lanes(), half = window_ / 2;
    for (size_t b = 0; b < runs_.blocks; ++b) {
      float* from = x_.data() + b * run;
      Load(length, x + b * runs_.step, from);
      Spread(length, from, squares_.data() + half + b * lanes());
    }
    const size_t n = length * pitch_;
    std::copy_n(squares_.data(), n, powers_.data());
    for (int i = 1; i < window_; ++i) {
      Loops<float>().add(n, powers_.data(), squares_.data() + i, powers_.data());
    }
    Power(n);
    ClearPadding(length);
    for (size_t b = 0; b < runs_.blocks; ++b) {
      float* values = x_.data() + b * run;
      Scale(length, powers_.data() + b * lanes(), values);
      Store(length, values, y + b * runs_.step);
    }
  }

 private:
  size_t lanes() const { return kBlock ? kBlock : runs_.lanes; }
  void Load(size_t length, const X* x, float* to) const {
    if (runs_.x_pixel == lanes()) return stored_.Load(length * lanes(), x, to);
    for (size_t i = 0; i < length; ++i) {
      stored_.Load(lanes(), x + i * runs_.x_pixel, to + i * lanes());
    }
  }
  void Store(size_t length, const float* from, Y* y) const {
    if (runs_.y_pixel == lanes()) return stored_.Store(length * lanes(), from, y);
    for (size_t i = 0; i < length; ++i) {
      stored_.Store(lanes(), from + i * lanes(), y + i * runs_.y_pixel);
    }
  }
  void Spread(size_t length, const float* from, float* to) const {
    for (size_t i = 0; i < length; ++i, from += lanes(), to += pitch_) {
      for (size_t k = 0; k < lanes(); ++k) to[k] = from[k] * from[k];
    }
  }
  void Scale(size_t length, const float* powers, float* values) const {
    for (size_t i = 0; i < length; ++i, values += lanes(), powers += pitch_) {
      for (size_t k = 0; k < lanes(); ++k) values[k] *= powers[k];
    }
  }
  // Padding of the last block: 0^-beta is infinite.
  void ClearPadding(size_t length) {
    for (size_t i = 0; i < length; ++i) {
      std::fill(powers_.begin() + i * pitch_ + s_.channels,
                powers_.begin() + i * pitch_ + runs_.channels(), 0.f);
    }
  }
  void Power(size_t n) {
    const float factor = static_cast<float>(Factor(s_)), k = static_cast<float>(s_.k);
    if (s_.beta == 0.75) {
      return Loops<float>().affine_power(n, factor, k, powers_.data(), powers_.data());
    }
    const float beta = static_cast<float>(s_.beta);
    for (size_t i = 0; i < n; ++i) powers_[i] = std::pow(k + factor * powers_[i], -beta);
  }

  const LrnShape& s_;
  const ChannelRuns runs_;
  const Stored stored_;
  const int window_;
  const size_t pitch_;
  std::vector<float> x_, squares_, powers_;
};

/// In runs of kBlock lanes, with images of so many elements.
template <int kBlock, typename X, typename Y>
void ForwardInRuns(const LrnShape& s, const ChannelRuns& runs, size_t x_image, size_t y_image,
                   const Stored& stored, const X* x, Y* y) {
  const size_t plane = Plane(s),
               most = std::max<size_t>(8, kBlockedTileElements / std::max(1, s.channels));
  const size_t length = std::min(plane, most);
  if (plane == 0 || s.channels == 0) return;
  const size_t tiles = CeilDiv(plane, length);
  ParallelFor(s.num * tiles, 1, [&](size_t begin, size_t end) {
    BlockedTile<X, Y, kBlock> tile(s, runs, length, stored);
    for (size_t i = begin; i < end; ++i) {
      const size_t start = i % tiles * length, image = i / tiles;
      tile.Forward(std::min(length, plane - start), x + image * x_image + start * runs.x_pixel,
                   y + image * y_image + start * runs.y_pixel);
    }
  });
}

template <int kBlock, typename X, typename Y>
void ForwardInBlocks(const LrnShape& s, const Stored& stored, const X* x, Y* y) {
  const size_t plane = Plane(s), image = RoundUp(s.channels, kBlock) * plane;
  const ChannelRuns runs = {kBlock, CeilDiv(s.channels, kBlock), kBlock, kBlock, plane * kBlock};
  ForwardInRuns<kBlock>(s, runs, image, image, stored, x, y);
}

template <typename X, typename Y>
void ForwardChannelsLast(const LrnShape& s, const ChannelsLast& channels, const Stored& stored,
                         const X* x, Y* y) {
  channels.Check();
  Require(!s.within_channel && channels.channels >= size_t(s.channels), "LRN of ", s.channels,
          " channels in pixels of ", channels.channels, "; across channels");
  const ChannelRuns runs = {channels.channels, 1, channels.x_pixel, channels.y_pixel, 0};
  ForwardInRuns<0>(s, runs, Plane(s) * channels.x_pixel, Plane(s) * channels.y_pixel, stored, x, y);
}

}  // namespace

template <typename T>
void BlockedLrnForward(const LrnShape& s, int block, const T* x, T* y) {
  block == 8 ? ForwardInBlocks<8>(s, {}, x, y) : ForwardInBlocks<16>(s, {}, x, y);
}

template <typename X, typename Y>
void BlockedLrnForward(const LrnShape& s, int block, float x_scale, const X* x, float y_factor,
                       Y* y) {
  const Stored stored = {x_scale, y_factor};
  block == 8 ? ForwardInBlocks<8>(s, stored, x, y) : ForwardInBlocks<16>(s, stored, x, y);
}

template <typename T>
void ChannelsLastLrnForward(const LrnShape& s, const ChannelsLast& channels, const T* x, T* y) {
  ForwardChannelsLast(s, channels, {}, x, y);
}

template <typename X, typename Y>
void ChannelsLastLrnForward(const LrnShape& s, const ChannelsLast& channels, float x_scale,
                            const X* x, float y_factor, Y* y) {
  ForwardChannelsLast(s, channels, {x_scale, y_factor}, x, y);
}

namespace {

/// Some pixels, each with half a window of zeros in front of its channels and behind them: so sums
/// over windows are sums of shifted rows. Everything stays in the cache. In each of the runs a
/// pixel's channels are right behind those of the one before.
class PaddedPixels {
 public:
  PaddedPixels(const LrnShape& s, const ChannelRuns& runs, size_t most)
      : s_(s),
        runs_(runs),
        half_(Window(s) / 2),
        pitch_(s.channels + 2 * half_),
        taps_(Window(s), 1.f),
        rows_(Window(s)),
        x_(RowsOf(most)),
        gradient_(RowsOf(most)),
        products_(RowsOf(most)),
        sums_(RowsOf(most)),
        powers_(RowsOf(most)),
        run_(runs.blocks > 1 || runs.lanes != size_t(s.channels) ? most * runs.lanes : 0) {}

  template <typename T>
  void Forward(size_t pixels, const T* x, T* y) {
    ComputePowers(pixels, x);
    loops_.multiply(Numbers(pixels), At(&x_), At(&powers_), At(&x_));
    Store(pixels, x_, y);
  }

  template <typename T, typename D>
  void Backward(size_t pixels, const T* x, const D* dy, D* dx) {
    const size_t n = Numbers(pixels);
    ComputePowers(pixels, x);
    Load(pixels, dy, &gradient_);
    loops_.multiply(n, At(&gradient_), At(&powers_), At(&gradient_));
    loops_.multiply(n, At(&gradient_), At(&x_), At(&products_));
    loops_.divide(n, At(&products_), At(&sums_), At(&products_));
    SumWindows(n, static_cast<float>(-2 * s_.beta * Factor(s_)), 0.f);
    loops_.multiply(n, At(&x_), At(&sums_), At(&x_));
    loops_.add(n, At(&gradient_), At(&x_), At(&gradient_));
    Store(pixels, gradient_, dx);
  }

 private:
  using Row = std::vector<float>;

  // Sums of windows are read from `half_` numbers in front to as many behind.
  size_t RowsOf(size_t pixels) const { return pixels * pitch_ + 2 * half_; }
  size_t Numbers(size_t pixels) const { return pixels * pitch_; }
  float* At(Row* row) const { return row->data() + half_; }

  template <typename T>
  void Load(size_t pixels, const T* x, Row* row) {
    float* first = At(row) + half_;
    if (run_.empty()) {
      for (size_t i = 0; i < pixels; ++i) {
        Convert(s_.channels, x + i * s_.channels, first + i * pitch_);
      }
    }
    for (size_t b = 0; !run_.empty() && b < runs_.blocks; ++b, first += runs_.lanes) {
      Convert(pixels * runs_.lanes, x + b * runs_.step, run_.data());
      for (size_t i = 0; i < pixels; ++i) {
        std::copy_n(run_.data() + i * runs_.lanes, Lanes(b), first + i * pitch_);
      }
    }
  }
  template <typename T>
  void Store(size_t pixels, const Row& row, T* y) {
    const float* first = row.data() + 2 * half_;
    if (run_.empty()) {
      for (size_t i = 0; i < pixels; ++i) {
        Convert(s_.channels, first + i * pitch_, y + i * s_.channels);
      }
    }
    for (size_t b = 0; !run_.empty() && b < runs_.blocks; ++b, first += runs_.lanes) {
      if (Lanes(b) < runs_.lanes) std::fill(run_.begin(), run_.end(), 0.f);
      for (size_t i = 0; i < pixels; ++i) {
        std::copy_n(first + i * pitch_, Lanes(b), run_.data() + i * runs_.lanes);
      }
      Convert(pixels * runs_.lanes, run_.data(), y + b * runs_.step);
    }
  }
  size_t Lanes(size_t block) const {
    return std::min(runs_.lanes, s_.channels - block * runs_.lanes);
  }
  /// sums_ = term + factor times the sums of products_ over windows.
  void SumWindows(size_t n, float factor, float term) {
    std::fill(taps_.begin(), taps_.end(), factor);
    for (size_t t = 0; t < taps_.size(); ++t) rows_[t] = products_.data() + t;
    loops_.weighted_sum(n, taps_.size(), taps_.data(), rows_.data(), term, At(&sums_));
  }
  /// x_, sums_ = k + alpha / n times the sums of squares, and powers_ = these^-beta.
  template <typename T>
  void ComputePowers(size_t pixels, const T* x) {
    const size_t n = Numbers(pixels);
    Load(pixels, x, &x_);
    loops_.multiply(n, At(&x_), At(&x_), At(&products_));
    SumWindows(n, static_cast<float>(Factor(s_)), static_cast<float>(s_.k));
    if (s_.beta == 0.75) {
      ChosenKernels().channels.power(n, At(&sums_), At(&powers_));
    } else {
      const float beta = static_cast<float>(s_.beta);
      for (size_t i = 0; i < n; ++i) At(&powers_)[i] = std::pow(At(&sums_)[i], -beta);
    }
    ClearPadding(pixels);
  }
  // k may be 0, and 0^-beta is infinite.
  void ClearPadding(size_t pixels) {
    for (size_t i = 0; i < pixels; ++i) {
      float* powers = At(&powers_) + i * pitch_;
      float* sums = At(&sums_) + i * pitch_;
      std::fill_n(powers, half_, 0.f);
      std::fill_n(powers + half_ + s_.channels, half_, 0.f);
      std::fill_n(sums, half_, 1.f);
      std::fill_n(sums + half_ + s_.channels, half_, 1.f);
    }
  }

  const ArithmeticLoops<float>& loops_ = Loops<float>();
  const LrnShape& s_;
  const ChannelRuns runs_;
  const size_t half_, pitch_;
  std::vector<float> taps_;
  std::vector<const float*> rows_;
  Row x_, gradient_, products_, sums_, powers_;
  std::vector<float> run_;  // of all pixels; empty where a pixel is one run
};

/// Calls f(PaddedPixels, how many pixels, offset of the first one) for the pixels of `planes`
/// planes, with channels in blocks.
template <typename Function>
void ForEachPixels(const LrnShape& s, size_t planes, size_t plane, size_t block, Function&& f) {
  constexpr size_t kNumbers = 1 << 11;
  if (planes * plane == 0 || s.channels == 0) return;
  const ChannelRuns runs = {block, CeilDiv(s.channels, block), block, block, plane * block};
  const size_t most = std::max<size_t>(1, kNumbers / (s.channels + Window(s) - 1));
  const size_t parts = CeilDiv(plane, most);
  ParallelFor(planes * parts, 1, [&](size_t begin, size_t end) {
    PaddedPixels padded(s, runs, most);
    for (size_t i = begin; i < end; ++i) {
      const size_t start = i % parts * most;
      f(padded, std::min(most, plane - start), (i / parts * runs.blocks * plane + start) * block);
    }
  });
}

}  // namespace

template <typename T>
void PixelLrnForward(const LrnShape& s, const T* x, T* y) {
  const size_t pixels = s.num * Plane(s);
  ForEachPixels(s, 1, pixels, s.channels, [&](PaddedPixels& padded, size_t count, size_t offset) {
    padded.Forward(count, x + offset, y + offset);
  });
}

template <typename T, typename D>
void PixelLrnBackward(const LrnShape& s, const T* x, const D* dy, D* dx) {
  const size_t pixels = s.num * Plane(s);
  ForEachPixels(s, 1, pixels, s.channels, [&](PaddedPixels& padded, size_t count, size_t offset) {
    padded.Backward(count, x + offset, dy + offset, dx + offset);
  });
}

template <typename T, typename D>
void BlockedLrnBackward(const LrnShape& s, int block, const T* x, const D* dy, D* dx) {
  ForEachPixels(s, s.num, Plane(s), block, [&](PaddedPixels& padded, size_t count, size_t offset) {
    padded.Backward(count, x + offset, dy + offset, dx + offset);
  });
}

template <typename T, typename D>
void LrnBackward(const LrnShape& s, const T* x, const D* dy, D* dx) {
  using F = AccumulatorType<D>;
  const F alpha = static_cast<F>(Factor(s)), k = static_cast<F>(s.k);
  const F factor = static_cast<F>(2 * s.beta * Factor(s));
  ForEachTile(s, [&](size_t size) {
    return [=, &s, b = Buffers<F>(size), result = std::vector<F>(size)](const Tile& tile) mutable {
      const size_t n = tile.size();
      ComputePowers(s, tile, x, &b);
      Load(tile, dy, result.data());
      for (size_t i = 0; i < n; ++i) {
        result[i] *= b.powers[i];
        b.products[i] = result[i] * b.x[i] / (k + alpha * b.sums[i]);
      }
      Neighbourhood(s, tile, b.products.data(), b.scratch.data(), b.sums.data());
      for (size_t i = 0; i < n; ++i) result[i] -= factor * b.x[i] * b.sums[i];
      Store(tile, result.data(), dx);
    };
  });
}

#define CAFFE_LRN(T, D) template void LrnBackward(const LrnShape&, const T*, const D*, D*);
CAFFE_FOR_EACH_PAIR(CAFFE_LRN)
#undef CAFFE_LRN
#define CAFFE_LRN(T, D)                                                    \
  template void PixelLrnBackward(const LrnShape&, const T*, const D*, D*); \
  template void BlockedLrnBackward(const LrnShape&, int, const T*, const D*, D*)
CAFFE_LRN(float, float);
CAFFE_LRN(float, float16);
CAFFE_LRN(float16, float);
CAFFE_LRN(float16, float16);
#undef CAFFE_LRN
template void PixelLrnForward(const LrnShape&, const float*, float*);
template void PixelLrnForward(const LrnShape&, const float16*, float16*);
#define CAFFE_LRN(X, Y)                                                                       \
  template void BlockedLrnForward(const LrnShape&, int, float, const X*, float, Y*);          \
  template void ChannelsLastLrnForward(const LrnShape&, const ChannelsLast&, float, const X*, \
                                       float, Y*)
CAFFE_LRN(int8_t, int8_t);
CAFFE_LRN(int8_t, uint8_t);
CAFFE_LRN(uint8_t, int8_t);
CAFFE_LRN(uint8_t, uint8_t);
#undef CAFFE_LRN
template void BlockedLrnForward(const LrnShape&, int, const float*, float*);
template void BlockedLrnForward(const LrnShape&, int, const float16*, float16*);
template void ChannelsLastLrnForward(const LrnShape&, const ChannelsLast&, const float*, float*);
template void ChannelsLastLrnForward(const LrnShape&, const ChannelsLast&, const float16*,
                                     float16*);
template void ChannelsLastLrnForward(const LrnShape&, const ChannelsLast&, const bfloat16*,
                                     bfloat16*);
template void LrnForward(const LrnShape&, const float*, float*);
template void LrnForward(const LrnShape&, const double*, double*);
template void LrnForward(const LrnShape&, const float16*, float16*);

}  // namespace caffe::kernels
