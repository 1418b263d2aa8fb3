#ifndef CAFFE_CUDA_FOLDED_CONVOLUTION_HPP_
#define CAFFE_CUDA_FOLDED_CONVOLUTION_HPP_

#include <memory>
#include <optional>
#include <string>

#include "caffe/kernels/cuda/fused_convolution.hpp"

namespace caffe::cuda {

// A net's first convolution reads images of three channels in steps of two or more, and tensor
// cores multiply 8 or 16 channels at a time: most of what they multiply is zeros. A square of
// stride x stride pixels as one pixel of stride^2 as many channels makes it a convolution of stride
// 1 with a smaller kernel, on a quarter of the pixels or fewer.

/// What the ways of a folded problem are called: this, then the name of a way of FoldedProblem's.
constexpr char kFolded[] = "folded ";

/// The problem that a convolution becomes; nothing where it would not be less work: steps of 1,
/// groups, dilation, another order than channels-last, many channels.
std::optional<ConvolutionProblem> FoldedProblem(const ConvolutionProblem& problem);

/// The convolution by way of folding its input and weights in the workspace; `way` is one of
/// FoldedProblem's.
std::shared_ptr<const FusedConvolution> Folded(const ConvolutionProblem& problem,
                                               const std::shared_ptr<const FusedConvolution>& way);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_FOLDED_CONVOLUTION_HPP_
