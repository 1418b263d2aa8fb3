#include "integer_node.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/integer_operations.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "element_types.hpp"
#include "inner_product_node.hpp"

namespace caffe::inference {
namespace {

/// True if blobs may have 8 bits and the quantization of the node's inputs and outputs is known.
/// Else the reason is noted.
bool HasIntegerRanges(const LoweringContext& context, const Node& node) {
  const auto known = [&](int value) {
    const std::string reason = context.WhyNotInt8(value);
    if (!reason.empty()) context.Note(reason);
    return reason.empty();
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!ReadsShapeOnly(node, i) && !known(node.inputs[i])) return false;
  }
  return std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

/// The candidates, with any type for an input of which only the shape is read.
std::vector<Candidate> WithShapeInputs(const LoweringContext& context, const Node& node,
                                       std::vector<Layout::Kind> layouts,
                                       std::vector<Candidate> candidates) {
  layouts.push_back(Layout::PLAIN);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!ReadsShapeOnly(node, i) || node.inputs[i] == node.inputs[0]) continue;
    std::vector<Candidate> all;
    for (const Candidate& candidate : candidates) {
      for (const ElementType type : context.storage) {
        if (type == ElementType::INT8 && !context.ranges[node.inputs[i]].known()) continue;
        for (const Layout::Kind kind : layouts) {
          all.push_back(candidate);
          all.back().inputs[i] = {type, kind};
        }
      }
    }
    candidates = std::move(all);
  }
  return candidates;
}

}  // namespace

kernels::IntegerOperand OperandOf(const Operand& x, const void* data) {
  return {data, x.type == ElementType::UINT8, x.zero_point};
}

kernels::IntegerResult ResultOf(const Node& node, const Operand& y, kernels::Multiplier by) {
  const bool is_unsigned = y.type == ElementType::UINT8;
  kernels::IntegerResult result;
  result.by = by;
  result.rounding = node.integers->rounding;
  result.zero_point = y.zero_point;
  result.least = std::max(node.integers->least, is_unsigned ? 0 : -128);
  result.most = std::min(node.integers->most, is_unsigned ? 255 : 127);
  return result;
}

std::vector<Candidate> InBytes(const Implementation& implementation, const Node& node,
                               const std::vector<Layout::Kind>& layouts) {
  std::vector<Candidate> candidates;
  for (const Layout::Kind layout : layouts) {
    const Format bytes = {ElementType::INT8, layout};
    candidates.push_back(Formats(implementation, node, ElementType::INT8, bytes, bytes));
  }
  return candidates;
}

IntegerKind KindOf(const Node& node) {
  const std::string& type = node.type();
  if (type == "Eltwise") return IntegerKind::ELTWISE;
  if (type == "Axpy" || (type == "Scale" && node.inputs.size() == 2)) {
    return IntegerKind::BROADCAST;
  }
  if (type == "Pooling") return IntegerKind::POOLING;
  if (type == "Softmax" || type == "LRN" || type == "Normalize" || type == "MVN") {
    return IntegerKind::DIVISION;
  }
  if (node.operation().interpolates) return IntegerKind::RESIZING;
  return SharesAffine(node) || type == "Concat" ? IntegerKind::MOVING : IntegerKind::TABLE;
}

bool ComputesIntegers(const Node& node) {
  return node.integers && !MultipliesWeights(node) && !node.inputs.empty() && !node.outputs.empty();
}

std::vector<Candidate> IntegerOperationImplBase::Candidates(const LoweringContext& context,
                                                            const Node& node) const {
  if (!ComputesIntegers(node)) return context.None("is for layers without weights, in integers");
  if (!HasIntegerRanges(context, node)) return {};
  std::vector<Layout::Kind> layouts;
  for (const Layout::Kind layout : layouts_) {
    if (TakesLayout(context.graph, node, layout)) layouts.push_back(layout);
  }
  layouts.push_back(Layout::PLAIN);
  return WithShapeInputs(context, node, layouts_, InBytes(*this, node, layouts));
}

std::unique_ptr<Step> IntegerOperationImplBase::Make(const Graph& graph, const Node& node) const {
  Require(ComputesIntegers(node), "layer '", node.name(), "' (", node.type(),
          ") has no integer-only form");
  switch (KindOf(node)) {
    case IntegerKind::ELTWISE:
      return steps_.eltwise(node);
    case IntegerKind::BROADCAST:
      return steps_.broadcast(node);
    case IntegerKind::POOLING:
      return steps_.pooling(graph, node);
    case IntegerKind::DIVISION:
      return steps_.division(node);
    case IntegerKind::RESIZING:
      return steps_.resizing(node);
    case IntegerKind::MOVING:
      return steps_.moving(graph, node);
    case IntegerKind::TABLE:
      break;
  }
  return steps_.table(node);
}

kernels::SoftmaxExtents SoftmaxExtentsOf(const Node& node, const Shape& x) {
  const int axes = static_cast<int>(x.size());
  const int given = node.layer.softmax_param().axis(), axis = given < 0 ? given + axes : given;
  Require(axis >= 0 && axis < axes, Error::Field{"softmax_param: axis"}, " ", given, " is none of ",
          axes);
  kernels::SoftmaxExtents extents;
  extents.outer = CountOf({x.begin(), x.begin() + axis});
  extents.length = x[axis];
  extents.inner = CountOf({x.begin() + axis + 1, x.end()});
  return extents;
}

kernels::LrnShape LrnShapeOf(const Node& node, const Shape& x) {
  const LRNParameter& param = node.layer.lrn_param();
  Require(x.size() == 4, "it takes 4 axes");
  kernels::LrnShape shape;
  shape.num = x[0];
  shape.channels = x[1];
  shape.height = x[2];
  shape.width = x[3];
  shape.size = static_cast<int>(param.local_size());
  shape.within_channel = param.norm_region() == LRNParameter_NormRegion_WITHIN_CHANNEL;
  return shape;
}

kernels::NormExtents NormExtentsOf(const Node& node, const Shape& x) {
  Require(x.size() >= 2, "it takes channels");
  kernels::NormExtents extents;
  extents.num = x[0];
  extents.channels = x[1];
  extents.spatial = CountOf({x.begin() + 2, x.end()});
  extents.across_spatial =
      !node.layer.has_normalize_param() && node.layer.norm_param().across_spatial();
  return extents;
}

size_t BroadcastOuterOf(const Node& node, const Shape& x) {
  const int axis = node.type() == "Axpy" ? 0 : node.layer.scale_param().axis();
  return CountOf({x.begin(), x.begin() + (axis < 0 ? axis + static_cast<int>(x.size()) : axis)});
}

RowExtents StandardizedRowsOf(const Node& node, const Shape& x) {
  const size_t axes = node.layer.mvn_param().across_channels() ? 1 : 2;
  const size_t leading = std::min(x.size(), axes);
  return {CountOf({x.begin(), x.begin() + leading}), CountOf({x.begin() + leading, x.end()})};
}

std::optional<kernels::ConvolutionShape> WeightedShapeOf(const Node& node, const Shape& x,
                                                         const Shape& y) {
  if (!node.integers || !MultipliesWeights(node) || node.inputs.size() != 1 ||
      node.outputs.size() != 1 || node.parameters.empty()) {
    return {};
  }
  if (node.type() != "InnerProduct") return KernelShapeOf(node, x, y);
  if (CountOf(x) == 0) return {};
  const InnerProductExtents extents = ExtentsOf(node, x, y);
  kernels::ConvolutionShape shape;
  shape.channels = extents.inputs;
  shape.outputs = extents.outputs;
  return shape;
}

Constant WeightsByOutput(const Node& node, const kernels::ConvolutionShape& shape) {
  const Constant& weights = node.parameters[0];
  RequireParameter(node, 0, weights.type, shape.weight_count());
  if (node.type() != "Deconvolution") return weights;
  const Constant turned = NewConstant(weights.type, weights.count());
  DispatchInteger(weights.type, [&](auto tag) {
    using W = decltype(tag);
    kernels::TransposeDeconvolution(shape, static_cast<const W*>(weights.data.get()),
                                    Elements<W>(turned));
  });
  return turned;
}

std::vector<int32_t> FoldedBiases(const Node& node, const Constant& weights, size_t outputs,
                                  int input_zero_point) {
  const int32_t* bias = ParameterOf<int32_t>(node, 1, ElementType::INT32, outputs);
  const size_t count = weights.count() / std::max<size_t>(1, outputs);
  std::vector<int32_t> folded;
  DispatchInteger(weights.type, [&](auto tag) {
    const auto* w = static_cast<const decltype(tag)*>(weights.data.get());
    for (size_t o = 0; o < outputs; ++o) {
      folded.push_back(kernels::FoldZeroPoint(
          count, w + o * count, node.integers->weight_zero_point, input_zero_point, bias[o]));
    }
  });
  return folded;
}

}  // namespace caffe::inference
