#ifndef CAFFE_KERNELS_CPU_PAIR_TILES_HPP_
#define CAFFE_KERNELS_CPU_PAIR_TILES_HPP_

#include <cstddef>
#include <cstdint>

#include "packed_tiles.hpp"

namespace caffe::kernels {

/// Sums of products of bfloat16 numbers, two at a time, compiled for instruction sets that have
/// such an instruction, and in plain C++ (pair_tiles.inc).
struct PairTiles {
  /// As PackedTiles::Work, with neither `x` nor `weights`, `partial`, `first` and `last`: all steps
  /// are summed at once.
  struct Work : PackedTiles::Work {
    const uint16_t* numbers;  ///< in place of x: of neighbouring channels in pairs
    const uint16_t* pairs;    ///< in place of the weights: (steps, pairs of a step, V, block, 2)
  };
  using Function = void(const Work&, int first, int tiles);

  int vectors;              ///< how many the registers hold
  int pixels[kMaxVectors];  ///< how many fit with V vectors, at [V - 1]
  // For tiles of P pixels and V vectors, at [V - 1][P - 1].
  Function* blocked[kMaxVectors][kMaxPixels];  ///< steps of a block of channels
  Function* of_four[kMaxVectors][kMaxPixels];  ///< steps of 4 channels
  Function* of_two[kMaxVectors][kMaxPixels];   ///< steps of 2
  /// As PackedTiles::depthwise_direct of BFLOAT16, of outputs of that type.
  void (*depthwise_direct[2][2][2])(const PackedTiles::Work&, const DepthwiseRow& row,
                                    size_t first);
  /// y = n pixels of `lanes` (2 or 4) channels, rounded, of planes of which only the first
  /// `channels` are there; zeros for the others.
  void (*interleave)(size_t n, int lanes, int channels, const float* const* planes, uint16_t* y);
};

/// Those of the instruction set in use; null where it has none.
const PairTiles* ChosenPairTiles();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PAIR_TILES_HPP_
