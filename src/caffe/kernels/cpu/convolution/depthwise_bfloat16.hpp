#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_BFLOAT16_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_BFLOAT16_HPP_

// Part of simd_amx.hpp: depthwise convolutions of bfloat16 with channels last, 32 channels at a
// time.
//
// A bfloat16 is the upper half of a float. So one load of 32 channels gives two vectors of floats
// by a shift and a mask: those at even and those at odd places, which are apart until they are
// written as one cache line.
#include <immintrin.h>

#include "caffe/kernels/cpu/convolution/depthwise_row.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"

namespace caffe::kernels {
namespace {

#define CAFFE_INLINE __attribute__((always_inline)) inline

constexpr int kDepthwisePixels = 7;  // summed at a time; divides the widths of most images

struct EvenOdd {
  __m512 even, odd;
};
CAFFE_INLINE EvenOdd Apart(__m512i pairs) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(int(0xffff0000u))))};
}
/// 32 channels; or 16 and zeros.
template <bool kWhole>
CAFFE_INLINE EvenOdd LoadPairs(const uint16_t* x) {
  if constexpr (kWhole) return Apart(_mm512_loadu_si512(x));
  return Apart(_mm512_maskz_loadu_epi32(0xff, x));
}
template <bool kWhole>
CAFFE_INLINE void StorePairs(__m512i pairs, uint16_t* y) {
  if constexpr (kWhole) {
    _mm512_storeu_si512(y, pairs);
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(pairs));
  }
}

/// Adds the products of an input row with a row of the kernel. kInside: all windows are in the
/// image.
template <int K, int S, bool kWhole, bool kInside>
CAFFE_INLINE void AddInputRow(const DepthwiseRow& row, const uint16_t* x, const float* weights,
                              int column, EvenOdd (&sums)[kDepthwisePixels]) {
  EvenOdd w[K];
#pragma GCC unroll 5
  for (int k = 0; k < K; ++k) {
    w[k] = {_mm512_loadu_ps(weights + 32 * k), _mm512_loadu_ps(weights + 32 * k + 16)};
  }
  const ptrdiff_t pitch = static_cast<ptrdiff_t>(row.x_pixel);
  ptrdiff_t at = column * pitch;
#pragma GCC unroll 20
  for (int c = 0; c < (kDepthwisePixels - 1) * S + K; ++c, at += pitch) {
    if (!kInside && static_cast<unsigned>(column + c) >= static_cast<unsigned>(row.width)) continue;
    const EvenOdd value = LoadPairs<kWhole>(x + at);
#pragma GCC unroll 5
    for (int k = 0; k < K; ++k) {
      const int p = (c - k) / S;
      if (c < k || (c - k) % S != 0 || p >= kDepthwisePixels) continue;
      sums[p].even = _mm512_fmadd_ps(w[k].even, value.even, sums[p].even);
      sums[p].odd = _mm512_fmadd_ps(w[k].odd, value.odd, sums[p].odd);
    }
  }
}

template <int K, int S, bool kWhole, bool kInside>
CAFFE_INLINE void AddWindows(const DepthwiseRow& row, int column,
                             EvenOdd (&sums)[kDepthwisePixels]) {
  const float* weights = static_cast<const float*>(row.weights);
  for (int r = 0; r < row.kernel_rows; ++r, weights += K * 32) {
    const uint16_t* x = static_cast<const uint16_t*>(row.rows[r]);
    if (x) AddInputRow<K, S, kWhole, kInside>(row, x, weights, column, sums);
  }
}

/// Writes the first `count` sums, from pixel `first` of y on.
template <bool kWhole, bool kResidual>
CAFFE_INLINE void WritePairs(const AmxTiles::DepthwiseTarget& target, const DepthwiseRow& row,
                             size_t first, int count, const EvenOdd (&sums)[kDepthwisePixels]) {
  const __m512 least = _mm512_set1_ps(target.clamp.least);
  const __m512 most = _mm512_set1_ps(target.clamp.most);
  // A NaN stays one: the second operand is taken.
  const auto clamped = [&](const __m512& x) __attribute__((always_inline)) {
    return _mm512_min_ps(most, _mm512_max_ps(least, x));
  };
  const __m512i together =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  uint16_t* y = target.clamp.y + first * row.y_pixel;
  const uint16_t* residual = target.clamp.residual + (kResidual ? first * row.residual_pixel : 0);
#pragma GCC unroll 7
  for (int p = 0; p < kDepthwisePixels; ++p) {
    if (p >= count) return;
    EvenOdd sum = sums[p];
    if constexpr (kResidual) {
      const EvenOdd own = LoadPairs<kWhole>(residual + p * row.residual_pixel);
      sum = {_mm512_add_ps(sum.even, own.even), _mm512_add_ps(sum.odd, own.odd)};
    }
    const __m512i narrow = (__m512i)_mm512_cvtne2ps_pbh(clamped(sum.odd), clamped(sum.even));
    StorePairs<kWhole>(_mm512_permutexvar_epi16(together, narrow), y + p * row.y_pixel);
  }
}

template <int K, int S, bool kWhole, bool kResidual>
void DepthwiseRowOf(const AmxTiles::DepthwiseTarget& target, const DepthwiseRow& row,
                    size_t first) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512 bias = _mm512_loadu_ps(target.bias);
  const __m512 next = kWhole ? _mm512_loadu_ps(target.bias + 16) : _mm512_setzero_ps();
  const EvenOdd start = {
      _mm512_permutex2var_ps(bias, even, next),
      _mm512_permutex2var_ps(bias, _mm512_or_si512(even, _mm512_set1_epi32(1)), next)};
  for (int pixel = 0; pixel < row.pixels; pixel += kDepthwisePixels) {
    const int column = pixel * S - row.pad, left = row.pixels - pixel;
    EvenOdd sums[kDepthwisePixels];
#pragma GCC unroll 7
    for (int p = 0; p < kDepthwisePixels; ++p) sums[p] = start;
    if (column >= 0 && column + (kDepthwisePixels - 1) * S + K <= row.width) {
      AddWindows<K, S, kWhole, true>(row, column, sums);
    } else {
      AddWindows<K, S, kWhole, false>(row, column, sums);
    }
    WritePairs<kWhole, kResidual>(target, row, first + pixel, left, sums);
  }
}

/// AmxTiles::depthwise.
template <int K, int S>
void DepthwisePairs(const AmxTiles::DepthwiseTarget& target, const DepthwiseRow& row,
                    size_t first) {
  const bool is_whole = target.channels == 32;
  if (target.clamp.residual) {
    is_whole ? DepthwiseRowOf<K, S, true, true>(target, row, first)
             : DepthwiseRowOf<K, S, false, true>(target, row, first);
  } else {
    is_whole ? DepthwiseRowOf<K, S, true, false>(target, row, first)
             : DepthwiseRowOf<K, S, false, false>(target, row, first);
  }
}

/// AmxTiles::depthwise_weights.
inline void PairWeights(size_t taps, const uint16_t* first, const uint16_t* second, float* y) {
  const auto load = [](const uint16_t* x) __attribute__((always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  };
  for (size_t tap = 0; tap < taps; ++tap, y += 32) {
    const __m256i rest = second ? load(second + tap * 16) : _mm256_setzero_si256();
    const EvenOdd w =
        Apart(_mm512_inserti64x4(_mm512_castsi256_si512(load(first + tap * 16)), rest, 1));
    _mm512_storeu_ps(y, w.even);
    _mm512_storeu_ps(y + 16, w.odd);
  }
}

#undef CAFFE_INLINE

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_BFLOAT16_HPP_
