#include "node_facts.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "caffe/operation.hpp"

namespace caffe::inference {

int JoinedAxis(const LayerParameter& layer) {
  if (layer.type() == "Concat") {
    const ConcatParameter& param = layer.concat_param();
    return param.has_concat_dim() ? static_cast<int>(param.concat_dim()) : param.axis();
  }
  const SliceParameter& param = layer.slice_param();
  return param.has_slice_dim() ? static_cast<int>(param.slice_dim()) : param.axis();
}

bool JoinsChannels(const Graph& graph, const Node& node) {
  return (node.type() == "Concat" || node.type() == "Slice") &&
         IsChannelAxis(JoinedAxis(node.layer), graph.values[node.inputs[0]].shape.size());
}

bool IsSum(const LayerParameter& layer) {
  return layer.type() == "Eltwise" &&
         layer.eltwise_param().operation() == EltwiseParameter_EltwiseOp_SUM;
}

bool IsMaxPooling(const Node& node) {
  return node.type() == "Pooling" && node.outputs.size() == 1 &&
         node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_MAX;
}

bool MovesElements(const Node& node) {
  if (node.type() == "Upsample") return node.inputs.size() == 1;
  return node.operation().type_agnostic && node.parameters.empty() && !node.outputs.empty() &&
         !node.inputs.empty();
}

bool KeepsElements(const Node& node) {
  static const std::set<std::string> partial = {"Crop", "CropCenter", "MergeCrop"};
  return MovesElements(node) && partial.count(node.type()) == 0;
}

std::vector<bool> ExactValues(const Graph& graph) {
  const size_t count = graph.values.size();
  std::vector<bool> given(count), computed(count), read(count);  // as such
  for (const int input : graph.inputs) given[input] = true;
  for (const Node& node : graph.nodes) {
    const std::vector<int> inputs = ReadInputs(node);
    const auto moves = [&](const std::vector<bool>& values) {
      return MovesElements(node) && std::any_of(inputs.begin(), inputs.end(),
                                                [&](int input) { return bool(values[input]); });
    };
    const bool moves_given = moves(given), moves_computed = moves(computed);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      given[node.outputs[i]] = moves_given;
      computed[node.outputs[i]] =
          moves_computed || node.operation().IsFloatTop(static_cast<int>(i));
    }
  }
  for (const int output : graph.outputs) read[output] = computed[output];
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool moved =
        MovesElements(node) && std::any_of(node.outputs.begin(), node.outputs.end(),
                                           [&](int output) { return bool(read[output]); });
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (ReadsShapeOnly(node, i)) continue;
      if (moved || node.operation().IsFloatBottom(static_cast<int>(i))) read[node.inputs[i]] = true;
    }
  }
  for (size_t i = 0; i < count; ++i) read[i] = read[i] && (given[i] || computed[i]);
  return read;
}

bool ReadsShapeOnly(const Node& node, size_t input) {
  return node.operation().IsShapeBottom(static_cast<int>(input));
}

std::vector<int> ReadInputs(const Node& node) {
  std::vector<int> read;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!ReadsShapeOnly(node, i)) read.push_back(node.inputs[i]);
  }
  return read;
}

}  // namespace caffe::inference
