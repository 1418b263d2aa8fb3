#include "regions.hpp"

#include <algorithm>

namespace caffe::inference {

int RootOf(const Graph& graph, int value) {
  for (size_t steps = 0; graph.values[value].view.base >= 0; ++steps) {
    Require(steps < graph.values.size(), "value '", graph.values[value].name,
            "' is a view of itself");
    value = graph.values[value].view.base;
  }
  return value;
}

std::vector<Shape> ShapesOf(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Value& value : graph.values) shapes.push_back(value.shape);
  return shapes;
}

std::vector<Shape> ShapesInSmallestRun(const Graph& graph) {
  return graph.min_inputs.empty() ? ShapesOf(graph) : ShapesFor(graph, graph.min_inputs);
}

namespace {

/// The part of `base`, laid out as `within` says, that a view of `count` elements is.
std::optional<Region> Part(const Region& within, const Shape& base, const View& view,
                           size_t count) {
  if (count == CountOf(base)) return within;
  if (view.axis < 0 || view.axis >= static_cast<int>(base.size()) || view.offset < 0) return {};
  size_t outer = 1, inner = 1;
  for (int i = 0; i < view.axis; ++i) outer *= base[i];
  for (size_t i = view.axis + 1; i < base.size(); ++i) inner *= base[i];
  if (outer == 0 || inner == 0 || count % (outer * inner) != 0) return {};
  const size_t extent = count / (outer * inner);
  if (view.offset + extent > static_cast<size_t>(base[view.axis])) return {};
  Region part = within;
  part.offset += view.offset * inner;
  part.run = extent * inner;
  if (within.contiguous()) {
    part.outer = outer;
    part.stride = base[view.axis] * inner;
    return part;
  }
  if (outer != within.outer) return {};
  return part;
}

/// The extents in memory order: channels are the last axis, or axis 1.
Shape LaidOut(Shape shape, Layout::Kind layout) {
  if (layout == Layout::CHANNELS_LAST)
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

/// The same of a view's axis.
View LaidOut(View view, const Shape& base, Layout::Kind layout) {
  if (layout == Layout::CHANNELS_LAST && view.axis > 0) {
    view.axis = view.axis == 1 ? static_cast<int>(base.size()) - 1 : view.axis - 1;
  }
  return view;
}

/// Offsets of views are those of the graph's own shapes: true if `part` is the same share of its
/// base in these, along an axis of the same extent.
bool KeepsItsOffset(const Graph& graph, int part, const std::vector<Shape>& shapes) {
  const View& view = graph.values[part].view;
  const Shape& built = graph.values[view.base].shape;
  const size_t built_count = CountOf(graph.values[part].shape);
  if (built_count == CountOf(built)) return true;
  const Shape& base = shapes[view.base];
  const size_t axis = static_cast<size_t>(view.axis);
  if (view.axis < 0 || axis >= built.size() || axis >= base.size()) return false;
  return base[axis] == built[axis] &&
         built_count * CountOf(base) == CountOf(shapes[part]) * CountOf(built);
}

}  // namespace

std::optional<Region> RegionOf(const Graph& graph, int value, const std::vector<Shape>& shapes) {
  std::vector<int> chain = {value};
  for (const int root = RootOf(graph, value); chain.back() != root;) {
    chain.push_back(graph.values[chain.back()].view.base);
  }
  const size_t whole = CountOf(shapes[chain.back()]);
  std::optional<Region> region = Region{chain.back(), 0, 1, whole, whole};
  for (size_t i = chain.size() - 1; i > 0 && region; --i) {
    const int part = chain[i - 1];
    if (!KeepsItsOffset(graph, part, shapes)) return {};
    const Shape& base = shapes[chain[i]];
    const Layout::Kind layout = graph.values[chain[i]].layout;
    region = Part(*region, LaidOut(base, layout), LaidOut(graph.values[part].view, base, layout),
                  CountOf(shapes[part]));
  }
  return region;
}

std::optional<Region> RegionOf(const Graph& graph, int value) {
  return RegionOf(graph, value, ShapesOf(graph));
}

namespace {

/// True if all these values are views of `whole`, one after the other. A value that occurs twice is
/// at one of the places only.
bool AreItsParts(const Graph& graph, const std::vector<int>& parts, int whole) {
  int offset = 0;
  for (const int part : parts) {
    const View& view = graph.values[part].view;
    const Shape& shape = graph.values[part].shape;
    if (view.base != whole || view.offset != offset) return false;
    if (view.axis < 0 || view.axis >= static_cast<int>(shape.size())) return false;
    offset += shape[view.axis];
  }
  return true;
}

}  // namespace

bool IsFree(const Graph& graph, const Node& node) {
  if (!node.epilogue.empty() || node.inputs.empty() || node.outputs.empty()) return false;
  const int input = node.inputs[0], output = node.outputs[0];
  if (node.type() == "Concat") return AreItsParts(graph, node.inputs, output);
  if (node.type() == "Slice") return AreItsParts(graph, node.outputs, input);
  if (node.type() != "Flatten" && node.type() != "Reshape" && node.type() != kReorder) return false;
  return graph.values[input].view.base == output || graph.values[output].view.base == input;
}

}  // namespace caffe::inference
