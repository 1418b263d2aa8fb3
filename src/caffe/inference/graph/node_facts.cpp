#include "node_facts.hpp"

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
