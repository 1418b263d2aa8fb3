#include "caffe/error.hpp"
#include "caffe/inference/graph.hpp"
#include "node_layer.hpp"

namespace caffe {
namespace inference {

Graph WithInputShapes(Graph graph, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) graph.values[graph.inputs[i]].shape = shapes[i];
  for (Value& value : graph.values) {
    value.view = View();
    value.arena_offset = -1;
  }
  graph.arena_bytes = 0;
  for (const Node& node : graph.nodes) {
    std::vector<Shape> bottoms;
    for (const int input : node.inputs) bottoms.push_back(graph.values[input].shape);
    const std::vector<Shape> tops = MainLayer(node).Reshape(bottoms);
    for (size_t i = 0; i < tops.size(); ++i) graph.values[node.outputs[i]].shape = tops[i];
  }
  return graph;
}

Graph WithBatch(Graph graph, int batch) {
  Require(batch > 0, "the batch must be positive, got ", batch);
  Require(BatchOf(graph) > 0, "graph '", graph.name, "' has no input with a batch");
  const std::vector<Shape> shapes = InputShapes(graph, batch);
  return WithInputShapes(std::move(graph), shapes);
}

}  // namespace inference
}  // namespace caffe
