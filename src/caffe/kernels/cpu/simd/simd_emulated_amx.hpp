#ifndef CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_
#define CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_

// For amx_tiles.inc: AMX's instructions in software.
#include "emulated_tiles.hpp"

namespace caffe::kernels {
namespace {

struct Tiles {
  static EmulatedTiles& Own() {  // each thread has registers of its own
    static thread_local EmulatedTiles tiles;
    return tiles;
  }
  static void Configure(const TileConfig& config) { Own().Configure(config); }
  static void Release() { Own().Release(); }
  template <int tile>
  static void Zero() {
    Own().Zero(tile);
  }
  template <int tile>
  static void Load(const void* base, size_t stride) {
    Own().Load(tile, base, stride);
  }
  template <int tile>
  static void Store(void* base, size_t stride) {
    Own().Store(tile, base, stride);
  }
  static void Prefetch(const char*) {}
  template <int sum, int x, int weights>
  static void DotSigned() {
    Own().DotSigned(sum, x, weights);
  }
  template <int sum, int x, int weights>
  static void DotUnsigned() {
    Own().DotUnsigned(sum, x, weights);
  }
  template <int sum, int x, int weights>
  static void DotBFloat16() {
    Own().DotBFloat16(sum, x, weights);
  }
};

/// AmxTiles::split_halves.
inline bool SplitHalves(size_t n, const uint16_t* x, uint16_t* y, size_t plane) {
  return EmulateSplitHalves(n, x, y, plane);
}

/// AmxTiles::pair_floats, pair_halves and pair_bfloat16.
template <typename T>
void PairPixels(const AmxTiles::PixelPairs& work) {
  EmulatePairPixels(work, T());
}

/// AmxTiles::transpose_pairs.
inline void TransposePairs(const uint16_t* pairs, uint16_t* y, size_t pitch) {
  EmulateTransposePairs(pairs, y, pitch);
}

/// There are no vectors.
template <int parts>
inline size_t SplitVectors(size_t, const float*, uint32_t, uint32_t, uint16_t*, size_t, uint32_t*) {
  return 0;
}

/// AmxTiles::finish_clamped.
inline void FinishClamped(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  EmulateFinishClamped(clamp, s);
}

template <int K, int S>
constexpr decltype(nullptr) kDepthwise = nullptr;
constexpr decltype(nullptr) kDepthwiseWeights = nullptr;

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_
