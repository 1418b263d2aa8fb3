#ifndef CAFFE_INFERENCE_BACKENDS_CPU_ANY_LAYER_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_ANY_LAYER_HPP_

#include <optional>
#include <vector>

#include "../../graph/node_chain.hpp"
#include "convolution_node.hpp"
#include "step.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// A node by its Layer: in FLOAT and Caffe's order with all of its epilogue, or in whatever the
/// layer can do, without one, or a Deconvolution with an activation, which is applied in place.
class LayerStep : public Step {
 public:
  explicit LayerStep(const Node& node);

  /// Shapes of the outputs for inputs of these shapes; the layer is set up for them.
  std::vector<Shape> Reshape(const std::vector<Shape>& inputs) { return chain_.Reshape(inputs); }
  void Bind(const Binding& binding) override;
  void Run(void* scratch) override;

  /// True if the last Run needed no conversion of what the layer made.
  bool native() const { return native_; }
  /// What the layer made where the outputs have no memory, for shapes that depend on the data.
  const Shape& top_shape(int top) { return chain_.main().top_shape(top); }
  const float* top_data(int top) { return chain_.main().top_data(top); }
  size_t bytes() const { return chain_.bytes(); }

 private:
  void Finish();

  NodeChain chain_;
  std::vector<NodeLayer::Place> bottoms_, tops_;
  std::vector<NodeChain::Operand> operands_;
  std::optional<FusedEpilogue> finish_;  // what is done in place to what the layer has made
  Operand made_;
  bool plain_ = true;  // FLOAT in Caffe's order everywhere
  bool native_ = true;
};

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_ANY_LAYER_HPP_
