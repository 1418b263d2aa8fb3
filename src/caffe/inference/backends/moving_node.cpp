#include "moving_node.hpp"

#include <algorithm>

namespace caffe {
namespace inference {

bool JoinsChannels(const Graph& graph, const Node& node) {
  int axis = 0;
  if (node.type() == "Concat") {
    const ConcatParameter& param = node.layer.concat_param();
    axis = param.has_concat_dim() ? static_cast<int>(param.concat_dim()) : param.axis();
  } else if (node.type() == "Slice") {
    const SliceParameter& param = node.layer.slice_param();
    axis = param.has_slice_dim() ? static_cast<int>(param.slice_dim()) : param.axis();
  } else {
    return false;
  }
  const int axes = static_cast<int>(graph.values[node.inputs[0]].shape.size());
  return axis == 1 || (axis < 0 && axis + axes == 1);
}

bool Reshapes(const Node& node) {
  return (node.type() == "Flatten" || node.type() == "Reshape") && node.inputs.size() == 1 &&
         node.outputs.size() == 1;
}

bool HaveOneRange(const LoweringContext& context, const Node& node) {
  const Range& range = context.ranges[node.outputs[0]];
  const auto same = [&](int value) {
    const Range& other = context.ranges[value];
    return other.known() && other.scale == range.scale && other.is_unsigned == range.is_unsigned;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), same) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), same);
}

}  // namespace inference
}  // namespace caffe
