#include "convolution_step.hpp"

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "channels_last.hpp"

namespace caffe::inference::cpu {
namespace {

/// The node's epilogue, which has to be one.
NodePostOps CheckedEpilogue(const Node& node, bool transposed) {
  const bool is_right = transposed ? node.type() == "Deconvolution" : IsConvolution(node);
  Require(is_right && node.inputs.size() == 1 && node.outputs.size() == 1, "layer '", node.name(),
          "' (", node.type(), ") is no ", transposed ? "Deconvolution" : "convolution",
          " of one bottom");
  const auto epilogue = PostOpsOf(node);
  Require(epilogue.has_value(), "layer '", node.name(), "': no kernel has its epilogue");
  return *epilogue;
}

/// In which types the blobs of a layer may lie whose weights are of this one: in floats, too, where
/// turning numbers into halves and back takes longer than reading and writing twice as much.
std::vector<ElementType> BlobTypes(ElementType weights) {
  if (weights == ElementType::FLOAT) return {weights};
  return {weights, ElementType::FLOAT};
}

}  // namespace

std::vector<Candidate> InFloats(const Implementation& implementation,
                                const LoweringContext& context, const Node& node,
                                Layout::Kind source, Layout::Kind target) {
  std::vector<Candidate> candidates;
  for (const ElementType math : kFloatTypes) {
    if (!context.Stores(math)) continue;
    for (const ElementType from : BlobTypes(source == kPlain ? ElementType::FLOAT : math)) {
      for (const ElementType to : BlobTypes(math)) {
        candidates.push_back(Formats(implementation, node, math, {from, source}, {to, target}));
      }
    }
  }
  return candidates;
}

ConvolutionStep::ConvolutionStep(const Node& node, Layout::Kind layout, bool transposed)
    : node_(node), layout_(layout), post_ops_(CheckedEpilogue(node, transposed)) {}

void ConvolutionStep::Bind(const Binding& binding) {
  x_ = binding.inputs[0];
  y_ = binding.outputs[0];
  residual_ = post_ops_.residual >= 0 ? binding.operands[post_ops_.residual] : Operand();
  const auto shape = KernelShapeOf(node_, x_.shape, y_.shape);
  Require(shape.has_value(), "no kernel takes a bottom of shape ", ShapeString(x_.shape));
  Require(y_.layout == layout_ && (x_.layout == layout_ || (x_.plain() && shape->group == 1)) &&
              (!residual_.data || (residual_.layout == layout_ && residual_.shape == y_.shape)),
          "its blobs do not lie as kernels take them");
  RequireParameter(node_, 1, node_.integers ? ElementType::INT32 : ElementType::FLOAT,
                   shape->outputs);
  Prepare(*shape);
}

kernels::PostOps ConvolutionStep::Post() const {
  kernels::PostOps post;
  post.bias = node_.parameters[1].floats();
  post.residual = NumbersOf(residual_);
  post.activation = post_ops_.activation();
  return post;
}

kernels::Destination ConvolutionStep::Target() const {
  return {y_.data, y_.type, StridesOf(x_, y_, residual_)};
}

}  // namespace caffe::inference::cpu
