#include "engine_report.hpp"

#include <map>
#include <optional>

#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/util/text/json.hpp"
#include "caffe/util/text/printable.hpp"
#include "graph/constants.hpp"
#include "graph/regions.hpp"
#include "passes/graph_editing.hpp"
#include "quantize/fused_sums.hpp"

namespace caffe::inference {
namespace {

void SetBinding(const Value& value, json::Struct* object) {
  json::Set(object, "name", value.name);
  json::Set(object, "shape", value.shape);
}

void SetPreprocessing(const ImagePreprocessing& preprocessing, json::Struct* object) {
  json::Set(object, "input", preprocessing.input);
  json::Set(object, "mean", preprocessing.mean);
  json::Set(object, "scale", preprocessing.scale);
  json::Set(object, "channel_order", std::string(preprocessing.rgb ? "RGB" : "BGR"));
  if (preprocessing.resize_height > 0) {
    json::Set(object, "resize",
              std::vector<int>{preprocessing.resize_height, preprocessing.resize_width});
  }
  json::Struct* constants = json::Object(object, "constants");
  for (const auto& [input, values] : preprocessing.constants) {
    json::Set(constants, Printable(input), values);
  }
  (*object->mutable_fields())["engine_normalizes"].set_bool_value(preprocessing.engine_normalizes);
}

void SetShapes(const std::string& key, const std::map<std::string, Shape>& shapes,
               json::Struct* object) {
  json::Struct* by_input = json::Object(object, key);
  for (const auto& [input, shape] : shapes) json::Set(by_input, Printable(input), shape);
}

void SetAffine(const AffineParameters& affine, json::Struct* object) {
  json::Set(object, "scale", affine.scale);
  json::Set(object, "zero_point", affine.zero_point);
}

void SetMultipliers(const std::vector<kernels::Multiplier>& multipliers, json::Struct* object) {
  if (multipliers.empty()) return;
  std::vector<int> values, shifts;
  for (const kernels::Multiplier& multiplier : multipliers) {
    values.push_back(multiplier.value);
    shifts.push_back(multiplier.shift);
  }
  json::Set(object, "multipliers", values);
  json::Set(object, "shifts", shifts);
}

/// Scale and zero point of the first top, multipliers and shifts of sums; for a fused Eltwise its
/// own, and the scale and zero point before it.
void SetIntegers(const IntegerInfo& layer, json::Struct* integers) {
  SetAffine(layer.affine, integers);
  SetMultipliers(layer.multipliers, integers);
  if (!layer.sum) return;
  json::Struct* sum = json::Object(integers, "sum");
  json::Set(sum, "name", layer.sum->name);
  SetAffine(layer.sum->before, json::Object(sum, "before"));
  SetMultipliers(layer.sum->multipliers, sum);
}

void SetLayer(const LayerInfo& layer, json::Struct* object) {
  json::Set(object, "name", layer.name);
  json::Set(object, "type", layer.type);
  json::Set(object, "fused", layer.also);
  json::Set(object, "implementation", layer.implementation);
  json::Set(object, "precision", std::string(Name(layer.type_of_math)));
  json::Set(object, "joined", layer.joined);
  for (size_t i = 0; i < layer.in_integers.size(); ++i) {
    const IntegerInfo& info = layer.in_integers[i];
    if (i == 0) {
      SetIntegers(info, json::Object(object, "integers"));
      continue;
    }
    json::Struct* const joined = json::Append(object, "joined_integers");
    json::Set(joined, "name", info.name);
    json::Set(joined, "type", info.type);
    SetIntegers(info, joined);
  }
  json::Set(object, "microseconds", layer.microseconds);
  json::Set(object, "products", layer.products);
  json::Set(object, "weight_bytes", static_cast<double>(layer.weight_bytes));
  json::Set(object, "activation_bytes", static_cast<double>(layer.activation_bytes));
  json::ListValue* tops = json::List(object, "tops");
  for (const Shape& shape : layer.tops) {
    auto* list = tops->add_values()->mutable_list_value();
    for (const int extent : shape) list->add_values()->set_number_value(extent);
  }
}

std::vector<kernels::Multiplier> WeightMultipliersOf(const Node& node) {
  const size_t outputs = node.parameters.size() > 3 ? node.parameters[2].count() : 0;
  if (outputs == 0) return {};
  const int32_t* values = ParameterOf<int32_t>(node, 2, ElementType::INT32, outputs);
  const int32_t* shifts = ParameterOf<int32_t>(node, 3, ElementType::INT32, outputs);
  std::vector<kernels::Multiplier> multipliers(outputs);
  for (size_t o = 0; o < outputs; ++o) multipliers[o] = {values[o], shifts[o]};
  return multipliers;
}

std::optional<SumInfo> SumOf(const Node& node) {
  const std::optional<FusedSum> sum = FusedSumOf(node);
  if (!sum) return {};
  return SumInfo{StepWithOperand(node)->layer.name(),
                 sum->before,
                 {sum->multipliers.begin(), sum->multipliers.end()}};
}

/// Of an integer-only node: its own layer and those that are joined with it.
std::vector<IntegerInfo> IntegersOf(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return {IntegerInfo{node.name(), node.type(), {}, {}, {}}};
  std::vector<AffineParameters> tops;
  for (const Epilogue& step : node.epilogue) {
    if (MultipliesWeights(step)) tops.push_back(step.affine);
  }
  tops.push_back(graph.values[node.outputs[0]].affine);
  std::vector<IntegerInfo> all;
  for (const Node& layer : JoinedLayers(node)) {
    IntegerInfo info{layer.name(), layer.type(), tops.at(all.size()), {}, SumOf(layer)};
    if (MultipliesWeights(layer)) info.multipliers = WeightMultipliersOf(layer);
    all.push_back(std::move(info));
  }
  return all;
}

/// `shapes`: of each value.
LayerInfo InfoOf(const Graph& graph, const Node& node, const std::vector<Shape>& shapes) {
  LayerInfo layer;
  layer.name = node.name();
  layer.type = node.type();
  layer.implementation = node.implementation.empty() ? "layer" : node.implementation;
  layer.type_of_math = node.math;
  layer.microseconds = node.microseconds;
  layer.integers = node.integers.has_value();
  if (node.integers) layer.in_integers = IntegersOf(graph, node);
  layer.weight_bytes = WeightBytes(node);
  for (const int output : node.outputs) {
    layer.tops.push_back(graph.values[output].shape);
    layer.activation_bytes += BytesOf(graph.values[output]);
  }
  layer.products = ProductsOf(node, shapes);
  for (const Epilogue& step : node.epilogue) {
    layer.also.push_back(step.layer.name());
    if (MultipliesWeights(step)) layer.joined.push_back(step.layer.name());
  }
  return layer;
}

std::string LayoutName(const Value& value) {
  switch (value.layout) {
    case Layout::CHANNELS_BLOCKED:
      return Join("channels in blocks of ", value.block);
    case Layout::CHANNELS_LAST:
      return "channels last";
    default:
      return "row major";
  }
}

void AppendValue(const Value& value, const std::string& key, json::Struct* layer) {
  json::Struct* object = json::Append(layer, key);
  json::Set(object, "Name", value.name);
  json::Set(object, "Dimensions", value.shape);
  json::Set(object, "Format/Datatype", LayoutName(value) + " " + Name(value.type));
}

void SetDetails(const Graph& graph, const Node& node, json::Struct* object) {
  const LayerInfo layer = InfoOf(graph, node, ShapesOf(graph));
  json::Set(object, "Name", layer.name);
  json::Set(object, "LayerType", layer.type);
  json::Set(object, "Precision", layer.precision());
  json::Set(object, "TacticName", layer.implementation);
  json::Set(object, "FusedLayers", layer.also);
  json::Set(object, "WeightBytes", static_cast<double>(layer.weight_bytes));
  json::Set(object, "BuildTimeUs", layer.microseconds);
  json::List(object, "Inputs");
  json::List(object, "Outputs");
  for (const int value : node.Reads()) AppendValue(graph.values[value], "Inputs", object);
  for (const int value : node.outputs) AppendValue(graph.values[value], "Outputs", object);
}

}  // namespace

std::vector<LayerInfo> LayersOf(const Graph& graph) {
  std::vector<LayerInfo> layers;
  const std::vector<Shape> shapes = ShapesOf(graph);
  for (const Node& node : graph.nodes) {
    if (!IsFree(graph, node)) layers.push_back(InfoOf(graph, node, shapes));
  }
  return layers;
}

std::string EngineAsJson(const Engine& engine) {
  json::Struct root;
  json::Set(&root, "name", engine.name());
  json::Set(&root, "max_batch", engine.max_batch());
  json::Set(&root, "tuned_threads", engine.tuned_threads());
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
  if (engine.preprocessing()) {
    SetPreprocessing(*engine.preprocessing(), json::Object(&root, "preprocessing"));
  }
  if (!engine.class_names().empty()) json::Set(&root, "class_names", engine.class_names());
  for (const LayerInfo& layer : engine.layers()) SetLayer(layer, json::Append(&root, "layers"));
  for (const ShapeProfile& profile : engine.profiles()) {
    json::Struct* object = json::Append(&root, "profiles");
    SetShapes("min", profile.min, object);
    SetShapes("opt", profile.opt, object);
    SetShapes("max", profile.max, object);
  }
  return json::Text(root);
}

std::string LayersAsJson(const Graph& graph, bool details) {
  json::Struct root;
  json::ListValue* layers = json::List(&root, "Layers");
  for (const Node& node : graph.nodes) {
    if (IsFree(graph, node)) continue;
    if (details) {
      SetDetails(graph, node, layers->add_values()->mutable_struct_value());
    } else {
      layers->add_values()->set_string_value(node.name());
    }
  }
  std::vector<std::string> bindings;
  for (const std::vector<int>* values : {&graph.inputs, &graph.outputs}) {
    for (const int value : *values) bindings.push_back(graph.values[value].name);
  }
  json::Set(&root, "Bindings", bindings);
  return json::Text(root);
}

}  // namespace caffe::inference
