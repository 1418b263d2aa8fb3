#ifndef CAFFE_KERNELS_WINOGRAD_HPP_
#define CAFFE_KERNELS_WINOGRAD_HPP_

#include <cstddef>
#include <memory>

#include "caffe/element_type.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/post_ops.hpp"

// Convolution with 3x3 or 5x5 kernels, stride 1, dilation 1, by Winograd's algorithm
// (Lavin and Gray, 2015): F(m x m, r x r) takes (m + r - 1)^2 products for m x m outputs instead of
// r^2 m^2: for m = 4, a quarter with r = 3 and 0.16 with r = 5; for m = 2, 0.44 and 0.36.
//
// Images are arrays (num, ceil(channels / block), height, width, block); the padding past the last
// channel must be zero in the input and the residual, and is zero in the output. X, W, Y: float,
// float16 or bfloat16, in any combination; arithmetic is float.
//
// Error. A tile is the m x m outputs and the (m + r - 1)^2 inputs that belong together. With F =
// sum over c of (the largest |x| of the tile in channel c) * (the sum of |w| over the kernel),
// before rounding to Y:
//     |error| <= k * 2^-24 * F   (WinogradErrorBound).
// The tests verify this for random data with a margin of two. One channel is the worst case; for 64
// and more, k is that for many channels, and 4 for direct sums. No data whatever exceeds the last
// column's bound. Note that the bound is per tile: near a large input, small outputs lose digits.
//
//     m  r    k   k, many channels   k, any data
//     2  3   16          3           16 (channels + 25)
//     4  3   64          3           176 (channels + 25)
//     2  5   64          3           176 (channels + 29)
//     4  5  256          8           1565 (channels + 35)
//
// Infinities and NaNs. One in the input makes all outputs of its tiles NaN, one in the weights a
// whole channel, and finite inputs above 1e36 may overflow. Run returns false if a value was not
// finite before bias and residual, so that the caller can compute a direct convolution instead. The
// test costs at most 1%.
//
// The bits of the result depend neither on the number of threads nor on `max_scratch`.
namespace caffe::kernels {

struct WinogradShape {
  int num = 0;       ///< images
  int channels = 0;  ///< of the input, all groups together
  int outputs = 0;   ///< channels of the output, all groups together
  int groups = 1;    ///< if more, each has whole blocks of channels and outputs
  int height = 0;    ///< of the input
  int width = 0;
  int pad_h = 0;   ///< zeros above and below, less than the kernel
  int pad_w = 0;   ///< zeros left and right, less than the kernel
  int block = 8;   ///< channels in a block: 8 or 16
  int kernel = 3;  ///< r: 3 or 5
  int tile = 4;    ///< m: 4, or 2 (more exact and slower)

  int output_height() const { return height + 2 * pad_h - kernel + 1; }
  int output_width() const { return width + 2 * pad_w - kernel + 1; }
};

/// True for what these functions compute: two axes, 3x3 or 5x5, stride and dilation 1, pad less
/// than the kernel, one group or groups of whole blocks of 16 channels and outputs.
bool HasWinograd(const ConvolutionShape& shape);
/// The sizes of such a convolution of `num` images.
WinogradShape WinogradShapeOf(const ConvolutionShape& shape, int num, int block, int tile = 4);

/// Bytes of scratch memory per thread that the forward functions may take by default. Up to 128
/// channels need half of it; with half of it, layers of 512 channels take a fifth longer, because
/// their weights are transformed more often.
constexpr size_t kWinogradScratch = size_t(2) << 20;

/// k of the error bound above.
constexpr float WinogradErrorBound(int tile, int kernel) {
  if (kernel == 5) return tile == 4 ? 256.f : 64.f;
  return tile == 4 ? 64.f : 16.f;
}

/// True where Winograd's algorithm takes less time than a direct convolution, by a model fitted to
/// measurements: not with few channels on one side, nor with so few tiles that transforming the
/// weights costs more than it saves. `direct_speed`: of the direct convolution's products, relative
/// to those of floats. Throws Error as WinogradConvolution does.
bool WinogradPays(const WinogradShape& shape, double direct_speed = 1);

/// Elements of the packed weights: outputs and channels rounded up to whole blocks at most.
size_t WinogradPackedSize(const WinogradShape& shape);

/// From (outputs, channels, kernel, kernel) to (ceil(outputs / block), channels, kernel^2, block)
/// and back.
template <typename From, typename To>
void WinogradPackWeights(const WinogradShape& shape, const From* weights, To* packed);
template <typename From, typename To>
void WinogradUnpackWeights(const WinogradShape& shape, const From* packed, To* weights);

/// Packs the weights of a convolution for the one that makes the gradient of its bottom, whose
/// shape this is: from (channels, outputs of a group, kernel^2), each kernel turned around.
template <typename From>
void WinogradPackTurned(const WinogradShape& shape, const From* weights, float* packed);

/// Such a convolution, planned once for each number of threads, with the instruction set in use
/// when it is made. Several threads may run it at the same time, each in its own scratch memory.
class WinogradConvolution {
 public:
  /// Throws Error for shapes that this algorithm does not support.
  explicit WinogradConvolution(const WinogradShape& shape, size_t max_scratch = kWinogradScratch);
  ~WinogradConvolution();

  /// Bytes of scratch memory for Run on the number of threads that OpenMP would use now: at most
  /// `max_scratch` per thread where that is possible at all.
  size_t scratch_bytes() const;

  /// y = post(conv(x, packed)); returns false as described above. `scratch`: scratch_bytes() bytes,
  /// aligned to 64. Weights are transformed a few output channels at a time.
  /// x, y and scratch must not overlap; the residual is of y's type.
  bool Run(Numbers x, Numbers packed, const PostOps& post, Destination y, void* scratch) const;

 private:
  struct Impl;
  const std::unique_ptr<const Impl> impl_;
};

/// True where WinogradWeightsGradient takes less time than a direct gradient, likewise, and at most
/// 128 MB of scratch memory for all threads together, or some 2 MB for each.
bool WinogradGradientPays(const WinogradShape& shape, double direct_speed = 1);

/// The gradients of the weights and the bias of such a convolution: sums over all
/// tiles of products of transformed inputs and transformed gradients, which are transformed back
/// once. With F = the sum over all tiles of (the largest |x| of the tile) * (the sum of |dy| over
/// its outputs), |error| <= k * 2^-24 * F with the first k above. An infinity or a NaN in x or dy
/// makes the gradients of all kernels that read or make its channel NaN. The bits of the result
/// depend on the number of threads.
class WinogradWeightsGradient {
 public:
  /// Throws Error for shapes that this algorithm does not support.
  explicit WinogradWeightsGradient(const WinogradShape& shape);
  ~WinogradWeightsGradient();

  /// Bytes of scratch memory for Run on the number of threads that OpenMP would use now.
  size_t scratch_bytes() const;

  /// d_weights += the gradients (outputs, channels of a group, kernel, kernel), d_bias += those of
  /// the bias if it is not null. x and dy: images without gaps. `scratch`: scratch_bytes() bytes,
  /// aligned to 64.
  void Run(Numbers x, Numbers dy, float* d_weights, float* d_bias, void* scratch) const;

 private:
  struct Impl;
  const std::unique_ptr<const Impl> impl_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_WINOGRAD_HPP_
