#include "caffe/inference/graph.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "node_layer.hpp"

namespace caffe::inference {

size_t CountOf(const Shape& shape) {
  size_t count = 1;
  for (const int extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

const float* Constant::floats() const {
  Require(type == ElementType::FLOAT, "a constant of shape ", ShapeString(shape), " is ",
          Name(type), ", not FLOAT");
  return static_cast<const float*>(data.get());
}

Constant Constant::Of(const Shape& shape, std::vector<float> values) {
  Require(values.size() == CountOf(shape), "a constant of shape ", ShapeString(shape), " has ",
          values.size(), " values");
  values.resize(std::max<size_t>(1, values.size()));  // a pointer even to no elements
  const auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  return {shape, ElementType::FLOAT, std::shared_ptr<const void>(owner, owner->data())};
}

std::vector<int> Node::Reads() const {
  std::vector<int> reads = inputs;
  for (const Epilogue& step : epilogue) {
    if (step.operand >= 0) reads.push_back(step.operand);
  }
  return reads;
}

int Graph::FindValue(const std::string& value_name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == value_name) return static_cast<int>(i);
  }
  return -1;
}

int Graph::FindNode(const std::string& node_name) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name() == node_name) return static_cast<int>(i);
  }
  return -1;
}

bool Graph::IsInput(int value) const {
  return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
}

bool Graph::IsOutput(int value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

int Graph::AddValue(const std::string& value_name, const Shape& shape) {
  Value value;
  value.name = value_name;
  value.shape = shape;
  values.push_back(value);
  return static_cast<int>(values.size()) - 1;
}

size_t BytesOf(const Constant& constant) { return constant.count() * SizeOf(constant.type); }

size_t BytesOf(const Value& value) {
  size_t count = CountOf(value.shape);
  if (value.layout != Layout::PLAIN && count > 0) {
    count = count / value.shape[1] * kernels::RoundUp(value.shape[1], value.block);
  }
  return count * SizeOf(value.type);
}

std::vector<int> Producers(const Graph& graph) {
  std::vector<int> producers(graph.values.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int output : graph.nodes[i].outputs) producers[output] = static_cast<int>(i);
  }
  return producers;
}

std::vector<std::vector<int>> Readers(const Graph& graph) {
  std::vector<std::vector<int>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int read : graph.nodes[i].Reads()) readers[read].push_back(static_cast<int>(i));
  }
  return readers;
}

std::vector<bool> HaveDataDependentShapes(const Graph& graph) {
  std::vector<bool> dependent(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    bool unknown = !ShapesAreKnown(node);
    for (const int input : node.inputs) unknown = unknown || dependent[input];
    for (const int output : node.outputs) dependent[output] = unknown;
  }
  return dependent;
}

int BatchOf(const Graph& graph) {
  if (graph.inputs.empty()) return 0;
  const Shape& shape = graph.values[graph.inputs[0]].shape;
  return shape.empty() ? 0 : shape[0];
}

std::vector<Shape> InputShapes(const Graph& graph, int batch) {
  const int built = BatchOf(graph);
  std::vector<Shape> shapes;
  for (const int input : graph.inputs) {
    shapes.push_back(graph.values[input].shape);
    if (!shapes.back().empty() && shapes.back()[0] == built) shapes.back()[0] = batch;
  }
  return shapes;
}

}  // namespace caffe::inference
