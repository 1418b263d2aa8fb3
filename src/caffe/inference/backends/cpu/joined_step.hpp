#ifndef CAFFE_INFERENCE_BACKENDS_CPU_JOINED_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_JOINED_STEP_HPP_

#include <optional>
#include <vector>

#include "caffe/inference/backends/step.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {

/// Of layers one behind another, the first of which reads `input`. Not set where one is no
/// convolution. Throws Error where a layer, in a damaged plan, does not have the outputs that it
/// says.
std::optional<std::vector<kernels::ConvolutionShape>> ShapesOfJoined(
    const std::vector<Node>& layers, const Shape& input);

/// How the bottoms of the layers behind the first one are stored.
std::vector<const Epilogue*> BottomsBetween(const Node& node);

/// What all steps of joined convolutions (JoinedLayers) have: places, all in one layout, and what
/// follows on the sums of each layer.
class JoinedStep : public Step {
 public:
  /// Throws Error where a kernel does not have a layer's epilogue, or one before the last adds a
  /// residual.
  explicit JoinedStep(const Node& node, Layout::Kind layout = kBlocked);
  void Bind(const Binding& binding) override;
  bool takes_strides() const override { return true; }

 protected:
  /// Makes the kernel. Throws Error unless blobs and parameters are what it takes.
  virtual void Prepare(const std::vector<kernels::ConvolutionShape>& shapes) = 0;
  /// What follows on the sums of a layer, but for its bias; the last one adds the residual.
  kernels::PostOps Post(size_t layer) const;
  kernels::Destination Target() const;

  const Node& node_;
  const Layout::Kind layout_;
  const std::vector<Node> layers_;
  const std::vector<const Epilogue*> between_;
  Operand x_, y_, residual_;  // no data: there is no residual

 private:
  std::vector<NodePostOps> post_;
  std::optional<size_t> residual_step_;  // of the node's epilogue
};

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_JOINED_STEP_HPP_
