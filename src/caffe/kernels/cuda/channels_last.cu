#include "caffe/kernels/cuda/channels_last.hpp"

#include <algorithm>

#include "lanes.hpp"
#include "pooling_windows.hpp"

namespace caffe::cuda {
namespace {

/// True if kernels should take kLanes channels per thread: if they can, and there is still work for
/// the whole GPU.
bool TakesLanes(bool wide, double elements) {
  constexpr double kEnough = 1 << 17;
  return wide && elements >= kEnough;
}

void RequireChannels(const Pixels& x, int channels) {
  Require(x.stride >= channels, "pixels of ", channels, " channels cannot lie ", x.stride,
          " elements apart");
}

template <int V>
void ApplyLanes(Stream& stream, int pixels, int channels, const Array& x, const LanePostOps& post) {
  const int pieces = channels / V;
  ForEach(stream, CountedWork(double(pixels) * pieces), [=] __host__ __device__(int i) {
    const size_t pixel = i / pieces;
    const int channel = i % pieces * V;
    float values[V];
    x.Read(pixel * x.stride + channel, values);
    post.Write(values, channel, pixel * post.residual.stride + channel,
               pixel * post.y.stride + channel);
  });
}

/// Several arrays as a kernel argument.
struct Arrays {
  int size;
  Array items[kMaxCombined];
  float coefficients[kMaxCombined];
};

__host__ __device__ inline float Combined(Combination combination, float so_far, float value) {
  switch (combination) {
    case Combination::SUM:
      return Plus(so_far, value);
    case Combination::PRODUCT:
      return Times(so_far, value);
    default:
      return value > so_far ? value : so_far;
  }
}

template <int V>
void CombineLanes(Stream& stream, Combination combination, int pixels, int channels,
                  const Arrays& x, const LanePostOps& post) {
  const int pieces = channels / V;
  ForEach(stream, CountedWork(double(pixels) * pieces), [=] __host__ __device__(int i) {
    const size_t pixel = i / pieces;
    const int channel = i % pieces * V;
    float result[V], values[V];
    for (int k = 0; k < x.size; ++k) {
      const Array& array = x.items[k];
      array.Read(pixel * array.stride + channel, values);
      for (int v = 0; v < V; ++v) {
        const float value = Times(values[v], x.coefficients[k]);
        result[v] = k == 0 ? value : Combined(combination, result[v], value);
      }
    }
    post.Write(result, channel, 0, pixel * post.y.stride + channel);
  });
}

/// Writes end(so far, window) for each output, where `so far` starts as begin and becomes add(so
/// far, value) for each value of the window.
template <int V, typename Add, typename End>
void PoolLanes(Stream& stream, const kernels::PoolingShape& shape, int channels, const Array& x,
               const Array& y, float begin, Add add, End end) {
  const Pool windows(shape);
  const int pieces = channels / V;
  const double outputs = double(shape.planes) * shape.output_plane();
  ForEach(stream, CountedWork(outputs * pieces), [=] __host__ __device__(int i) {
    const int output = i / pieces, channel = i % pieces * V;
    const int row = output / windows.pooled_width;
    const Window window =
        windows.WindowAt(row % windows.pooled_height, output % windows.pooled_width);
    const size_t image = size_t(row / windows.pooled_height) * windows.height * windows.width;
    float result[V], values[V];
    for (int v = 0; v < V; ++v) result[v] = begin;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        x.Read((image + h * windows.width + w) * x.stride + channel, values);
        for (int v = 0; v < V; ++v) result[v] = add(result[v], values[v]);
      }
    }
    for (int v = 0; v < V; ++v) result[v] = end(result[v], window);
    y.Write(result, size_t(output) * y.stride + channel);
  });
}

void RequirePoolable(int channels, const Pixels& x, const Pixels& y) {
  RequireChannels(x, channels);
  RequireChannels(y, channels);
  Require(x.type == y.type, "pooling ", Name(x.type), " cannot give ", Name(y.type));
}

bool PoolsLanes(const kernels::PoolingShape& shape, int channels, const Array& x, const Array& y) {
  return TakesLanes(IsWide(x, channels) && IsWide(y, channels),
                    double(shape.planes) * shape.output_plane() * channels);
}

template <int V>
void PoolMaximaLanes(Stream& stream, const kernels::PoolingShape& shape, int channels,
                     const Array& x, const Array& y, float lowest) {
  PoolLanes<V>(
      stream, shape, channels, x, y, lowest,
      [] __host__ __device__(float best, float value) { return value > best ? value : best; },
      [] __host__ __device__(float best, const Window&) { return best; });
}

template <int V>
void PoolMeansLanes(Stream& stream, const kernels::PoolingShape& shape, int channels,
                    const Array& x, const Array& y) {
  PoolLanes<V>(
      stream, shape, channels, x, y, 0.f,
      [] __host__ __device__(float sum, float value) { return sum + value; },
      [] __host__ __device__(float sum, const Window& window) { return sum / window.divisor; });
}

/// The lowest value of a type.
float Lowest(ElementType type) {
  switch (type) {
    case ElementType::FLOAT16:
      return static_cast<float>(std::numeric_limits<float16>::lowest());
    case ElementType::BFLOAT16:
      return static_cast<float>(std::numeric_limits<bfloat16>::lowest());
    case ElementType::INT8:
      return -127.f;
    case ElementType::UINT8:
      return 0.f;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

template <typename Word>
void CopyWords(Stream& stream, int rows, size_t row_bytes, const void* x, size_t x_bytes, void* y,
               size_t y_bytes) {
  const Word* from = static_cast<const Word*>(x);
  Word* to = static_cast<Word*>(y);
  const int words = static_cast<int>(row_bytes / sizeof(Word));
  const size_t x_stride = x_bytes / sizeof(Word), y_stride = y_bytes / sizeof(Word);
  ForEach(stream, CountedWork(double(rows) * words), [=] __host__ __device__(int i) {
    const size_t row = i / words;
    const int word = i % words;
    to[row * y_stride + word] = from[row * x_stride + word];
  });
}

/// Copies `rows` rows of `row_bytes` bytes in the widest words that alignment allows.
void CopyRowsOfBytes(Stream& stream, int rows, size_t row_bytes, const void* x, size_t x_bytes,
                     void* y, size_t y_bytes) {
  const uintptr_t all = row_bytes | x_bytes | y_bytes | reinterpret_cast<uintptr_t>(x) |
                        reinterpret_cast<uintptr_t>(y);
  const auto copy = [&](auto word) {
    CopyWords<decltype(word)>(stream, rows, row_bytes, x, x_bytes, y, y_bytes);
  };
  if (all % 16 == 0) return copy(uint4());
  if (all % 4 == 0) return copy(uint32_t());
  if (all % 2 == 0) return copy(uint16_t());
  copy(uint8_t());
}

/// True if elements need not be converted.
bool AreAlike(const Array& x, const Array& y) {
  return x.type == y.type && (SizeOf(x.type) > 1 || (x.scale == y.scale && x.zero == y.zero));
}

/// Reads and writes elements of equal types without conversion.
void KeepAlike(Array* x, Array* y) {
  if (!AreAlike(*x, *y)) return;
  *x = AsStored(*x);
  *y = AsStored(*y);
}

Array PlanesOf(const Planes& x) { return ArrayOf(x.data, x.type, x.stride, x.scale, x.zero_point); }

void ApplyPlanewise(Stream& stream, int images, int channels, int spatial, const Array& x,
                    const LanePostOps& post) {
  ForEach(stream, CountedWork(double(images) * channels * spatial), [=] __host__ __device__(int i) {
    const int plane = i / spatial, channel = plane % channels;
    const size_t image = plane / channels, within = size_t(channel) * spatial + i % spatial;
    float value[1];
    x.Read(image * x.stride + within, value);
    post.Write(value, channel, image * post.residual.stride + within,
               image * post.y.stride + within);
  });
}

template <int V>
void ToChannelsLastLanes(Stream& stream, int images, int channels, int spatial, const Array& x,
                         const Array& y, int filled) {
  const int pieces = filled / V;
  ForEach(stream, CountedWork(double(images) * pieces * spatial), [=] __host__ __device__(int i) {
    const int place = i % spatial, row = i / spatial;
    const size_t image = row / pieces;
    const int channel = row % pieces * V;
    float values[V];
    for (int v = 0; v < V; ++v) {
      float value[1] = {0.f};
      if (channel + v < channels) {
        x.Read(image * x.stride + size_t(channel + v) * spatial + place, value);
      }
      values[v] = value[0];
    }
    y.Write(values, (image * spatial + place) * y.stride + channel);
  });
}

template <int V>
void FromChannelsLastLanes(Stream& stream, int images, int channels, int spatial, const Array& x,
                           const Array& y) {
  const int pieces = channels / V;
  ForEach(stream, CountedWork(double(images) * pieces * spatial), [=] __host__ __device__(int i) {
    const int place = i % spatial, row = i / spatial;
    const size_t image = row / pieces;
    const int channel = row % pieces * V;
    float values[V];
    x.Read((image * spatial + place) * x.stride + channel, values);
    for (int v = 0; v < V; ++v) {
      const float value[1] = {values[v]};
      y.Write(value, image * y.stride + size_t(channel + v) * spatial + place);
    }
  });
}

/// For each of `images` matrices of `rows` x `columns`: y = x transposed.
void TransposeDoubles(Stream& stream, int images, int rows, int columns, const double* x,
                      double* y) {
  ForEach(stream, CountedWork(double(images) * rows * columns), [=] __host__ __device__(int i) {
    const int row = i % rows, column = i / rows % columns;
    y[i] = x[(size_t(i / rows / columns) * rows + row) * columns + column];
  });
}

}  // namespace

void ApplyToPixels(Stream& stream, int pixels, int channels, const Pixels& x, const float* a,
                   const float* b, const Pixels* residual, const kernels::Activation& f,
                   const Pixels& y) {
  if (pixels == 0 || channels == 0) return;
  RequireChannels(x, channels);
  RequireChannels(y, channels);
  if (residual) RequireChannels(*residual, channels);
  const Array from = ArrayOf(x);
  const LanePostOps post = {a, b, residual ? ArrayOf(*residual) : Array(), LaneActivation(f),
                            ArrayOf(y)};
  const bool wide = IsWide(from, channels) && IsWide(post.y, channels) &&
                    (!residual || IsWide(post.residual, channels));
  WithLanes(TakesLanes(wide, double(pixels) * channels), [&](auto lanes) {
    ApplyLanes<decltype(lanes)::value>(stream, pixels, channels, from, post);
  });
}

void ApplyToPlanes(Stream& stream, int images, int channels, int spatial, const Planes& x,
                   const float* a, const float* b, const Planes* residual,
                   const kernels::Activation& f, const Planes& y) {
  if (images == 0 || channels == 0 || spatial == 0) return;
  ApplyPlanewise(stream, images, channels, spatial, PlanesOf(x),
                 {a, b, residual ? PlanesOf(*residual) : Array(), LaneActivation(f), PlanesOf(y)});
}

void CombinePixels(Stream& stream, Combination combination, int pixels, int channels,
                   const std::vector<Pixels>& x, const std::vector<float>& coefficients,
                   const kernels::Activation& f, const Pixels& y) {
  Require(!x.empty() && x.size() <= kMaxCombined, "1 to ", kMaxCombined,
          " arrays can be combined, not ", x.size());
  Require(coefficients.empty() || coefficients.size() == x.size(), coefficients.size(),
          " coefficients were given for ", x.size(), " arrays");
  if (pixels == 0 || channels == 0) return;
  RequireChannels(y, channels);
  const LanePostOps post = {nullptr, nullptr, Array(), LaneActivation(f), ArrayOf(y)};
  bool wide = IsWide(post.y, channels);
  Arrays arrays;
  arrays.size = static_cast<int>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    RequireChannels(x[i], channels);
    arrays.items[i] = ArrayOf(x[i]);
    arrays.coefficients[i] =
        combination == Combination::SUM && !coefficients.empty() ? coefficients[i] : 1.f;
    wide = wide && IsWide(arrays.items[i], channels);
  }
  WithLanes(TakesLanes(wide, double(pixels) * channels), [&](auto lanes) {
    CombineLanes<decltype(lanes)::value>(stream, combination, pixels, channels, arrays, post);
  });
}

void PoolMaxima(Stream& stream, const kernels::PoolingShape& shape, int channels, const Pixels& x,
                const Pixels& y) {
  if (shape.planes == 0 || channels == 0) return;
  RequirePoolable(channels, x, y);
  const Array from = AsStored(ArrayOf(x)), to = AsStored(ArrayOf(y));
  WithLanes(PoolsLanes(shape, channels, from, to), [&](auto lanes) {
    PoolMaximaLanes<decltype(lanes)::value>(stream, shape, channels, from, to, Lowest(x.type));
  });
}

void PoolMeans(Stream& stream, const kernels::PoolingShape& shape, int channels, const Pixels& x,
               const Pixels& y) {
  if (shape.planes == 0 || channels == 0) return;
  RequirePoolable(channels, x, y);
  // Sums of integers are below 2^24: exact as floats.
  const Array from = AsStored(ArrayOf(x));
  Array to = ArrayOf(y);
  to.factor = x.scale / y.scale;
  WithLanes(PoolsLanes(shape, channels, from, to), [&](auto lanes) {
    PoolMeansLanes<decltype(lanes)::value>(stream, shape, channels, from, to);
  });
}

void CopyPixels(Stream& stream, int pixels, int channels, const Pixels& x, const Pixels& y) {
  if (pixels == 0 || channels == 0) return;
  if (!AreAlike(ArrayOf(x), ArrayOf(y))) {
    return ApplyToPixels(stream, pixels, channels, x, nullptr, nullptr, nullptr, {}, y);
  }
  RequireStored(x.type);
  RequireChannels(x, channels);
  RequireChannels(y, channels);
  const size_t size = SizeOf(x.type);
  CopyRowsOfBytes(stream, pixels, channels * size, x.data, x.stride * size, y.data,
                  y.stride * size);
}

void ToChannelsLast(Stream& stream, int images, int channels, int spatial, const Planes& x,
                    const Pixels& y, int filled) {
  if (images == 0 || spatial == 0) return;
  filled = std::max(filled, channels);
  RequireChannels(y, filled);
  Array from = PlanesOf(x), to = ArrayOf(y);
  KeepAlike(&from, &to);
  WithLanes(IsWide(to, filled), [&](auto lanes) {
    ToChannelsLastLanes<decltype(lanes)::value>(stream, images, channels, spatial, from, to,
                                                filled);
  });
}

void FromChannelsLast(Stream& stream, int images, int channels, int spatial, const Pixels& x,
                      const Planes& y) {
  if (images == 0 || channels == 0 || spatial == 0) return;
  RequireChannels(x, channels);
  Array from = ArrayOf(x), to = PlanesOf(y);
  KeepAlike(&from, &to);
  WithLanes(IsWide(from, channels), [&](auto lanes) {
    FromChannelsLastLanes<decltype(lanes)::value>(stream, images, channels, spatial, from, to);
  });
}

void TurnToChannelsLast(Stream& stream, ElementType type, int images, int channels, int spatial,
                        const void* x, void* y) {
  if (type == ElementType::DOUBLE) {
    return TransposeDoubles(stream, images, channels, spatial, static_cast<const double*>(x),
                            static_cast<double*>(y));
  }
  ToChannelsLast(stream, images, channels, spatial,
                 {const_cast<void*>(x), type, size_t(channels) * spatial}, {y, type, channels},
                 channels);
}

void TurnFromChannelsLast(Stream& stream, ElementType type, int images, int channels, int spatial,
                          const void* x, void* y) {
  if (type == ElementType::DOUBLE) {
    return TransposeDoubles(stream, images, spatial, channels, static_cast<const double*>(x),
                            static_cast<double*>(y));
  }
  FromChannelsLast(stream, images, channels, spatial, {const_cast<void*>(x), type, channels},
                   {y, type, size_t(channels) * spatial});
}

void CopyPlanes(Stream& stream, int images, int channels, int spatial, const Planes& x,
                const Planes& y) {
  const int elements = CountedWork(double(channels) * spatial);
  const auto pixels = [](const Planes& planes) {
    return Pixels{planes.data, planes.type, CountedWork(double(planes.stride)), planes.scale,
                  planes.zero_point};
  };
  CopyPixels(stream, images, elements, pixels(x), pixels(y));
}

}  // namespace caffe::cuda
