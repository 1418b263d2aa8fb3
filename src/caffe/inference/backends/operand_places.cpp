#include "operand_places.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/regions.hpp"

namespace caffe::inference {
namespace {

/// The scratch size of a step is found by binding it to memory that does not exist.
class UnplacedNode {
 public:
  UnplacedNode(const Graph& graph, const Node& node, const std::vector<Shape>& shapes)
      : graph_(graph), node_(node), shapes_(shapes) {}

  size_t ScratchBytes(Step* step) const {
    Binding binding;
    for (const int input : node_.inputs) binding.inputs.push_back(Bound(*step, input));
    for (const Epilogue& each : node_.epilogue) {
      binding.operands.push_back(each.operand < 0 ? Operand() : Bound(*step, each.operand));
    }
    for (const int output : node_.outputs) binding.outputs.push_back(Bound(*step, output));
    for (const Constant& parameter : node_.parameters) {
      binding.parameters.push_back(parameter.data.get());
    }
    step->Bind(binding);
    return step->scratch_bytes();
  }

 private:
  Operand Bound(const Step& step, int value) const {
    alignas(64) static char somewhere;  // steps read and write nothing before they run
    const auto place_of = [](int) { return static_cast<void*>(&somewhere); };
    Operand dense = Described(graph_.values[value], shapes_[value]);
    dense.data = &somewhere;
    Operand place = OperandAt(graph_, value, shapes_, place_of);
    place.data = &somewhere;
    return TakesAsItLies(step, place, dense) ? place : dense;
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Shape>& shapes_;
};

}  // namespace

Operand OperandAt(const Graph& graph, int value, const std::vector<Shape>& shapes,
                  const std::function<void*(int root)>& place_of) {
  Operand operand = Described(graph.values[value], shapes[value]);
  if (graph.values[value].view.base < 0) {
    operand.data = place_of(value);
    return operand;
  }
  const auto region = RegionOf(graph, value, shapes);
  Require(region.has_value(), "value '", graph.values[value].name, "' of shape ",
          ShapeString(shapes[value]), " does not lie in even pieces");
  operand.data = static_cast<char*>(place_of(region->root)) + region->offset * SizeOf(operand.type);
  if (region->contiguous()) return operand;
  operand.images = region->outer;
  operand.image = region->run;
  operand.stride = region->stride;
  return operand;
}

bool TakesAsItLies(const Step& step, const Operand& place, const Operand& dense) {
  const bool alike = place.shape.size() >= 2 && place.images == dense.images;
  return place.dense() || (alike && step.takes_strides());
}

std::vector<size_t> ScratchBytes(const Graph& graph, const Target& target) {
  const std::vector<bool> dependent = HaveDataDependentShapes(graph);
  const std::vector<Shape> shapes = ShapesOf(graph);
  const auto depends = [&](int value) { return dependent[value]; };
  std::vector<size_t> bytes;
  for (const Node& node : graph.nodes) {
    bytes.push_back(0);
    if (IsFree(graph, node) || std::any_of(node.inputs.begin(), node.inputs.end(), depends) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), depends)) {
      continue;
    }
    const Implementation& implementation = ImplementationOf(target, node.implementation);
    try {
      WithLayer(node, [&] {
        const auto step = implementation.Make(graph, node);
        bytes.back() = UnplacedNode(graph, node, shapes).ScratchBytes(step.get());
      });
    } catch (const Error&) {
      // A layer that cannot be made here is named when the engine is run.
      if (&implementation != &target.any_layer()) throw;
    }
  }
  return bytes;
}

}  // namespace caffe::inference
