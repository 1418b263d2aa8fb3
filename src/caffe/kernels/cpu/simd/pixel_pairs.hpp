#ifndef CAFFE_KERNELS_CPU_PIXEL_PAIRS_HPP_
#define CAFFE_KERNELS_CPU_PIXEL_PAIRS_HPP_

#include "tile_pairs.hpp"

// What gradients in tiles share: both operands are made of rows of numbers (pixels) in memory.
namespace caffe::kernels {

constexpr size_t kStepPixels = kTileBytes / sizeof(uint16_t);  ///< bfloat16 of a row of a tile

/// AmxTiles::pair_floats, pair_halves or pair_bfloat16.
inline void PairPixels(const AmxTiles& amx, Storage storage, const AmxTiles::PixelPairs& pairs) {
  const auto pair = storage == STORED_FLOAT  ? amx.pair_floats
                    : storage == STORED_HALF ? amx.pair_halves
                                             : amx.pair_bfloat16;
  pair(pairs);
}

/// y (part, 16 lanes, 32 pixels): 16 numbers of each of 32 pixels in parts, whose rows are `pitch`
/// elements apart. `pixels`: as PixelPairs has them.
inline void TransposePixels(const AmxTiles& amx, Storage storage, const void* x,
                            const ptrdiff_t* pixels, uint16_t* y, size_t pitch, size_t part) {
  constexpr size_t kTile = kTileRows * kStepPixels;
  alignas(64) uint16_t in_pairs[kMaxTileParts * kTile];
  PairPixels(amx, storage, {x, pixels, kStepPixels, in_pairs, nullptr, kTile});
  for (int i = 0; i < TileParts(storage); ++i) {
    amx.transpose_pairs(in_pairs + i * kTile, y + i * part, pitch);
  }
}

/// For tiles of 16 rows and 16 columns, which sum these products of parts.
inline AmxTiles::Work WholeTiles(const TilePairs& pairs) {
  AmxTiles::Work work = {};
  work.rows = kTileRows;
  work.width = kTileOutputs;
  work.pairs = pairs.data();
  work.pairs_count = pairs.size();
  return work;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PIXEL_PAIRS_HPP_
