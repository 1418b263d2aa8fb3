#ifndef CAFFE_ALGORITHMS_CONVOLUTION_HPP_
#define CAFFE_ALGORITHMS_CONVOLUTION_HPP_

#include "algorithm.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/tile_shape.hpp"
#include "caffe/kernels/winograd.hpp"
#include "caffe/onednn/onednn.hpp"
#include "settings.hpp"

namespace caffe::algorithms {

// Each way of convolving `num` images; null where it has no kernel for the shape.

/// Channels in blocks (packed_convolution.hpp), or with `plain_source` the few channels of images
/// in Caffe's order, in FLOAT, FLOAT16 and BFLOAT16. `math`: PackedConvolution::Make.
AlgorithmPtr PackedConvolution(const kernels::ConvolutionShape& shape, int num, bool plain_source,
                               ElementType math);

/// PackedConvolution of BFLOAT16 by products of pairs (kernels::PackedConvolution::MakeInPairs).
AlgorithmPtr PairConvolution(const kernels::ConvolutionShape& shape, int num, bool plain_source);

/// PackedConvolution with channels last (kernels::PackedConvolution::MakeChannelsLast), for callers
/// that place images themselves: with the pixel strides of a Destination.
AlgorithmPtr ChannelsLastConvolution(const kernels::ConvolutionShape& shape, int num,
                                     bool plain_source, ElementType math,
                                     kernels::TileShape tile_shape);

/// A Deconvolution by PackedConvolutions of its phases (packed_deconvolution.hpp), in blocks of
/// channels, or of each channel by itself by depthwise_deconvolution.hpp. `shape`: that of its
/// gradient, as in ConvolutionProblem.
AlgorithmPtr PackedDeconvolution(const kernels::ConvolutionShape& shape, int num, ElementType math);

/// PackedConvolution by Winograd's algorithm (winograd.hpp). Where that meets an infinity or a NaN,
/// which belong to single outputs, the direct kernels compute again. `tile`: outputs per side, 4 or
/// 2. `max_scratch`: for each thread.
AlgorithmPtr WinogradConvolution(const kernels::ConvolutionShape& shape, int num, int tile = 4,
                                 size_t max_scratch = kernels::kWinogradScratch);

/// The same; null also where WinogradPays says no.
AlgorithmPtr WinogradIfItPays(const kernels::ConvolutionShape& shape, int num, int tile,
                              double direct_speed = 1);

/// Forward by WinogradIfItPays, the gradients by Winograd's algorithm or by `direct`, whichever
/// takes less time; null where forward does not pay.
AlgorithmPtr WinogradTrainingOf(const kernels::ConvolutionShape& shape, int num, int tile,
                                AlgorithmPtr direct, double direct_speed = 1);

struct OneDnnOptions : onednn::WeightedPrimitive::Options {
  int images = 0;  ///< that are computed at a time; 0: all
};
/// oneDNN's convolution, or with `transposed` its deconvolution, in the layouts that oneDNN likes
/// best, on FLOAT, or on FLOAT16 that is widened, the images a few at a time.
AlgorithmPtr OneDnnConvolution(const kernels::ConvolutionShape& shape, int num, bool transposed,
                               const OneDnnOptions& options);
/// The same where images lie in the caller's places. Where oneDNN cannot step over gaps between
/// images, it computes one after the other.
AlgorithmPtr OneDnnConvolution(const kernels::ConvolutionShape& shape, int num,
                               const onednn::WeightedPrimitive::Options& options,
                               const onednn::ConvolutionPlaces& places);

/// All that the algorithm of a layer depends on.
struct ConvolutionProblem {
  kernels::ConvolutionShape shape;  ///< also of a Deconvolution: that of its gradient
  bool transposed = false;          ///< a Deconvolution
  int num = 0;
  bool bias = false;
  bool folds = false;              ///< a scale and a shift are folded into weights and bias
  kernels::Activation activation;  ///< fused
  bool plain_source = false;       ///< the bottom has few channels, in Caffe's order
  Settings settings;

  int output_count() const { return transposed ? shape.channels : shape.outputs; }
  bool operator==(const ConvolutionProblem& other) const;
};

/// Channels up to which an image is read in Caffe's order.
constexpr int kPlainChannels = 4;
inline bool MayBePlain(int channels, int group) { return channels <= kPlainChannels && group <= 1; }

/// FLOAT16 in AMX's tiles with channels last, with its gradients; null where the processor has no
/// tiles, and for channels or outputs of a group that are no multiples of 16, but for a plain
/// source.
AlgorithmPtr TileConvolution(const ConvolutionProblem& problem);

/// The fastest algorithm that a layer's settings allow.
AlgorithmPtr Choose(const ConvolutionProblem& problem);
/// The library's plain kernels (convolution.hpp), or the definition in loops: in every type, with
/// all gradients.
AlgorithmPtr Plain(const ConvolutionProblem& problem);

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_CONVOLUTION_HPP_
