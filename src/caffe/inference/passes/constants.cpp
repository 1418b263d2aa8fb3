// What depends on nothing but parameters is computed now, by its own layer.
#include <algorithm>

#include "caffe/core/repeatable.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

/// True for a layer whose tops are the same in every pass.
bool MakesTheSameAgain(const Node& node) {
  if (node.type() == "DummyData") {
    const auto& fillers = node.layer.dummy_data_param().data_filler();
    return std::all_of(fillers.begin(), fillers.end(),
                       [](const FillerParameter& filler) { return filler.type() == "constant"; });
  }
  return ShapesAreKnown(node) && IsRepeatable(node.layer) &&
         !OperationTable::Find(node.type())->source;
}

/// True if the value's extents after the batch are the same in the largest and in the smallest run.
bool KeepsItsSize(const Shape& largest, const Shape& least) {
  return largest.size() == least.size() && !largest.empty() &&
         std::equal(largest.begin() + 1, largest.end(), least.begin() + 1);
}

/// Its bottoms are constants, or it reads no more than the shape of them. `least` has the values'
/// shapes in the smallest run.
bool IsFoldable(const Graph& graph, const std::vector<Shape>& least, const Node& node) {
  if (node.outputs.empty() || !node.epilogue.empty() || !MakesTheSameAgain(node)) return false;
  if (node.operation().ReadsShapesOnly()) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
      return KeepsItsSize(graph.values[input].shape, least[input]);
    });
  }
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](int input) { return graph.values[input].is_constant(); });
}

void Fold(const Node& node, Graph* graph) {
  NodeLayer layer = MainLayer(node);
  std::vector<Shape> shapes;
  std::vector<const float*> inputs;  // null for those of which only the shape is read
  for (const int input : node.inputs) {
    const Value& value = graph->values[input];
    shapes.push_back(value.shape);
    inputs.push_back(static_cast<const float*>(value.data.get()));
  }
  const std::vector<Shape> tops = layer.Reshape(shapes);
  std::vector<std::vector<float>> made;
  std::vector<float*> outputs;
  for (const Shape& top : tops) {
    made.emplace_back(std::max<size_t>(1, CountOf(top)));
    outputs.push_back(made.back().data());
  }
  layer.Run(inputs, outputs);
  for (size_t i = 0; i < tops.size(); ++i) {
    made[i].resize(CountOf(tops[i]));
    Value& value = graph->values[node.outputs[i]];
    value.shape = tops[i];
    value.data = Constant::Of(tops[i], std::move(made[i])).data;
  }
}

/// Allows smaller batches and nothing else, if the net takes these: what was computed from other
/// extents is a constant.
void FixExtents(Graph* graph) {
  std::vector<Shape> whole;
  for (const int input : graph->inputs) whole.push_back(graph->values[input].shape);
  std::vector<Shape> least = whole;
  for (Shape& shape : least) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
    if (!shape.empty()) shape[0] = 1;
  }
  try {
    ShapesFor(*graph, least);
  } catch (const Error&) {
    least = whole;
  }
  graph->min_inputs = std::move(least);
  graph->opt_inputs = std::move(whole);
}

}  // namespace

Graph FoldConstants(Graph graph) {
  const std::vector<Shape> least = ShapesInSmallestRun(graph);
  std::vector<bool> folded(graph.nodes.size(), false);
  bool reads_shapes = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    folded[i] = IsFoldable(graph, least, node);
    if (!folded[i]) continue;
    reads_shapes |= !node.inputs.empty() && node.operation().ReadsShapesOnly();
    Fold(node, &graph);
  }
  RemoveNodes(folded, &graph);
  if (reads_shapes && graph.min_inputs.empty()) FixExtents(&graph);
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
