#ifndef CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_
#define CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_

#include "caffe/kernels/cuda/fused_convolution.hpp"

namespace caffe::cuda {

// The ways of fused_convolution.hpp that this library computes itself. Weights as PackWeights has
// them.

/// Any problem with one or two axes; some outputs of neighbouring places a thread.
void DirectConvolution(Stream& stream, const ConvolutionProblem& problem,
                       const ConvolutionArguments& arguments);
/// For IsChannelsLastDepthwise.
void DepthwiseConvolution(Stream& stream, const ConvolutionProblem& problem,
                          const ConvolutionArguments& arguments);

/// The input and the weights of a problem as FoldedProblem (cuda/folded_convolution.hpp) reads
/// them; `used` of the problem's channels count.
void FoldInput(Stream& stream, const ConvolutionProblem& problem, const ConvolutionProblem& folded,
               int used, const void* x, void* to);
void FoldWeights(Stream& stream, const ConvolutionProblem& problem,
                 const ConvolutionProblem& folded, int used, const void* weights, void* to);

/// d_weights += a gradient that lies channels-last, (outputs, kernel..., channels), with at least
/// the shape's channels; those beyond are left out. Of one group.
void AddChannelsLastWeights(Stream& stream, const kernels::ConvolutionShape& shape, int channels,
                            const float* gradient, float* d_weights);

/// The distance between pixels (images, of problems that are not channels-last), 0 resolved.
size_t InputStride(const ConvolutionProblem& problem);
size_t OutputStride(const ConvolutionProblem& problem);
size_t ResidualStride(const ConvolutionProblem& problem);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_OWN_CONVOLUTIONS_HPP_
