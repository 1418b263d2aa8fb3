#ifndef CAFFE_KERNELS_CPU_WINOGRAD_LOOPS_HPP_
#define CAFFE_KERNELS_CPU_WINOGRAD_LOOPS_HPP_

#include <stddef.h>
#include <stdint.h>

#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"

// The serial parts of winograd.cpp, compiled once per instruction set (winograd_loops.inc).
//
// Names: F(m, r) computes m outputs per side with kernels of r. A *point* is one of the
// (m + r - 1)^2 positions of a transformed tile; each point has its own matrix product,
// [tiles x channels] x [channels x outputs]. *Lanes* are the floats of a vector; an *output panel*
// has 2 vectors of output channels, a *tile panel* up to `panel` tiles, whose sums fit the
// registers. A *slice* is the channels that are multiplied at a time: the transformed weights of a
// slice and an output panel stay in the L2 cache, those of one point in the L1 cache.
namespace caffe::kernels {

struct WinogradGeometry {
  size_t channels, outputs, block;
  size_t height, width, output_height, output_width;
  size_t x_image, y_image, residual_image;  ///< elements from one image to the next
  size_t pad_h, pad_w;
  size_t tiles_y, tiles_x;  ///< of an image
  size_t depth;             ///< channels rounded up to whole vectors
  size_t slice;             ///< channels of a slice, in whole vectors; the last may have fewer
};

/// Tiles first, first + 1, ... of all tiles (num, tiles_y, tiles_x), cut into equal panels.
struct WinogradStrip {
  size_t first, tiles, panels;
  size_t begin(size_t panel) const { return tiles * panel / panels; }
};

/// y = the sum with bias and residual, times `slope` or slopes[lane] if negative, then clamped to
/// [least, most], then `smooth` of that.
struct WinogradPostOps {
  const float* bias;     ///< of the output panel, one per lane
  const void* residual;  ///< as y, or null
  float slope, least, most;
  const float* slopes;       ///< of the output panel, or null
  const Activation* smooth;  ///< an activation with an exponential, or null
};

/// The loops of one F(m, r), for each Storage.
struct WinogradLoops {
  /// v[point * stride + ...] = the transformed tiles of the panels [panel_begin, panel_end),
  /// channels [channel_begin, channel_end) (whole vectors), in the order (slice, panel, vector of
  /// channels, tile, lane).
  void (*input[STORAGES])(const WinogradGeometry& g, const WinogradStrip& strip, const void* x,
                          size_t panel_begin, size_t panel_end, size_t channel_begin,
                          size_t channel_end, float* v, size_t stride);
  /// u[point * stride + ...] = the transformed weights of an output panel for the channels
  /// [channel_begin, channel_end), in the order (channel, lane of 2 vectors).
  void (*weights[STORAGES])(const WinogradGeometry& g, const void* packed, size_t output_panel,
                            size_t channel_begin, size_t channel_end, float* u, size_t stride);
  /// y = the outputs, with `writing` applied, of the transformed sums m[point * stride + ...] of
  /// the tiles [tile_begin, tile_end) of the strip, in the order (tile, lane of 2 vectors). False
  /// if a sum is not finite.
  bool (*output[STORAGES])(const WinogradGeometry& g, const WinogradStrip& strip, size_t tile_begin,
                           size_t tile_end, const float* m, size_t stride, size_t output_panel,
                           const WinogradPostOps& writing, void* y);

  /// As `input` for the gradients of the outputs [output_begin, output_end) (whole vectors), in the
  /// order (panel, vector of outputs, tile, lane). sums[output] += the sums of the gradients.
  void (*output_gradient[STORAGES])(const WinogradGeometry& g, const WinogradStrip& strip,
                                    const void* dy, size_t output_begin, size_t output_end,
                                    float* v, size_t stride, float* sums);
  /// d_weights += the gradients of kernels from the sums m[point * stride + ...], in the order
  /// (row, lane of `vectors` vectors): rows are channels, lanes outputs, of which there are
  /// `outputs`; d_weights: (output, row, kernel^2), `pitch` elements from one output to the next.
  void (*weights_gradient)(const float* m, size_t stride, size_t rows, size_t vectors,
                           size_t outputs, size_t pitch, float* d_weights);
};

struct WinogradKernels {
  size_t lanes;  ///< floats of a vector
  size_t panel;  ///< tiles of a tile panel, at most
  WinogradLoops f43, f23, f45, f25;
  /// One point's product over the channels of a slice: m (tile, lane of 2
  /// vectors) = or += v times u for the panels [panel_begin, panel_end) of the strip; v and m point
  /// to panel 0. `vectors`: 1 if there are no outputs in the second vector.
  void (*multiply)(const WinogradStrip& strip, size_t panel_begin, size_t panel_end,
                   size_t channels, const float* v, const float* u, size_t vectors, bool accumulate,
                   float* m);
  /// One point's product over the tiles of a strip: m (row, lane of `vectors` vectors) = or += v
  /// transposed times y. v points to a vector of channels, `rows` of which are multiplied, y to the
  /// first of 1 to 3 vectors of outputs, in panel 0; the next panel's lie v_panel and y_panel
  /// later. m has room for a whole vector of rows.
  void (*multiply_gradient)(const WinogradStrip& strip, const float* v, size_t v_panel,
                            const float* y, size_t y_panel, size_t rows, size_t vectors,
                            bool accumulate, float* m);
};

/// The kernels of the instruction set in use, for blocks of `block` channels.
const WinogradKernels& ChosenWinograd(int block);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_WINOGRAD_LOOPS_HPP_
