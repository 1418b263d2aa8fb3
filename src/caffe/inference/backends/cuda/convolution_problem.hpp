#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_CONVOLUTION_PROBLEM_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_CONVOLUTION_PROBLEM_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/kernels/cuda/fused_convolution.hpp"
#include "cuda_target.hpp"

// What convolutions and inner products share: to the kernels both are convolutions.

namespace caffe::inference::cuda {

/// Appends `candidate` once for each implementation of the problem, with its name as the variant;
/// with `tensor_float` also those that round FLOAT factors, as "tf32 NAME".
void AddVariants(caffe::cuda::ConvolutionProblem problem, bool tensor_float, Candidate candidate,
                 std::vector<Candidate>* candidates);

/// The node's parameters as kernels read them: weights in the problem's order, bias, for INT8 the
/// scales of sums, for PReLU the slopes, one for each padded output. `weights`: in FLOAT, for
/// `filled`. For INT8: `integers`, with sums of scale * input_scale.
std::vector<Constant> PackedParameters(const Node& node, const NodePostOps& epilogue,
                                       const kernels::ConvolutionShape& filled, bool channels_last,
                                       const std::vector<float>& weights,
                                       const std::vector<float>& bias);
std::vector<Constant> PackedParameters(const Node& node, const NodePostOps& epilogue,
                                       const kernels::ConvolutionShape& filled, bool channels_last,
                                       const std::vector<int8_t>& integers,
                                       std::vector<float> scales, float input_scale,
                                       const std::vector<float>& bias);

/// A problem bound to memory, for a node with such parameters.
class BoundConvolution {
 public:
  struct Operands {
    Operand x, y, residual;  ///< no data: there is none
  };

  /// `problem` has sizes and layout; types, strides and function follow from the others.
  /// `parameters`: of the node, on the device. It uses the variant that the node names or, if that
  /// one is for larger batches only, the first one. Throws Error.
  void Bind(caffe::cuda::ConvolutionProblem problem, const Node& node, const NodePostOps& epilogue,
            const Operands& operands, const std::vector<const void*>& parameters);
  size_t workspace_bytes() const { return way_ ? way_->workspace_bytes() : 0; }
  /// On the calling thread's stream.
  void Run(void* workspace) const;

 private:
  std::string key_;  // of the problem that way_ is for
  std::shared_ptr<const caffe::cuda::FusedConvolution> way_;
  caffe::cuda::ConvolutionArguments arguments_;
};

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_CONVOLUTION_PROBLEM_HPP_
