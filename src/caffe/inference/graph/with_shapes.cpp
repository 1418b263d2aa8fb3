#include "caffe/error.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/graph/top_shapes.hpp"
#include "node_layer.hpp"
#include "regions.hpp"

namespace caffe::inference {

namespace {

/// The parameters of a lowered node, and of one in integers, may be packed, so that its layer
/// cannot take them; those of nodes that run by their layer are not.
std::vector<Shape> TopShapes(const Graph& graph, const Node& node,
                             const std::vector<Shape>& bottoms) {
  const Operation& operation = node.operation();
  const bool known = node.type() == kReorder || operation.top_shapes;
  const bool packed = !node.implementation.empty() || node.integers;
  if (packed && known) return TopShapesOf(graph, node, bottoms);
  return MainLayer(node).Reshape(bottoms);
}

}  // namespace

std::vector<Shape> ShapesFor(const Graph& graph, const std::vector<Shape>& inputs) {
  std::vector<Shape> shapes = ShapesOf(graph);
  for (size_t i = 0; i < inputs.size(); ++i) shapes[graph.inputs[i]] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Shape> bottoms;
    for (const int input : node.inputs) bottoms.push_back(shapes[input]);
    const std::vector<Shape> tops = TopShapes(graph, node, bottoms);
    for (size_t i = 0; i < tops.size(); ++i) shapes[node.outputs[i]] = tops[i];
  }
  return shapes;
}

Graph WithInputShapes(Graph graph, const std::vector<Shape>& shapes) {
  const std::vector<Shape> all = ShapesFor(graph, shapes);
  for (size_t i = 0; i < all.size(); ++i) {
    graph.values[i].shape = all[i];
    graph.values[i].view = View();
    graph.values[i].arena_offset = -1;
  }
  graph.arena_bytes = 0;
  graph.min_inputs.clear();
  graph.opt_inputs.clear();
  return graph;
}

Graph WithBatch(Graph graph, int batch) {
  Require(batch > 0, "the batch must be positive, got ", batch);
  Require(BatchOf(graph) > 0, "graph '", graph.name, "' has no input with a batch");
  const std::vector<Shape> shapes = InputShapes(graph, batch);
  return WithInputShapes(std::move(graph), shapes);
}

}  // namespace caffe::inference
