#include "moving_node.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/inference/graph/node_facts.hpp"

namespace caffe::inference {

int ConcatAxis(const Graph& graph, const Node& node) {
  const int axis = JoinedAxis(node.layer);
  return axis < 0 ? axis + static_cast<int>(graph.values[node.outputs[0]].shape.size()) : axis;
}

bool Reshapes(const Node& node) {
  return (node.type() == "Flatten" || node.type() == "Reshape") && node.inputs.size() == 1 &&
         node.outputs.size() == 1;
}

bool IsSame(const Range& a, const Range& b) {
  return a.known() && a.scale == b.scale && a.is_unsigned == b.is_unsigned &&
         a.zero_point == b.zero_point;
}

bool HaveOneRange(const LoweringContext& context, const Node& node) {
  const Range& range = context.ranges[node.outputs[0]];
  const auto same = [&](int value) { return IsSame(range, context.ranges[value]); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), same) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), same);
}

void MovingStep::Bind(const Binding& binding) {
  binding_ = binding;
  size_t elements = 0;
  for (const Operand& part : parts()) {
    Require(
        part.type == whole().type && part.layout == whole().layout && part.images == whole().images,
        "parts and whole differ in layout");
    elements += LengthOf(part);
  }
  Require(elements == LengthOf(whole()), "the parts do not add up to the whole");
}

void MovingStep::Run(void*) {
  size_t offset = 0;
  for (const Operand& part : parts()) {
    Copy(part, whole(), offset);
    offset += LengthOf(part);
  }
}

bool HaveWholeChannels(const Graph& graph, const Node& node, int multiple) {
  const auto whole = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() >= 3 && shape[1] % multiple == 0;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), whole) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), whole);
}

bool HaveSpatialAxes(const Graph& graph, const Node& node) {
  return HaveWholeChannels(graph, node, 1);
}

std::vector<Candidate> MovingImplBase::Candidates(const LoweringContext& context,
                                                  const Node& node) const {
  const bool joins = JoinsChannels(context.graph, node);
  if (!node.epilogue.empty() || !(joins || Reshapes(node))) {
    return context.None("is for Concat and Slice of channels, Flatten and Reshape");
  }
  std::vector<Candidate> candidates;
  for (const ElementType type : context.storage) {
    if (type == ElementType::INT8 && !HaveOneRange(context, node)) {
      context.Note("needs one range of all blobs to move INT8");
      continue;
    }
    const auto add = [&](Layout::Kind layout) {
      candidates.push_back(
          Formats(*this, node, ElementType::FLOAT, {type, layout}, {type, layout}));
    };
    for (const Layout::Kind layout : layouts_) {
      if (joins && MovesChannels(context.graph, node, type, layout)) add(layout);
    }
    add(Layout::PLAIN);
  }
  return candidates;
}

std::unique_ptr<Step> MovingImplBase::Make(const Graph&, const Node& node) const {
  if (Reshapes(node)) return MakeReshaping();
  Require((node.type() == "Concat" && node.outputs.size() == 1) ||
              (node.type() == "Slice" && node.inputs.size() == 1),
          "layer '", node.name(), "' (", node.type(), ") does not only move elements");
  return MakeMoving(node);
}

}  // namespace caffe::inference
