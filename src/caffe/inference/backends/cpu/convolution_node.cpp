#include "convolution_node.hpp"

#include <algorithm>
#include <cstring>

#include "../../passes/graph_editing.hpp"
#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

/// A sum of two without coefficients other than 1.
bool IsPlainSum(const LayerParameter& layer) {
  const EltwiseParameter& param = layer.eltwise_param();
  return layer.type() == "Eltwise" && param.operation() == EltwiseParameter_EltwiseOp_SUM &&
         std::all_of(param.coeff().begin(), param.coeff().end(), [](float c) { return c == 1; });
}

std::optional<PointwiseActivation> ActivationOf(const LayerParameter& layer) {
  PointwiseActivation activation;
  if (layer.type() == "ReLU") {
    activation.kind = PointwiseActivation::RELU;
    activation.alpha = layer.relu_param().negative_slope();
    return activation;
  }
  activation.kind = PointwiseActivation::CLIP;
  if (layer.type() == "ReLU6") {
    activation.beta = 6;
    return activation;
  }
  if (layer.type() == "Clip") {
    activation.alpha = layer.clip_param().min();
    activation.beta = layer.clip_param().max();
    return activation;
  }
  return {};
}

std::optional<kernels::FusedFunction> SmoothFunctionOf(const LayerParameter& layer) {
  using Function = kernels::FusedFunction;
  if (layer.type() == "ELU") return Function{Function::ELU, layer.elu_param().alpha()};
  if (layer.type() == "Sigmoid") return Function{Function::SIGMOID};
  if (layer.type() == "Swish") return Function{Function::SWISH, layer.swish_param().beta()};
  if (layer.type() == "TanH") return Function{Function::TANH};
  return {};
}

/// Axis 1 of what the node makes has its outputs.
bool HasOutputsAsChannels(const Node& node) {
  return node.type() != "InnerProduct" || node.layer.inner_product_param().axis() == 1;
}

/// One slope for each of the node's outputs, and zeros; nothing where they are for something else.
std::vector<float> SlopesFor(const Node& node, const Epilogue& step) {
  constexpr size_t kMultiple = 16;
  const size_t outputs = node.type() == "InnerProduct"
                             ? node.layer.inner_product_param().num_output()
                             : node.layer.convolution_param().num_output();
  if (step.parameters.size() != 1) return {};
  const std::vector<float> given = step.parameters[0].ToVector();
  const bool shared = given.size() == 1;
  if (!shared && (given.size() != outputs || !HasOutputsAsChannels(node))) return {};
  std::vector<float> slopes((outputs + kMultiple - 1) / kMultiple * kMultiple, 0.f);
  for (size_t i = 0; i < outputs; ++i) slopes[i] = given[shared ? 0 : i];
  return slopes;
}

/// Adds an activation to what kernels do. False where they cannot.
bool AddActivation(const Node& node, const Epilogue& step, FusedEpilogue* fused) {
  if (const auto activation = ActivationOf(step.layer)) {
    fused->activation = *activation;
    return true;
  }
  if (const auto function = SmoothFunctionOf(step.layer)) {
    fused->set_function(*function);
    return true;
  }
  if (step.layer.type() != "PReLU") return false;
  fused->slopes = SlopesFor(node, step);
  fused->set_function({kernels::FusedFunction::PRELU});
  return !fused->slopes.empty();
}

}  // namespace

kernels::FusedFunction FusedEpilogue::function() const {
  kernels::FusedFunction function = function_;
  function.slopes = slopes.empty() ? nullptr : slopes.data();
  return function;
}

std::optional<FusedEpilogue> FusedEpilogueOf(const Node& node) {
  FusedEpilogue fused;
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    const Epilogue& step = node.epilogue[i];
    if (fused.activates()) return {};
    if (step.operand >= 0) {
      if (fused.residual >= 0 || !IsPlainSum(step.layer)) return {};
      fused.residual = static_cast<int>(i);
      continue;
    }
    if (!AddActivation(node, step, &fused)) return {};
  }
  return fused;
}

bool Activates(const Node& node) {
  if (!MultipliesWeights(node)) return node.epilogue.empty();
  const auto epilogue = FusedEpilogueOf(node);
  return epilogue && epilogue->residual < 0;
}

std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Node& node, const Shape& input,
                                                            const Shape& output) {
  if (!IsConvolution(node) || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      node.parameters.empty() || input.size() < 3 || output.size() != input.size()) {
    return {};
  }
  const ConvolutionParameter& param = node.layer.convolution_param();
  const int axes = static_cast<int>(input.size());
  if (param.axis() != 1 && param.axis() + axes != 1) return {};
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

void RequireParameter(const Node& node, size_t index, ElementType type, size_t count) {
  Require(index < node.parameters.size(), "parameter ", index, " is missing");
  const Constant& parameter = node.parameters[index];
  Require(parameter.type == type && parameter.count() == count, "parameter ", index, " has ",
          parameter.count(), " elements of type ", Name(parameter.type), ", not ", count, " of ",
          Name(type));
}

namespace {

/// The node's epilogue, which has to be one.
FusedEpilogue CheckedEpilogue(const Node& node) {
  Require(IsConvolution(node) && node.inputs.size() == 1 && node.outputs.size() == 1, "layer '",
          node.name(), "' (", node.type(), ") is no convolution of one bottom");
  const auto epilogue = FusedEpilogueOf(node);
  Require(epilogue.has_value(), "layer '", node.name(), "': no kernel has its epilogue");
  return *epilogue;
}

}  // namespace

ConvolutionStep::ConvolutionStep(const Node& node)
    : node_(node), epilogue_(CheckedEpilogue(node)) {}

void ConvolutionStep::Bind(const Binding& binding) {
  x_ = binding.inputs[0];
  y_ = binding.outputs[0];
  residual_ = epilogue_.residual >= 0 ? binding.operands[epilogue_.residual] : Operand();
  const auto shape = ConvolutionShapeOf(node_, x_.shape, y_.shape);
  Require(shape.has_value(), "no kernel takes a bottom of shape ", ShapeString(x_.shape));
  Require(y_.blocked && (x_.blocked || shape->group == 1) &&
              (!residual_.data || (residual_.blocked && residual_.shape == y_.shape)),
          "its blobs do not lie as kernels take them");
  RequireParameter(node_, 1, ElementType::FLOAT, shape->outputs);
  Prepare(*shape);
}

std::vector<float> BiasOf(const Node& node, size_t outputs) {
  return node.parameters.size() > 1 ? node.parameters[1].ToVector()
                                    : std::vector<float>(outputs, 0.f);
}

kernels::ImageStrides StridesOf(const Operand& x, const Operand& y, const Operand& residual) {
  kernels::ImageStrides strides;
  if (!x.dense()) strides.x = x.stride;
  if (!y.dense()) strides.y = y.stride;
  if (residual.data && !residual.dense()) strides.residual = residual.stride;
  return strides;
}

Candidate Formats(const Implementation& implementation, const Node& node, ElementType math,
                  const Format& input, const Format& output) {
  Candidate candidate;
  candidate.implementation = &implementation;
  candidate.math = math;
  candidate.inputs.assign(node.inputs.size(), input);
  candidate.operands.assign(node.epilogue.size(), output);
  candidate.outputs.assign(node.outputs.size(), output);
  return candidate;
}

Constant NewConstant(ElementType type, size_t count) {
  const size_t bytes = std::max<size_t>(1, count) * SizeOf(type);
  Allocator* owner = nullptr;
  void* memory = AllocateHost(bytes, &owner);
  std::memset(memory, 0, bytes);
  return {{static_cast<int>(count)},
          type,
          std::shared_ptr<const void>(memory, [bytes, owner](const void* p) {
            FreeHost(const_cast<void*>(p), bytes, owner);
          })};
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
