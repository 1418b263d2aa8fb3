#ifndef CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_
#define CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_

#include "caffe/kernels/cuda/fused_convolution.hpp"

namespace caffe::cuda {

// The ways of fused_convolution.hpp that use this library's kernels. Weights are in PackWeights'
// order.

/// Any problem with one or two axes; a thread computes outputs of a few neighbouring places.
void DirectConvolution(Stream& stream, const ConvolutionProblem& problem,
                       const ConvolutionArguments& arguments);
/// For IsChannelsLastDepthwise.
void DepthwiseConvolution(Stream& stream, const ConvolutionProblem& problem,
                          const ConvolutionArguments& arguments);

/// The input and the weights of a problem as FoldedProblem (cuda/folded_convolution.hpp) reads
/// them; the first `used` of the problem's channels are not padding.
void FoldInput(Stream& stream, const ConvolutionProblem& problem, const ConvolutionProblem& folded,
               int used, const void* x, void* to);
void FoldWeights(Stream& stream, const ConvolutionProblem& problem,
                 const ConvolutionProblem& folded, int used, const void* weights, void* to);

/// d_weights += a channels-last gradient, (outputs, kernel..., channels), with at least the shape's
/// channels; the others are ignored. For one group.
void AddChannelsLastWeights(Stream& stream, const kernels::ConvolutionShape& shape, int channels,
                            const float* gradient, float* d_weights);

/// The distance between pixels (between images, if not channels-last), with 0 resolved.
size_t InputStride(const ConvolutionProblem& problem);
size_t OutputStride(const ConvolutionProblem& problem);
size_t ResidualStride(const ConvolutionProblem& problem);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_
