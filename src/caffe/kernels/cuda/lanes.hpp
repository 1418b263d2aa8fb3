#ifndef CAFFE_KERNELS_CUDA_LANES_HPP_
#define CAFFE_KERNELS_CUDA_LANES_HPP_

// For .cu files: neighbouring channels of any type as floats, for kernels of engines. Products and
// sums are rounded one by one, as in the CPU's kernels: nvcc would fuse them.

#include <cuda_bf16.h>
#include <math.h>

#include <cstdint>
#include <cstring>

#include "caffe/error.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "launch.hpp"

namespace caffe::cuda {

constexpr int kLanes = 8;  // channels read and written at once

__host__ __device__ inline float Times(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
__host__ __device__ inline float Plus(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

/// An unsigned type of `bytes` bytes, for moves.
template <int bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = unsigned char;
};
template <>
struct WordOf<2> {
  using type = unsigned short;  // NOLINT: as CUDA names them
};
template <>
struct WordOf<4> {
  using type = unsigned int;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

/// The bytes of the widest word for `bytes` bytes.
constexpr int WordBytes(int bytes) { return bytes < 16 ? bytes : 16; }

/// to = V elements from `from`, which a GPU moves in words: addresses must be multiples of the word
/// size.
template <int V, typename T>
__host__ __device__ inline void ReadLanes(const T* from, T (&to)[V]) {
#ifdef __CUDA_ARCH__
  constexpr int kBytes = WordBytes(V * sizeof(T));
  using Word = typename WordOf<kBytes>::type;
  Word words[V * sizeof(T) / kBytes];
  for (int i = 0; i < V * sizeof(T) / kBytes; ++i) {
    words[i] = reinterpret_cast<const Word*>(from)[i];
  }
  memcpy(to, words, sizeof(to));
#else
  std::memcpy(to, from, sizeof(to));
#endif
}
template <int V, typename T>
__host__ __device__ inline void WriteLanes(const T (&from)[V], T* to) {
#ifdef __CUDA_ARCH__
  constexpr int kBytes = WordBytes(V * sizeof(T));
  using Word = typename WordOf<kBytes>::type;
  Word words[V * sizeof(T) / kBytes];
  memcpy(words, from, sizeof(from));
  for (int i = 0; i < V * sizeof(T) / kBytes; ++i) reinterpret_cast<Word*>(to)[i] = words[i];
#else
  std::memcpy(to, from, sizeof(from));
#endif
}

__host__ __device__ inline float AsFloat(float x) { return x; }
__host__ __device__ inline float AsFloat(float16 x) { return Load(&x); }
__host__ __device__ inline float AsFloat(bfloat16 x) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
#else
  return static_cast<float>(x);
#endif
}
__host__ __device__ inline float AsFloat(int8_t x) { return static_cast<float>(x); }
__host__ __device__ inline float AsFloat(uint8_t x) { return static_cast<float>(x); }

/// An array of elements of any type as a kernel argument.
struct Array {
  void* data;
  ElementType type;
  size_t stride;  // elements from one pixel to the next
  float scale;    // factor of integers when read,
  float factor;   // and when written
  float least;    // lowest value, for INT8
  float zero;     // the integer that stands for 0

  /// values = V elements from element `at` on.
  template <int V>
  __host__ __device__ void Read(size_t at, float (&values)[V]) const {
    switch (type) {
      case ElementType::FLOAT16:
        return ReadAs<float16>(at, values);
      case ElementType::BFLOAT16:
        return ReadAs<bfloat16>(at, values);
      case ElementType::INT8:
        ReadAs<int8_t>(at, values);
        for (int v = 0; v < V; ++v) values[v] = Times(values[v] - zero, scale);
        return;
      case ElementType::UINT8:
        ReadAs<uint8_t>(at, values);
        for (int v = 0; v < V; ++v) values[v] = Times(values[v] - zero, scale);
        return;
      default:
        return ReadAs<float>(at, values);
    }
  }

  template <int V>
  __host__ __device__ void Write(const float (&values)[V], size_t at) const {
    switch (type) {
      case ElementType::FLOAT16:
        return WriteHalves(values, at);
      case ElementType::BFLOAT16:
        return WriteBFloat16s(values, at);
      case ElementType::INT8:
        return WriteIntegers<int8_t>(values, at, least, 127.f);
      case ElementType::UINT8:
        return WriteIntegers<uint8_t>(values, at, 0.f, 255.f);
      default:
        WriteLanes(values, static_cast<float*>(data) + at);
    }
  }

 private:
  template <typename T, int V>
  __host__ __device__ void ReadAs(size_t at, float (&values)[V]) const {
    T elements[V];
    ReadLanes(static_cast<const T*>(data) + at, elements);
    for (int v = 0; v < V; ++v) values[v] = AsFloat(elements[v]);
  }
  template <int V>
  __host__ __device__ void WriteHalves(const float (&values)[V], size_t at) const {
    float16 elements[V];
    for (int v = 0; v < V; ++v) Store(elements + v, values[v]);
    WriteLanes(elements, static_cast<float16*>(data) + at);
  }
  template <int V>
  __host__ __device__ void WriteBFloat16s(const float (&values)[V], size_t at) const {
    bfloat16 elements[V];
    for (int v = 0; v < V; ++v) {
#ifdef __CUDA_ARCH__
      elements[v].bits = __bfloat16_as_ushort(__float2bfloat16_rn(values[v]));
#else
      elements[v] = bfloat16(values[v]);
#endif
    }
    WriteLanes(elements, static_cast<bfloat16*>(data) + at);
  }
  template <typename T, int V>
  __host__ __device__ void WriteIntegers(const float (&values)[V], size_t at, float low,
                                         float high) const {
    T elements[V];
    for (int v = 0; v < V; ++v) {
      float value = Times(values[v], factor);
      value = value < low - zero ? low - zero : value;
      value = value > high - zero ? high - zero : value;
      value = value == value ? value : 0.f;
      elements[v] = static_cast<T>(static_cast<int>(rintf(value) + zero));
    }
    WriteLanes(elements, static_cast<T*>(data) + at);
  }
};

inline void RequireStored(ElementType type) {
  Require(type == ElementType::FLOAT || IsHalfWidth(type) || type == ElementType::INT8 ||
              type == ElementType::UINT8,
          "engines on the GPU have no arrays of type ", Name(type));
}

inline Array ArrayOf(void* data, ElementType type, size_t stride, float scale, int zero_point = 0) {
  RequireStored(type);
  return {data, type, stride, scale, 1 / scale, -127.f, static_cast<float>(zero_point)};
}
inline Array ArrayOf(const Pixels& x) {
  return ArrayOf(x.data, x.type, static_cast<size_t>(x.stride), x.scale, x.zero_point);
}
/// Integers as stored, whatever they stand for.
inline Array AsStored(Array array) {
  array.scale = array.factor = 1;
  array.least = -128.f;
  array.zero = 0;
  return array;
}

/// True if kLanes channels can be read and written at once.
inline bool IsWide(const Array& array, int channels) {
  const size_t size = SizeOf(array.type), word = WordBytes(static_cast<int>(kLanes * size));
  return channels % kLanes == 0 && reinterpret_cast<uintptr_t>(array.data) % word == 0 &&
         array.stride * size % word == 0;
}

/// A number of work items, checked to fit the threads' int.
inline int CountedWork(double count) {
  Require(count <= std::numeric_limits<int>::max(), "a kernel on the GPU has ", count,
          " elements to compute, more than 2^31 - 1: a smaller batch has less");
  return static_cast<int>(count);
}

/// PostOps' activation, in floats.
struct LaneActivation {
  LaneActivation() = default;
  explicit LaneActivation(const kernels::Activation& f)
      : kind(f.kind), a(static_cast<float>(f.a)), b(static_cast<float>(f.b)), slopes(f.slopes) {}

  kernels::Activation::Kind kind = kernels::Activation::NONE;
  float a = 0, b = 0;
  const float* slopes = nullptr;

  __host__ __device__ float Value(float x, int channel) const {
    using kernels::Activation;
    switch (kind) {
      case Activation::RELU:
        return x < 0 ? (a == 0 ? 0.f : Times(a, x)) : x;
      case Activation::CLIP:
        x = x < a ? a : x;
        return x > b ? b : x;
      case Activation::PRELU:
        return x < 0 ? Times(slopes[channel], x) : x;
      case Activation::ELU:
        return x > 0 ? Times(b, x) : Times(Times(a, b), expm1f(x));
      case Activation::SIGMOID:
        return 1 / (1 + expf(-x));
      case Activation::SWISH:
        return x / (1 + expf(-a * x));
      case Activation::TANH:
        return tanhf(x);
      case Activation::HARD_SWISH: {
        const float gate = Plus(Times(a, x), b);
        return gate <= 0 ? 0.f : gate >= 1 ? x : Times(x, gate);
      }
      case Activation::GELU: {
        const float below = 0.5f * erfcf(-0.70710678f * x);
        return below == 0 ? 0.f : x * below;
      }
      default:
        return x;
    }
  }
};

/// PostOps of V sums of neighbouring channels: f(a x + b + residual), written to y.
struct LanePostOps {
  const float* a;
  const float* b;
  Array residual;  // no data: none
  LaneActivation f;
  Array y;

  /// The channels from `channel` on, in elements `residual_at` and `y_at`.
  template <int V>
  __host__ __device__ void Write(float (&x)[V], int channel, size_t residual_at,
                                 size_t y_at) const {
    float more[V];
    if (residual.data) residual.Read(residual_at, more);
    for (int v = 0; v < V; ++v) {
      if (a) x[v] = Times(x[v], a[channel + v]);
      if (b) x[v] = Plus(x[v], b[channel + v]);
      if (residual.data) x[v] = Plus(x[v], more[v]);
      x[v] = f.Value(x[v], channel + v);
    }
    y.Write(x, y_at);
  }
};

/// Calls start(V) with V, kLanes or 1, as a constant: static_cast<int>(V) or decltype(V)::value.
template <typename Start>
void WithLanes(bool wide, const Start& start) {
  if (wide) {
    start(std::integral_constant<int, kLanes>());
  } else {
    start(std::integral_constant<int, 1>());
  }
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_LANES_HPP_
