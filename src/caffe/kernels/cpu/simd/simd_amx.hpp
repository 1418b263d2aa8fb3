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

/// Sums, with a residual that may be null, within bounds: as bfloat16, rounded to nearest even;
/// subnormal ones become zero.
template <int kVectors, bool kResidual>
__attribute__((always_inline)) inline void FinishRow(const float* sums, const uint16_t* residual,
                                                     __m512 least, __m512 most, uint16_t* y) {
  __m512 x[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    x[v] = _mm512_loadu_ps(sums + 16 * v);
    if constexpr (kResidual) {
      const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(residual + 16 * v));
      x[v] = _mm512_add_ps(x[v],
                           _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16)));
    }
    // A NaN stays one: the second operand is taken.
    x[v] = _mm512_min_ps(most, _mm512_max_ps(least, x[v]));
  }
#pragma GCC unroll 2
  for (int v = 0; v + 1 < kVectors; v += 2) {
    _mm512_storeu_si512(y + 16 * v, (__m512i)_mm512_cvtne2ps_pbh(x[v + 1], x[v]));
  }
  if constexpr (kVectors % 2 == 1) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 16 * (kVectors - 1)),
                        (__m256i)_mm512_cvtneps_pbh(x[kVectors - 1]));
  }
}

template <int kVectors, bool kResidual>
void FinishRowsOf(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  const __m512 least = _mm512_set1_ps(clamp.least), most = _mm512_set1_ps(clamp.most);
  const float* sums = static_cast<const float*>(s.sums);
  for (int i = 0; i < s.rows; ++i, sums += s.pitch) {
    const ptrdiff_t pixel = s.pixels[i];
    if (pixel < 0) continue;
    FinishRow<kVectors, kResidual>(sums, clamp.residual + pixel * s.residual_pixel, least, most,
                                   clamp.y + pixel * s.y_pixel);
  }
}
/// AmxTiles::split_halves.
inline bool SplitHalves(size_t n, const uint16_t* x, uint16_t* y, size_t plane) {
  const __m256i magnitude = _mm256_set1_epi16(0x7fff);
  __m256i most = _mm256_setzero_si256();
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 used = n - i < 16 ? __mmask16((1u << (n - i)) - 1) : __mmask16(0xffff);
    const __m256i halves = _mm256_maskz_loadu_epi16(used, x + i);
    most = _mm256_max_epu16(most, _mm256_and_si256(halves, magnitude));
    const __m512 value = _mm512_cvtph_ps(halves);
    const __m256i high = (__m256i)_mm512_cvtneps_pbh(value);
    const __m512 rest = _mm512_sub_ps(
        value, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    _mm256_mask_storeu_epi16(y + i, used, high);
    _mm256_mask_storeu_epi16(y + plane + i, used, (__m256i)_mm512_cvtneps_pbh(rest));
  }
  return _mm256_cmpge_epu16_mask(most, _mm256_set1_epi16(0x7c00)) == 0;
}

/// AmxTiles::finish_bfloat16.
inline void FinishBFloat16(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  if (s.vectors == 2) {
    clamp.residual ? FinishRowsOf<2, true>(clamp, s) : FinishRowsOf<2, false>(clamp, s);
  } else {
    clamp.residual ? FinishRowsOf<1, true>(clamp, s) : FinishRowsOf<1, false>(clamp, s);
  }
}

template <int K, int S>
constexpr auto kDepthwise = &DepthwisePairs<K, S>;
constexpr auto kDepthwiseWeights = &PairWeights;

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
