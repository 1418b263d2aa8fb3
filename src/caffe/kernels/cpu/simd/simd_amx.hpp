#ifndef CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AMX_HPP_

// For amx_tiles.inc: AMX's own instructions, and those that round to bfloat16.
#include <immintrin.h>

#include "amx_tiles.hpp"
#include "caffe/kernels/cpu/convolution/depthwise_bfloat16.hpp"

namespace caffe::kernels {
namespace {

/// A tile instruction names its registers in its text: constants of the template.
#define CAFFE_DOT(name, instruction)                                     \
  template <int sum, int x, int weights>                                 \
  static void name() {                                                   \
    __asm__ volatile(instruction " %%tmm%c[w], %%tmm%c[x], %%tmm%c[sum]" \
                     :                                                   \
                     : [w] "i"(weights), [x] "i"(x), [sum] "i"(sum));    \
  }

struct Tiles {
  static void Configure(const TileConfig& config) {
    __asm__ volatile("ldtilecfg %[config]" : : [config] "m"(config));
  }
  static void Release() { __asm__ volatile("tilerelease"); }
  template <int tile>
  static void Zero() {
    __asm__ volatile("tilezero %%tmm%c[tile]" : : [tile] "i"(tile));
  }
  // What memory they touch the compiler is not told, but that it is memory.
  template <int tile>
  static void Load(const void* base, size_t stride) {
    __asm__ volatile("tileloadd (%[base],%[stride],1), %%tmm%c[tile]"
                     :
                     : [base] "r"(base), [stride] "r"(stride), [tile] "i"(tile)
                     : "memory");
  }
  template <int tile>
  static void Store(void* base, size_t stride) {
    __asm__ volatile("tilestored %%tmm%c[tile], (%[base],%[stride],1)"
                     :
                     : [base] "r"(base), [stride] "r"(stride), [tile] "i"(tile)
                     : "memory");
  }
  /// The 16 cache lines from here on. As one text, or the compiler keeps an address for each line.
  static void Prefetch(const char* memory) {
    __asm__ volatile(
        "prefetcht0 (%[m])\n prefetcht0 64(%[m])\n prefetcht0 128(%[m])\n prefetcht0 192(%[m])\n"
        "prefetcht0 256(%[m])\n prefetcht0 320(%[m])\n prefetcht0 384(%[m])\n"
        "prefetcht0 448(%[m])\n prefetcht0 512(%[m])\n prefetcht0 576(%[m])\n"
        "prefetcht0 640(%[m])\n prefetcht0 704(%[m])\n prefetcht0 768(%[m])\n"
        "prefetcht0 832(%[m])\n prefetcht0 896(%[m])\n prefetcht0 960(%[m])"
        :
        : [m] "r"(memory));
  }
  CAFFE_DOT(DotSigned, "tdpbssd")
  CAFFE_DOT(DotUnsigned, "tdpbusd")
  CAFFE_DOT(DotBFloat16, "tdpbf16ps")
};

#undef CAFFE_DOT

/// Numbers of 16 bits as floats.
template <bool kHalves>
inline __m512 Widened(const uint16_t* x) {
  const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return kHalves ? _mm512_cvtph_ps(numbers)
                 : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16));
}
template <bool kHalves>
inline __m256i Narrowed(__m512 x) {
  return kHalves ? _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT) : (__m256i)_mm512_cvtneps_pbh(x);
}

/// Sums, with a residual that may be null, within bounds, rounded to nearest even.
template <int kVectors, bool kResidual, bool kHalves>
__attribute__((always_inline)) inline void FinishRow(const float* sums, const uint16_t* residual,
                                                     __m512 least, __m512 most, uint16_t* y) {
  __m512 x[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    x[v] = _mm512_loadu_ps(sums + 16 * v);
    if constexpr (kResidual) x[v] = _mm512_add_ps(x[v], Widened<kHalves>(residual + 16 * v));
    // A NaN stays one: the second operand is taken.
    x[v] = _mm512_min_ps(most, _mm512_max_ps(least, x[v]));
  }
  constexpr int kPaired = kHalves ? 0 : kVectors / 2 * 2;
#pragma GCC unroll 2
  for (int v = 0; v < kPaired; v += 2) {
    _mm512_storeu_si512(y + 16 * v, (__m512i)_mm512_cvtne2ps_pbh(x[v + 1], x[v]));
  }
#pragma GCC unroll 4
  for (int v = kPaired; v < kVectors; ++v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 16 * v), Narrowed<kHalves>(x[v]));
  }
}

template <int kVectors, bool kResidual, bool kHalves>
void FinishRowsOf(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  const __m512 least = _mm512_set1_ps(clamp.least), most = _mm512_set1_ps(clamp.most);
  const float* sums = static_cast<const float*>(s.sums);
  for (int i = 0; i < s.rows; ++i, sums += s.pitch) {
    const ptrdiff_t pixel = s.pixels[i];
    if (pixel < 0) continue;
    FinishRow<kVectors, kResidual, kHalves>(sums, clamp.residual + pixel * s.residual_pixel, least,
                                            most, clamp.y + pixel * s.y_pixel);
  }
}

/// Numbers rounded to bfloat16, ties away from zero.
inline __m512 RoundedToUpperBits(__m512 x) {
  const __m512i rounded = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(~0xffff)));
}
/// The upper bits of 32 floats.
inline __m512i UpperBits(__m512 first, __m512 second) {
  alignas(64) static constexpr uint16_t kOdd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                    23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                    45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return _mm512_permutex2var_epi16(_mm512_castps_si512(first), _mm512_load_si512(kOdd),
                                   _mm512_castps_si512(second));
}
/// Both parts of 32 float16 numbers, of which the second is exact.
inline void SplitHalves(__m512i halves, __m512i* high, __m512i* low) {
  const __m512 a = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
  const __m512 b = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
  const __m512 high_a = RoundedToUpperBits(a), high_b = RoundedToUpperBits(b);
  *high = UpperBits(high_a, high_b);
  *low = UpperBits(_mm512_sub_ps(a, high_a), _mm512_sub_ps(b, high_b));
}

/// AmxTiles::split_halves.
inline bool SplitHalves(size_t n, const uint16_t* x, uint16_t* y, size_t plane) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i most = _mm512_setzero_si512(), high, low;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m512i halves = _mm512_loadu_si512(x + i);
    most = _mm512_max_epu16(most, _mm512_and_si512(halves, magnitude));
    SplitHalves(halves, &high, &low);
    _mm512_storeu_si512(y + i, high);
    _mm512_storeu_si512(y + plane + i, low);
  }
  if (i < n) {
    const __mmask32 used = (1u << (n - i)) - 1;
    const __m512i halves = _mm512_maskz_loadu_epi16(used, x + i);
    most = _mm512_max_epu16(most, _mm512_and_si512(halves, magnitude));
    SplitHalves(halves, &high, &low);
    _mm512_mask_storeu_epi16(y + i, used, high);
    _mm512_mask_storeu_epi16(y + plane + i, used, low);
  }
  return _mm512_cmpge_epu16_mask(most, _mm512_set1_epi16(0x7c00)) == 0;
}

/// Splits the first whole vectors of n floats into two or three parts: returns how many numbers.
/// `outside` becomes nonzero if the magnitude of one is neither 0 nor from `least` to `most`.
template <int parts>
inline size_t SplitVectors(size_t n, const float* x, uint32_t least, uint32_t most, uint16_t* y,
                           size_t plane, uint32_t* outside) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const __m512i first = _mm512_set1_epi32(least), range = _mm512_set1_epi32(most - least);
  const auto is_outside = [&](__m512 value) {
    const __m512i bits = _mm512_and_si512(_mm512_castps_si512(value), magnitude);
    return _mm512_mask_cmpgt_epu32_mask(_mm512_test_epi32_mask(bits, bits),
                                        _mm512_sub_epi32(bits, first), range);
  };
  size_t i = 0;
  __mmask16 any = 0;
  for (; i + 32 <= n; i += 32) {
    __m512 a = _mm512_loadu_ps(x + i), b = _mm512_loadu_ps(x + i + 16);
    any = _kor_mask16(any, _kor_mask16(is_outside(a), is_outside(b)));
#pragma GCC unroll 2
    for (int part = 0; part + 1 < parts; ++part) {
      const __m512 high_a = RoundedToUpperBits(a), high_b = RoundedToUpperBits(b);
      _mm512_storeu_si512(y + part * plane + i, UpperBits(high_a, high_b));
      a = _mm512_sub_ps(a, high_a);
      b = _mm512_sub_ps(b, high_b);
    }
    // Of three parts the last one is exact.
    if constexpr (parts == 2) {
      a = RoundedToUpperBits(a);
      b = RoundedToUpperBits(b);
    }
    _mm512_storeu_si512(y + (parts - 1) * plane + i, UpperBits(a, b));
  }
  *outside |= any;
  return i;
}

/// 16 floats as bfloat16, and what they differ from them by.
inline __m256i RoundOff(__m512* x) {
  const __m256i high = (__m256i)_mm512_cvtneps_pbh(*x);
  *x = _mm512_sub_ps(*x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
  return high;
}

/// 16 numbers in parts.
inline void LoadParts(const float* x, __m256i* parts) {
  __m512 rest = _mm512_loadu_ps(x);
  parts[0] = RoundOff(&rest);
  parts[1] = RoundOff(&rest);
  parts[2] = (__m256i)_mm512_cvtneps_pbh(rest);
}
inline void LoadParts(const HalfBits* x, __m256i* parts) {
  __m512 rest = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  parts[0] = RoundOff(&rest);
  parts[1] = (__m256i)_mm512_cvtneps_pbh(rest);
}
inline void LoadParts(const BFloat16Bits* x, __m256i* parts) {
  parts[0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
}

inline void StorePair(uint16_t* y, __m256i first, __m256i second) {
  const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16);
  _mm512_storeu_si512(y, _mm512_or_si512(_mm512_cvtepu16_epi32(first), high));
}

/// AmxTiles::pair_floats, pair_halves and pair_bfloat16.
template <typename T>
void PairPixels(const AmxTiles::PixelPairs& work) {
  constexpr int kParts = sizeof(T) == 4 ? 3 : __is_same(T, HalfBits) ? 2 : 1;
  const auto load = [&](size_t i, __m256i* parts) {
    for (int p = 0; p < kParts; ++p) parts[p] = _mm256_setzero_si256();
    if (work.pixels[i] < 0) return;
    LoadParts(reinterpret_cast<const T*>(static_cast<const char*>(work.x) + work.pixels[i]), parts);
  };
  __m256i first[kParts], second[kParts], before[kParts];
  for (size_t i = 0; i < work.count; i += 2) {
    load(i, first);
    load(i + 1, second);
    for (int p = 0; p < kParts; ++p) {
      const size_t row = p * work.part + i * kTileOutputs;
      if (i + work.others < work.count) StorePair(work.even + row, first[p], second[p]);
      if (work.odd && i > 0) StorePair(work.odd + row - 2 * kTileOutputs, before[p], first[p]);
      before[p] = second[p];
    }
  }
}

/// AmxTiles::transpose_pairs: a matrix of 16 x 16 words of 32 bits. Words of equal place in rows 1,
/// 2, 4 and 8 apart are exchanged in turn.
inline void TransposePairs(const uint16_t* pairs, uint16_t* y, size_t pitch) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(pairs + 2 * kTileOutputs * i);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  // a[4 g + i] has column 4 lane + i of rows 4 g to 4 g + 3, in each lane of 128 bits.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88);      // lanes 0 and 2 of groups 0 and 1
    b[4 + i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd);  // lanes 1 and 3
    b[8 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88);
    b[12 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(y + i * pitch, _mm512_shuffle_i32x4(b[i], b[8 + i], 0x88));
    _mm512_storeu_si512(y + (4 + i) * pitch, _mm512_shuffle_i32x4(b[4 + i], b[12 + i], 0x88));
    _mm512_storeu_si512(y + (8 + i) * pitch, _mm512_shuffle_i32x4(b[i], b[8 + i], 0xdd));
    _mm512_storeu_si512(y + (12 + i) * pitch, _mm512_shuffle_i32x4(b[4 + i], b[12 + i], 0xdd));
  }
}

template <bool kHalves>
void FinishClampedAs(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  if (s.vectors == 2) {
    clamp.residual ? FinishRowsOf<2, true, kHalves>(clamp, s)
                   : FinishRowsOf<2, false, kHalves>(clamp, s);
  } else {
    clamp.residual ? FinishRowsOf<1, true, kHalves>(clamp, s)
                   : FinishRowsOf<1, false, kHalves>(clamp, s);
  }
}
/// AmxTiles::finish_clamped.
inline void FinishClamped(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  clamp.halves ? FinishClampedAs<true>(clamp, s) : FinishClampedAs<false>(clamp, s);
}

template <int K, int S>
constexpr auto kDepthwise = &DepthwisePairs<K, S>;
constexpr auto kDepthwiseWeights = &PairWeights;

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
