#include "engine_report.hpp"

#include <map>
#include <set>

#include "../util/json.hpp"
#include "graph/regions.hpp"

namespace caffe {
namespace inference {
namespace {

size_t BytesOf(const Constant& constant) { return constant.count() * SizeOf(constant.type); }

/// Calls f for each constant of the node, those of its epilogue too.
template <typename F>
void ForEachConstant(const Node& node, F f) {
  for (const Constant& parameter : node.parameters) f(parameter);
  for (const Epilogue& step : node.epilogue) {
    for (const Constant& parameter : step.parameters) f(parameter);
  }
}

void SetBinding(const Value& value, json::Struct* object) {
  json::Set(object, "name", value.name);
  json::Set(object, "shape", value.shape);
}

void SetShapes(const std::string& key, const std::map<std::string, Shape>& shapes,
               json::Struct* object) {
  json::Struct* by_input = json::Object(object, key);
  for (const auto& [input, shape] : shapes) json::Set(by_input, input, shape);
}

void SetLayer(const LayerInfo& layer, json::Struct* object) {
  json::Set(object, "name", layer.name);
  json::Set(object, "type", layer.type);
  json::Set(object, "fused", layer.also);
  json::Set(object, "implementation", layer.implementation);
  json::Set(object, "precision", std::string(Name(layer.type_of_math)));
  json::Set(object, "microseconds", layer.microseconds);
  json::Set(object, "weight_bytes", static_cast<double>(layer.weight_bytes));
  json::Set(object, "activation_bytes", static_cast<double>(layer.activation_bytes));
  json::ListValue* tops = json::List(object, "tops");
  for (const Shape& shape : layer.tops) {
    auto* list = tops->add_values()->mutable_list_value();
    for (const int extent : shape) list->add_values()->set_number_value(extent);
  }
}

}  // namespace

std::vector<LayerInfo> LayersOf(const Graph& graph) {
  std::vector<LayerInfo> layers;
  for (const Node& node : graph.nodes) {
    if (IsFree(graph, node)) continue;
    LayerInfo layer;
    layer.name = node.name();
    layer.type = node.type();
    layer.implementation = node.implementation.empty() ? "layer" : node.implementation;
    layer.type_of_math = node.math;
    layer.microseconds = node.microseconds;
    ForEachConstant(node, [&](const Constant& c) { layer.weight_bytes += BytesOf(c); });
    for (const int output : node.outputs) {
      layer.tops.push_back(graph.values[output].shape);
      layer.activation_bytes += inference::BytesOf(graph.values[output]);
    }
    for (const Epilogue& step : node.epilogue) layer.also.push_back(step.layer.name());
    layers.push_back(std::move(layer));
  }
  return layers;
}

size_t WeightBytes(const std::vector<std::shared_ptr<const Graph>>& graphs) {
  std::set<const void*> counted;
  size_t bytes = 0;
  const auto add = [&](const void* data, size_t size) {
    if (counted.insert(data).second) bytes += size;
  };
  for (const auto& graph : graphs) {
    for (const Node& node : graph->nodes) {
      ForEachConstant(node, [&](const Constant& c) { add(c.data.get(), BytesOf(c)); });
    }
    for (const Value& value : graph->values) {
      if (value.is_constant()) add(value.data.get(), inference::BytesOf(value));
    }
  }
  return bytes;
}

std::string EngineAsJson(const Engine& engine) {
  json::Struct root;
  json::Set(&root, "name", engine.name());
  json::Set(&root, "max_batch", engine.max_batch());
  json::Set(&root, "weight_bytes", static_cast<double>(engine.weight_bytes()));
  json::Set(&root, "activation_bytes", static_cast<double>(engine.activation_bytes()));
  const Graph& graph = *engine.graph();
  json::List(&root, "inputs");
  json::List(&root, "outputs");
  json::List(&root, "layers");
  for (const int input : graph.inputs) {
    SetBinding(graph.values[input], json::Append(&root, "inputs"));
  }
  for (const int output : graph.outputs) {
    SetBinding(graph.values[output], json::Append(&root, "outputs"));
  }
  for (const LayerInfo& layer : engine.layers()) SetLayer(layer, json::Append(&root, "layers"));
  for (const ShapeProfile& profile : engine.profiles()) {
    json::Struct* object = json::Append(&root, "profiles");
    SetShapes("min", profile.min, object);
    SetShapes("opt", profile.opt, object);
    SetShapes("max", profile.max, object);
  }
  return json::Text(root);
}

}  // namespace inference
}  // namespace caffe
