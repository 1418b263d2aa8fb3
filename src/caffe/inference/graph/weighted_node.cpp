#include "weighted_node.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "caffe/operation.hpp"
#include "node_facts.hpp"

namespace caffe::inference {
namespace {

/// A sum of two operands without coefficients other than 1.
bool IsPlainSum(const LayerParameter& layer) {
  const auto& coefficients = layer.eltwise_param().coeff();
  return IsSum(layer) &&
         std::all_of(coefficients.begin(), coefficients.end(), [](float c) { return c == 1; });
}

/// True if axis 1 of the node's result has its outputs.
bool HasOutputsAsChannels(const Node& node) {
  return node.type() != "InnerProduct" || node.layer.inner_product_param().axis() == 1;
}

/// One slope for each of this many outputs, padded with zeros, from one for each or one for all;
/// not set otherwise.
std::vector<float> SlopesFor(const std::vector<Constant>& parameters, size_t outputs,
                             bool are_channels) {
  constexpr size_t kMultiple = 16;
  if (parameters.size() != 1) return {};
  const std::vector<float> given = parameters[0].ToVector();
  const bool shared = given.size() == 1;
  if (!shared && (given.size() != outputs || !are_channels)) return {};
  std::vector<float> slopes(kernels::RoundUp(outputs, kMultiple), 0.f);
  for (size_t i = 0; i < outputs; ++i) slopes[i] = given[shared ? 0 : i];
  return slopes;
}

size_t OutputsOf(const Node& node) {
  return node.type() == "InnerProduct" ? node.layer.inner_product_param().num_output()
                                       : node.layer.convolution_param().num_output();
}

/// Adds an activation of this many outputs to the kernels' PostOps; `are_channels`: they are on
/// axis 1. False where kernels cannot.
bool AddActivation(const LayerParameter& layer, const std::vector<Constant>& parameters,
                   size_t outputs, bool are_channels, NodePostOps* fused) {
  const auto activation = PostOpOf(layer);
  if (!activation) return false;
  fused->set_activation(*activation);
  if (activation->kind != kernels::Activation::PRELU) return true;
  fused->slopes = SlopesFor(parameters, outputs, are_channels);
  return !fused->slopes.empty();
}

}  // namespace

bool IsConvolution(const Node& node) {
  return node.operation().weights == Operation::Weights::CONVOLUTION;
}

bool MultipliesWeights(const Node& node) {
  return node.operation().weights != Operation::Weights::NONE;
}

// A damaged plan may name any type.
bool MultipliesWeights(const Epilogue& step) {
  const Operation* const operation = OperationTable::Find(step.layer.type());
  return operation && operation->weights != Operation::Weights::NONE;
}

std::optional<kernels::Activation> PostOpOf(const LayerParameter& layer) {
  const auto activation = ActivationOf(layer);
  return activation ? kernels::AsPostOp(*activation) : std::nullopt;
}

std::optional<Clamp> ClampOf(const LayerParameter& layer) {
  const auto f = PostOpOf(layer);
  if (!f) return {};
  if (f->kind == kernels::Activation::RELU && f->a == 0) return Clamp{0., {}};
  if (f->kind == kernels::Activation::CLIP) return Clamp{f->a, f->b};
  return {};
}

kernels::Activation NodePostOps::activation() const {
  kernels::Activation activation = activation_;
  activation.slopes = slopes.empty() ? nullptr : slopes.data();
  return activation;
}

const Epilogue* StepWithOperand(const Node& node) {
  for (const Epilogue& step : node.epilogue) {
    if (step.operand >= 0) return &step;
  }
  return nullptr;
}

std::optional<NodePostOps> PostOpsOf(const Node& node) {
  NodePostOps fused;
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    const Epilogue& step = node.epilogue[i];
    // For integers, an activation before the sum is part of the multipliers and bounds.
    if (fused.activates() && !node.integers) return {};
    if (step.operand >= 0) {
      if (fused.residual >= 0 || !IsPlainSum(step.layer)) return {};
      fused.residual = static_cast<int>(i);
      continue;
    }
    if (!AddActivation(step.layer, step.parameters, OutputsOf(node), HasOutputsAsChannels(node),
                       &fused)) {
      return {};
    }
  }
  return fused;
}

std::optional<NodePostOps> ActivationOfNode(const Node& node, int channels) {
  NodePostOps fused;
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || !node.epilogue.empty() ||
      !AddActivation(node.layer, node.parameters, channels, true, &fused)) {
    return {};
  }
  return fused;
}

bool Activates(const Node& node) {
  if (!MultipliesWeights(node)) return node.epilogue.empty();
  const auto epilogue = PostOpsOf(node);
  return epilogue && epilogue->residual < 0;
}

bool IsJoined(const Node& node) {
  return std::any_of(node.epilogue.begin(), node.epilogue.end(),
                     [](const Epilogue& step) { return MultipliesWeights(step); });
}

std::vector<Node> JoinedLayers(const Node& node) {
  std::vector<Node> layers = {node};
  layers[0].epilogue.clear();
  for (const Epilogue& step : node.epilogue) {
    if (!MultipliesWeights(step)) {
      layers.back().epilogue.push_back(step);
      continue;
    }
    layers.push_back(layers[0]);
    layers.back().layer = step.layer;
    layers.back().parameters = step.parameters;
    layers.back().integers = step.integers;
    layers.back().epilogue.clear();
  }
  if (layers.size() == 1 || !layers.back().parameters.empty()) return layers;
  // They are packed. A damaged plan may have any number of them.
  const size_t each = node.parameters.size() / layers.size();
  if (each * layers.size() != node.parameters.size()) return layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto first = node.parameters.begin() + i * each;
    layers[i].parameters.assign(first, first + each);
  }
  return layers;
}

std::vector<Shape> JoinedShapes(const std::vector<Node>& layers, const Shape& input) {
  std::vector<Shape> shapes;
  for (const Node& layer : layers) {
    LayerParameter param = layer.layer;
    param.clear_bottom();
    param.clear_top();
    param.add_bottom("bottom");
    param.add_top("top");
    const Operation& operation = layer.operation();
    Require(bool(operation.top_shapes), "layer '", layer.name(), "' does not say its shapes");
    const std::vector<Shape> tops =
        operation.top_shapes(param, {shapes.empty() ? input : shapes.back()});
    Require(tops.size() == 1, "layer '", layer.name(), "' has ", tops.size(), " tops");
    shapes.push_back(tops[0]);
  }
  return shapes;
}

std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Node& node, const Shape& input,
                                                            const Shape& output) {
  if (!IsConvolution(node) || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      node.parameters.empty() || input.size() < 3 || output.size() != input.size()) {
    return {};
  }
  const ConvolutionParameter& param = node.layer.convolution_param();
  const int axes = static_cast<int>(input.size());
  if (!IsChannelAxis(param.axis(), input.size())) return {};
  const ConvolutionGeometry geometry = ReadConvolutionGeometry(param, axes - 2);
  kernels::ConvolutionShape shape;
  shape.channels = input[1];
  shape.group = node.type() == "Convolution" ? static_cast<int>(param.group()) : input[1];
  shape.outputs = output[1];
  shape.kernel = geometry.kernel;
  shape.stride = geometry.stride;
  shape.pad = geometry.pad;
  shape.dilation = geometry.dilation;
  shape.input.assign(input.begin() + 2, input.end());
  shape.output.assign(output.begin() + 2, output.end());
  if (shape.group <= 0 || shape.channels % shape.group != 0 || shape.outputs % shape.group != 0) {
    return {};
  }
  return shape;
}

std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty()) return {};
  return ConvolutionShapeOf(node, graph.values[node.inputs[0]].shape,
                            graph.values[node.outputs[0]].shape);
}

std::optional<kernels::ConvolutionShape> DeconvolutionShapeOf(const Node& node, const Shape& x,
                                                              const Shape& y) {
  Node convolution = node;
  convolution.layer.set_type("Convolution");
  return ConvolutionShapeOf(convolution, x, y);
}

std::optional<kernels::ConvolutionShape> KernelShapeOf(const Node& node, const Shape& x,
                                                       const Shape& y) {
  return node.type() == "Deconvolution" ? DeconvolutionShapeOf(node, x, y)
                                        : ConvolutionShapeOf(node, x, y);
}

std::optional<kernels::ConvolutionShape> KernelShapeOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty()) return {};
  return KernelShapeOf(node, graph.values[node.inputs[0]].shape,
                       graph.values[node.outputs[0]].shape);
}

InnerProductExtents ExtentsOf(const Node& node, const Shape& x, const Shape& y) {
  InnerProductExtents extents;
  extents.outputs = static_cast<int>(node.layer.inner_product_param().num_output());
  Require(extents.outputs > 0, Error::Field{"inner_product_param: num_output"},
          " must be positive");
  extents.rows = static_cast<int>(CountOf(y) / extents.outputs);
  extents.inputs = extents.rows == 0 ? 0 : static_cast<int>(CountOf(x) / extents.rows);
  return extents;
}

InnerProductExtents ExtentsOf(const Graph& graph, const Node& node) {
  return ExtentsOf(node, graph.values[node.inputs[0]].shape, graph.values[node.outputs[0]].shape);
}

std::vector<float> InnerProductWeightsOf(const Node& node, const InnerProductExtents& extents) {
  const std::vector<float> given = node.parameters[0].ToVector();
  if (!node.layer.inner_product_param().transpose()) return given;
  std::vector<float> weights(given.size());
  for (int o = 0; o < extents.outputs; ++o) {
    for (int i = 0; i < extents.inputs; ++i) {
      weights[size_t(o) * extents.inputs + i] = given[size_t(i) * extents.outputs + o];
    }
  }
  return weights;
}

double ProductsOf(const Node& node, const Shape& x, const Shape& y) {
  if (!MultipliesWeights(node)) return 0;
  if (IsJoined(node)) {
    const std::vector<Node> layers = JoinedLayers(node);
    const std::vector<Shape> shapes = JoinedShapes(layers, x);
    double products = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      products += ProductsOf(layers[i], i == 0 ? x : shapes[i - 1], shapes[i]);
    }
    return products;
  }
  if (node.type() == "InnerProduct") {
    const InnerProductExtents extents = ExtentsOf(node, x, y);
    return double(extents.rows) * extents.inputs * extents.outputs;
  }
  const bool transposed = node.type() == "Deconvolution";
  const auto shape = KernelShapeOf(node, x, y);
  if (!shape) return 0;
  const size_t positions = transposed ? shape->input_spatial() : shape->output_spatial();
  return double(x[0]) * shape->weight_count() * positions;
}

double ProductsOf(const Node& node, const std::vector<Shape>& shapes) {
  if (!MultipliesWeights(node) || node.inputs.size() != node.outputs.size()) return 0;
  Node of_one = node;
  double products = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    of_one.inputs = {node.inputs[i]};
    of_one.outputs = {node.outputs[i]};
    products += ProductsOf(of_one, shapes[node.inputs[i]], shapes[node.outputs[i]]);
  }
  return products;
}

std::map<std::string, double> ProductsByLayer(const Graph& graph,
                                              const std::vector<Shape>& shapes) {
  std::map<std::string, double> all;
  for (const Node& node : graph.nodes) {
    const double products = ProductsOf(node, shapes);
    if (products > 0) all[node.name()] = products;
  }
  return all;
}

std::vector<float> BiasOf(const Node& node, size_t outputs) {
  return node.parameters.size() > 1 ? node.parameters[1].ToVector()
                                    : std::vector<float>(outputs, 0.f);
}

}  // namespace caffe::inference
