#ifndef CAFFE_CUDA_CUDNN_FUSED_CONVOLUTION_HPP_
#define CAFFE_CUDA_CUDNN_FUSED_CONVOLUTION_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/kernels/cuda/fused_convolution.hpp"

namespace caffe::cuda {

/// Names that cuDNN's ways of computing a problem begin with.
constexpr char kCudnnWhole[] = "cudnn", kCudnnFinish[] = "cudnn+finish";

/// The ways that cuDNN has on the calling thread's GPU, the best guess first.
std::vector<std::shared_ptr<const FusedConvolution>> CudnnConvolutions(
    const ConvolutionProblem& problem, size_t most_workspace);
/// The way of that name. Throws Error where there is none.
std::shared_ptr<const FusedConvolution> CudnnConvolutionNamed(const ConvolutionProblem& problem,
                                                              const std::string& name);

/// Stands for a way of that name while MakeConvolutionsAskedFor notes what is asked for; cannot
/// run.
std::shared_ptr<const FusedConvolution> NotYetMade(const std::string& name);

/// The same for a GPU that is not here, described by `properties` as cuDNN writes them (JSON): for
/// the tests. These cannot run.
std::vector<std::shared_ptr<const FusedConvolution>> CudnnConvolutionsElsewhere(
    const std::string& properties, const ConvolutionProblem& problem, size_t most_workspace);
std::shared_ptr<const FusedConvolution> CudnnConvolutionElsewhereNamed(
    const std::string& properties, const ConvolutionProblem& problem, const std::string& name);

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_CUDNN_FUSED_CONVOLUTION_HPP_
