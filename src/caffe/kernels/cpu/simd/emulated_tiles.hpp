#ifndef CAFFE_KERNELS_CPU_EMULATED_TILES_HPP_
#define CAFFE_KERNELS_CPU_EMULATED_TILES_HPP_

#include <cstddef>
#include <cstdint>

#include "amx_tiles.hpp"

namespace caffe::kernels {

/// AMX's registers and instructions in software, bit for bit as Intel's manual defines them. Where
/// the processor raises an exception, these throw Error.
class EmulatedTiles {
 public:
  void Configure(const TileConfig& config);  ///< LDTILECFG; zeros the tiles
  void Release();                            ///< TILERELEASE
  void Zero(int tile);                       ///< TILEZERO
  /// TILELOADD and TILESTORED: rows `stride` bytes apart.
  void Load(int tile, const void* base, size_t stride);
  void Store(int tile, void* base, size_t stride) const;
  /// TDPBSSD, TDPBUSD: sum[m][n] += the products of the 4 bytes x[m][k] and w[k][n], all k.
  void DotSigned(int sum, int x, int w) { DotBytes<int8_t>(sum, x, w); }
  void DotUnsigned(int sum, int x, int w) { DotBytes<uint8_t>(sum, x, w); }
  /// TDPBF16PS: products of pairs of bfloat16. Those of the first and of the second elements are
  /// summed separately over all k, from zero, by fused operations; then both sums are added, and
  /// the result to sum[m][n]. Rounds to nearest even and flushes subnormal inputs and results to
  /// zero, whatever the processor's modes.
  void DotBFloat16(int sum, int x, int w);

 private:
  struct Tile {
    uint8_t row[kTileRows][kTileBytes];
  };
  void RequireTile(int tile) const;
  void RequireProduct(int sum, int x, int w) const;
  template <typename X>
  void DotBytes(int sum, int x, int w);

  bool configured_ = false;
  TileConfig config_;
  Tile tiles_[8];
};

/// AmxTiles::split_halves.
bool EmulateSplitHalves(size_t n, const uint16_t* x, uint16_t* y, size_t plane);
/// AmxTiles::pair_floats, pair_halves and pair_bfloat16: of pixels of the last argument's type.
void EmulatePairPixels(const AmxTiles::PixelPairs& work, float);
void EmulatePairPixels(const AmxTiles::PixelPairs& work, HalfBits);
void EmulatePairPixels(const AmxTiles::PixelPairs& work, BFloat16Bits);
/// AmxTiles::transpose_pairs.
void EmulateTransposePairs(const uint16_t* pairs, uint16_t* y, size_t pitch);
/// AmxTiles::finish_clamped.
void EmulateFinishClamped(const AmxTiles::ClampedPixels& clamp, const PixelSums& sums);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_EMULATED_TILES_HPP_
