#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_STEP_HPP_

#include "caffe/inference/backends/step.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {

/// What all steps of convolutions have: places, the epilogue, parameter 1 as the bias. The output
/// and the residual lie in `layout`; so does the input, or in Caffe's order.
class ConvolutionStep : public Step {
 public:
  /// Throws Error where the node is no convolution of one input, or with `transposed` no
  /// Deconvolution, or its epilogue another one.
  explicit ConvolutionStep(const Node& node, Layout::Kind layout = kBlocked,
                           bool transposed = false);
  void Bind(const Binding& binding) override;
  bool takes_strides() const override { return true; }

 protected:
  /// Makes the kernel. Throws Error unless the parameters are what it reads.
  virtual void Prepare(const kernels::ConvolutionShape& shape) = 0;

  kernels::Numbers weights() const {
    return {node_.parameters[0].data.get(), node_.parameters[0].type};
  }
  kernels::Numbers bias() const {
    return {node_.parameters[1].data.get(), node_.parameters[1].type};
  }
  /// What follows on sums of floats.
  kernels::PostOps Post() const;
  kernels::Destination Target() const;

  const Node& node_;
  const Layout::Kind layout_;
  const NodePostOps post_ops_;
  Operand x_, y_, residual_;  // no data: there is no residual
};

/// A candidate for each type of weights that the context stores, and of the blobs that go with it:
/// a source in `target`'s layout, or floats in Caffe's order (an image).
std::vector<Candidate> InFloats(const Implementation& implementation,
                                const LoweringContext& context, const Node& node,
                                Layout::Kind source, Layout::Kind target = kBlocked);

/// Why a family of convolutions has no candidate for a node.
constexpr char kNoConvolution[] = "is for convolutions of one bottom with what kernels can fuse";
constexpr char kNoKernelForShape[] = "has no kernel for its shape, groups and layouts";

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_STEP_HPP_
