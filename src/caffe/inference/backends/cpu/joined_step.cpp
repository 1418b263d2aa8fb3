#include "joined_step.hpp"

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "channels_last.hpp"

namespace caffe::inference::cpu {

std::optional<std::vector<kernels::ConvolutionShape>> ShapesOfJoined(
    const std::vector<Node>& layers, const Shape& input) {
  const std::vector<Shape> made = JoinedShapes(layers, input);
  std::vector<kernels::ConvolutionShape> shapes;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto shape = ConvolutionShapeOf(layers[i], i == 0 ? input : made[i - 1], made[i]);
    if (!shape) return {};
    const uint32_t outputs = layers[i].layer.convolution_param().num_output();
    Require(outputs == static_cast<uint32_t>(shape->outputs), "layer '", layers[i].name(),
            "': ", Error::Field{"num_output"}, " is ", outputs, ", and it has ", shape->outputs,
            Error::Remedy{"build the plan again"});
    shapes.push_back(*shape);
  }
  return shapes;
}

std::vector<const Epilogue*> BottomsBetween(const Node& node) {
  std::vector<const Epilogue*> between;
  for (const Epilogue& step : node.epilogue) {
    if (MultipliesWeights(step)) between.push_back(&step);
  }
  return between;
}

JoinedStep::JoinedStep(const Node& node, Layout::Kind layout)
    : node_(node), layout_(layout), layers_(JoinedLayers(node)), between_(BottomsBetween(node)) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto post = PostOpsOf(layers_[i]);
    Require(post && (post->residual < 0 || i + 1 == layers_.size()), "layer '", layers_[i].name(),
            "': no kernel has its epilogue");
    post_.push_back(*post);
  }
  const int residual = post_.back().residual;
  if (residual >= 0) {
    residual_step_ = node.epilogue.size() - layers_.back().epilogue.size() + residual;
  }
}

void JoinedStep::Bind(const Binding& binding) {
  x_ = binding.inputs.at(0);
  y_ = binding.outputs.at(0);
  residual_ = residual_step_ ? binding.operands.at(*residual_step_) : Operand();
  Require(x_.layout == layout_ && y_.layout == layout_ &&
              (!residual_.data || (residual_.layout == layout_ && residual_.shape == y_.shape)),
          "its blobs do not lie as kernels take them");
  const auto shapes = ShapesOfJoined(layers_, x_.shape);
  Require(shapes.has_value(), "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
  Prepare(*shapes);
}

kernels::PostOps JoinedStep::Post(size_t layer) const {
  kernels::PostOps post;
  post.activation = post_[layer].activation();
  if (layer + 1 == layers_.size()) post.residual = NumbersOf(residual_);
  return post;
}

kernels::Destination JoinedStep::Target() const {
  return {y_.data, y_.type, StridesOf(x_, y_, residual_)};
}

}  // namespace caffe::inference::cpu
