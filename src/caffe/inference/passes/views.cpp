// Values are placed where their reader needs them. From the last layer to the first: bottoms of a
// Concat into its top, tops of a Slice into its bottom, and of Flatten and Reshape one into the
// other. A value has one place only; a layer copies the values that do not fit. Where channels are
// in blocks, only whole blocks can be shared; for a range of shapes, only values that begin at the
// same place in all of them.

#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/passes/passes.hpp"

namespace caffe::inference {
namespace {

bool SameForm(const Value& a, const Value& b) {
  return a.type == b.type && a.layout == b.layout && a.block == b.block &&
         a.affine.scale == b.affine.scale && a.affine.zero_point == b.affine.zero_point;
}

/// Another layout in name only: every channel has one position.
bool ChangesNothing(const Value& from, const Value& to) {
  return from.type == to.type && from.affine.scale == to.affine.scale &&
         from.affine.zero_point == to.affine.zero_point && from.shape.size() >= 2 &&
         CountOf(from.shape) == size_t(from.shape[0]) * from.shape[1] && HasWholeBlocks(from) &&
         HasWholeBlocks(to);
}

class ViewMaker {
 public:
  explicit ViewMaker(Graph graph)
      : graph_(std::move(graph)),
        dependent_(HaveDataDependentShapes(graph_)),
        producers_(Producers(graph_)),
        least_(ShapesInSmallestRun(graph_)) {}

  Graph Run() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (!node.epilogue.empty()) continue;
      if (node.type() == "Concat") {
        PlaceAll(node.inputs, node.outputs[0], JoinedAxis(node.layer));
      } else if (node.type() == "Slice") {
        PlaceAll(node.outputs, node.inputs[0], JoinedAxis(node.layer));
      } else if (node.type() == "Flatten" || node.type() == "Reshape") {
        PlaceReshaped(node.inputs[0], node.outputs[0]);
      } else if (node.type() == kReorder &&
                 ChangesNothing(graph_.values[node.inputs[0]], graph_.values[node.outputs[0]])) {
        PlaceReshaped(node.inputs[0], node.outputs[0]);
      }
    }
    return std::move(graph_);
  }

 private:
  // The parts of `whole` along an axis. Parts of the batch would lie elsewhere in a smaller one.
  void PlaceAll(const std::vector<int>& parts, int whole, int axis) {
    const Shape& shape = graph_.values[whole].shape;
    if (axis < 0) axis += static_cast<int>(shape.size());
    if (axis == 0) return;
    int offset = 0;
    for (const int part : parts) {
      const Value& value = graph_.values[part];
      if (SameForm(value, graph_.values[whole]) && HasWholeBlocks(value) &&
          HasWholeBlocks(graph_.values[whole]) &&
          (value.layout == Layout::PLAIN || (axis == 1 && offset % value.block == 0))) {
        Place(part, whole, axis, offset);
      }
      offset += graph_.values[part].shape[axis];
    }
  }

  // A top that has a place pulls the bottom there; else the top becomes a view of the bottom, whose
  // producer may still choose.
  void PlaceReshaped(int bottom, int top) {
    const Value& from = graph_.values[bottom];
    const Value& to = graph_.values[top];
    if (from.type != to.type || !HasWholeBlocks(from) || !HasWholeBlocks(to)) return;
    const bool has_place = graph_.values[top].view.base >= 0;
    if (has_place || !Place(top, bottom, 0, 0)) Place(bottom, top, 0, 0);
  }

  bool Place(int value, int base, int axis, int offset) {
    View& view = graph_.values[value].view;
    const bool own = producers_[value] >= 0 && !graph_.IsOutput(value);
    if (!own || view.base >= 0 || dependent_[value] || dependent_[base] ||
        graph_.values[base].is_constant() || RootOf(graph_, base) == value) {
      return false;
    }
    view = {base, axis, offset};
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (RootOf(graph_, i) == RootOf(graph_, base) &&
          !(RegionOf(graph_, i) && RegionOf(graph_, i, least_))) {
        view = View();
        return false;
      }
    }
    return true;
  }

  Graph graph_;
  const std::vector<bool> dependent_;
  const std::vector<int> producers_;
  const std::vector<Shape> least_;
};

}  // namespace

Graph MakeViews(Graph graph) { return ViewMaker(std::move(graph)).Run(); }

}  // namespace caffe::inference
