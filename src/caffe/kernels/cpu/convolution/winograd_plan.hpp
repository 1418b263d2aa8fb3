#ifndef CAFFE_KERNELS_CPU_WINOGRAD_PLAN_HPP_
#define CAFFE_KERNELS_CPU_WINOGRAD_PLAN_HPP_

#include <algorithm>
#include <cstddef>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/winograd.hpp"
#include "winograd_loops.hpp"

// Shared by Winograd's convolutions and their gradients.
namespace caffe::kernels {

constexpr size_t kMaxSlice = 128;                   // channels
constexpr size_t kMaxSlicePoints = 36 * kMaxSlice;  // points of all its channels
/// Neighbouring points lie an odd number of lines apart: 36 points whole pages apart would map to
/// the same L1 cache sets and evict each other.
inline size_t PointStride(size_t n) {
  constexpr size_t kLine = 16;  // floats of a cache line
  return (CeilDiv(n, kLine) | 1) * kLine;
}

inline const WinogradLoops& LoopsFor(const WinogradKernels& kernels, const WinogradShape& s) {
  if (s.kernel == 5) return s.tile == 4 ? kernels.f45 : kernels.f25;
  return s.tile == 4 ? kernels.f43 : kernels.f23;
}

inline size_t Taps(const WinogradShape& s) { return size_t(s.kernel) * s.kernel; }

/// What depends on the shape only; `g` has the strides of images without gaps.
struct WinogradPlan {
  WinogradPlan(const WinogradShape& s, size_t max_scratch)
      : kernels(ChosenWinograd(s.block)), loops(LoopsFor(kernels, s)) {
    Require(s.block == 8 || s.block == 16, "Winograd: blocks of ", s.block, " channels; 8 or 16");
    Require(s.kernel == 3 || s.kernel == 5, "Winograd: kernels of ", s.kernel, "; 3 or 5");
    Require(s.tile == 4 || s.tile == 2, "Winograd: tiles of ", s.tile, "; 4 or 2");
    Require(s.num >= 0 && s.channels > 0 && s.outputs > 0, "Winograd: ", s.num, " images, ",
            s.channels, " channels, ", s.outputs, " outputs");
    const int unit = s.groups * s.block;
    Require(s.groups == 1 || (s.groups > 1 && s.channels % unit == 0 && s.outputs % unit == 0),
            "Winograd: ", s.groups, " groups that are not whole blocks of ", s.block, " channels");
    Require(s.pad_h >= 0 && s.pad_h < s.kernel && s.pad_w >= 0 && s.pad_w < s.kernel,
            "Winograd: pad ", s.pad_h, " x ", s.pad_w, "; 0 to ", s.kernel - 1);
    Require(s.height > 0 && s.width > 0 && s.output_height() > 0 && s.output_width() > 0,
            "Winograd: an input of ", s.height, " x ", s.width, " is smaller than the kernel");
    g.channels = s.channels / s.groups;
    g.outputs = s.outputs / s.groups;
    g.block = s.block;
    g.height = s.height;
    g.width = s.width;
    g.output_height = s.output_height();
    g.output_width = s.output_width();
    g.pad_h = s.pad_h;
    g.pad_w = s.pad_w;
    g.tiles_y = CeilDiv(g.output_height, s.tile);
    g.tiles_x = CeilDiv(g.output_width, s.tile);
    g.depth = RoundUp(g.channels, kernels.lanes);
    const size_t side = s.tile + s.kernel - 1;
    points = side * side;
    taps = Taps(s);
    pair = 2 * kernels.lanes;
    // Half of the scratch memory is for the weights of a slice, if they fit.
    const size_t fitting = max_scratch / 2 / (points * pair * sizeof(float));
    const size_t wanted = std::min({fitting, kMaxSlice, kMaxSlicePoints / points});
    const size_t most = std::max(wanted / kernels.lanes, size_t(1)) * kernels.lanes;
    slices = CeilDiv(g.depth, most);
    g.slice = RoundUp(CeilDiv(g.depth, slices), kernels.lanes);
    tiles = s.num * g.tiles_y * g.tiles_x;
    padded_outputs = RoundUp(g.outputs, s.block);
    input = {RoundUp(s.channels, s.block), size_t(g.height) * g.width};
    output = {RoundUp(s.outputs, s.block), size_t(g.output_height) * g.output_width};
    SetStrides({}, /*has_residual=*/false);
    output_panels = CeilDiv(padded_outputs, pair);
    weights_stride = PointStride(g.slice * pair);
  }

  void SetStrides(const ImageStrides& given, bool has_residual) {
    Require(given.x_pixel == 0 && given.y_pixel == 0 && given.residual_pixel == 0,
            "Winograd: channels last; only channels in blocks");
    const ImageStrides strides = WithoutZeros(given, input, output, g.block, has_residual);
    g.x_image = strides.x;
    g.y_image = strides.y;
    g.residual_image = strides.residual;
  }
  /// The same for images in other places.
  WinogradPlan At(const ImageStrides& strides, bool has_residual) const {
    WinogradPlan plan = *this;
    plan.SetStrides(strides, has_residual);
    return plan;
  }

  /// 1 if the second vector of the panel has no outputs.
  size_t vectors(size_t output_panel) const {
    return output_panel * pair + kernels.lanes < padded_outputs ? 2 : 1;
  }
  /// Floats of a slice of the transformed weights of an output panel.
  size_t slice_weights() const { return points * weights_stride; }

  // Floats of the transformed input and of the sums of `strip_tiles` tiles.
  size_t input_stride(size_t strip_tiles) const {
    return PointStride(TilePanels(strip_tiles) * kernels.panel * g.depth);
  }
  size_t sums_stride(size_t strip_tiles) const { return PointStride(strip_tiles * pair); }

  size_t TilePanels(size_t strip_tiles) const { return CeilDiv(strip_tiles, kernels.panel); }

  WinogradGeometry g;
  ImageSize input, output;
  const WinogradKernels& kernels;
  const WinogradLoops& loops;
  size_t tiles, points, taps, slices;
  size_t pair;                           // outputs of a panel
  size_t padded_outputs, output_panels;  // whole blocks of outputs, and their panels
  size_t weights_stride;                 // between the points of slice_weights()
};

// Cycles of one AVX2 core, fitted to winograd_benchmark and a grid of smaller shapes: two vectors
// of products per cycle at 87% of the peak; with 36 points, transforming inputs costs 25 cycles per
// tile and channel. Both algorithms gain equally from wider vectors and more threads.
/// True if Winograd's algorithm takes less time than a direct one by a tenth. `pair`: what
/// transforming weights, or their gradient, costs for a channel and an output with 36 points;
/// `direct_speed`: as for WinogradPays.
inline bool TakesLessTime(const WinogradPlan& s, const WinogradShape& shape, double pair,
                          double direct_speed) {
  constexpr double kProduct = 1 / (16 * 0.87), kTransforms = 25. / 36;
  constexpr double kStart = 10000, kMargin = 1.1;
  const double outputs = s.padded_outputs, tiles = s.tiles;
  const double channels = RoundUp(s.g.channels, shape.block);
  // Direct convolutions have special kernels for images with three channels.
  const double direct_channels = shape.channels < shape.block ? shape.channels : channels;
  const double positions = double(shape.num) * s.g.output_height * s.g.output_width;
  const double direct = s.taps * kProduct * positions * direct_channels * outputs / direct_speed;
  const double winograd = s.points * ((kProduct * tiles + pair / 36) * s.g.channels * outputs +
                                      kTransforms * tiles * (channels + outputs)) +
                          kStart;
  return kMargin * winograd < direct;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_WINOGRAD_PLAN_HPP_
