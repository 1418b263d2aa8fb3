#ifndef CAFFE_KERNELS_CPU_PACKED_TILES_HPP_
#define CAFFE_KERNELS_CPU_PACKED_TILES_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/cpu/convolution/depthwise_row.hpp"
#include "caffe/kernels/cpu/convolution/window_row.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"
#include "caffe/kernels/cpu/simd/pixel_sums.hpp"

namespace caffe::kernels {

constexpr int kMaxVectors = 4;
constexpr int kMaxPixels = 12;
constexpr int kMaxStreamed = 3;

/// Kernels compiled once per instruction set (packed_tiles.inc).
struct PackedTiles {
  /// Sums over steps s and channels k, of pixels p and of V vectors v of `block` lanes each:
  /// sum[p][v] = start[p][v] + the sum of weights[s][k][v] x[windows[p] + steps[s] + k].
  struct Work {
    const float* x;
    const int32_t* steps;  ///< where each step begins in a window
    int steps_count;
    const int32_t* windows;  ///< where each pixel's window begins in x
    const float* weights;    ///< (steps, channels of a step, V, block)
    const void* stored;      ///< the same as stored, for `stored_blocked` and `streamed`
    const float* bias;       ///< (V, block): where sums start in the first part
    float* partial;          ///< (pixels, V, block): sums of the previous parts
    bool first, last;        ///< the last part writes to y, others to partial
    const Activation* activation;
    const float* slopes;             ///< (V, block), of PRELU
    const void* residual;            ///< of the first block of outputs, as y; or null
    void* y;                         ///< of the first block of outputs
    Storage storage;                 ///< of both
    const size_t* targets;           ///< where in y each pixel lies
    const size_t* residual_targets;  ///< and in the residual
    size_t plane;                    ///< elements of y from one block of outputs to the next
  };
  /// Computes `tiles` tiles of P pixels, from pixel `first` on; a tile's sums are kept in
  /// registers.
  using Function = void(const Work&, int first, int tiles);

  int block;                ///< lanes of a vector: channels of a block
  int vectors;              ///< how many the registers hold
  int pixels[kMaxVectors];  ///< how many fit with V vectors, at [V - 1]
  // For tiles of P pixels and V vectors, at [V - 1][P - 1].
  Function* blocked[kMaxVectors][kMaxPixels];  ///< steps of `block` channels
  Function* plain[kMaxVectors][kMaxPixels];    ///< steps of one channel
  /// A row of pixels of one vector, in which each lane has its own input: windows in x are `pace`
  /// blocks apart, from `window` on, and weights are (steps, block). The first pixel is that of
  /// targets[first].
  void (*depthwise_row)(const Work&, int window, int first, int pixels, int pace);
  // From here on, one function per Storage.
  /// A row of outputs, the first of which is pixel `first` of y and of the residual: for channels
  /// in blocks and channels last, kernels of 3 and 5 columns, strides 1 and 2. Weights come from
  /// the row.
  void (*depthwise_direct[STORAGES][2][2][2])(const Work&, const DepthwiseRow& row, size_t first);
  /// As `blocked`, with weights that each tile widens while it reads them; null for floats.
  Function* stored_blocked[STORAGES][kMaxVectors][kMaxPixels];
  /// As `blocked`, for contiguous windows (steps are not read) and all channels at a time, with
  /// weights that are widened while they are read. Null where that gains nothing.
  Function* streamed[STORAGES][kMaxVectors][kMaxStreamed];
  /// y = the blocks at x, x + step blocks, x + 2 step blocks, ...
  void (*widen_blocks[STORAGES])(size_t blocks, size_t step, const void* x, float* y);
  /// The same for single numbers.
  void (*widen[STORAGES])(size_t n, size_t step, const void* x, float* y);
  /// y = the maximum of each window, ignoring NaNs.
  void (*max_windows[STORAGES])(const WindowRow& windows, const void* x, void* y);
  /// y = the sum of a window divided by `size`.
  void (*average_window[STORAGES])(const PoolingWindow& window, float size, const void* x, void* y);
  /// Writes sums with the residual and the activation of a Work: y and the residual are those of
  /// pixel 0 and the first vector.
  void (*finish_pixels)(const Work&, const PixelSums& sums);
  /// Multiplies and adds floats in registers alone, as `blocked` does at most; returns how many
  /// products `steps` steps have.
  double (*multiply_registers)(int64_t steps);
};

/// The kernels of the instruction set in use.
const PackedTiles& ChosenPackedTiles();

/// n numbers as floats: x itself, or widened into `wide`.
inline const float* Widened(Storage storage, size_t n, const void* x, float* wide) {
  if (storage == STORED_FLOAT) return static_cast<const float*>(x);
  ChosenPackedTiles().widen[storage](n, 1, x, wide);
  return wide;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PACKED_TILES_HPP_
