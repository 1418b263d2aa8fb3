#include <limits>
#include <set>

#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "regions.hpp"

namespace caffe::inference {
namespace {

void CheckShape(const Shape& shape, const std::string& what) {
  size_t count = 1;
  for (const int extent : shape) {
    Require(extent >= 0, what, ": extent ", extent, " is negative");
    Require(extent == 0 || count <= std::numeric_limits<int>::max() / static_cast<size_t>(extent),
            what, " has more than 2^31 - 1 elements");
    count *= extent;
  }
}

class Validation {
 public:
  explicit Validation(const Graph& graph) : graph_(graph), available_(graph.values.size(), false) {}

  void Run() {
    CheckValues();
    for (const int input : graph_.inputs) {
      CheckIndex(input, "the graph's inputs");
      Require(!available_[input], Quoted(input), " is given twice, as an input");
      available_[input] = true;
    }
    std::set<std::string> names;
    for (const Node& node : graph_.nodes) {
      Require(!node.name().empty(), "a node of type ", node.type(), " has no name");
      Require(names.insert(node.name()).second, "two nodes are called '", node.name(), "'");
      try {
        CheckNode(node);
      } catch (Error& error) {
        error.AddContext(Join("node '", node.name(), "' (", node.type(), ")"));
        throw;
      }
    }
    for (const int output : graph_.outputs) {
      CheckIndex(output, "the graph's outputs");
      Require(available_[output], "the graph's output ", Quoted(output), " is made by no node");
    }
    CheckRange();
    CheckPlaces();
    if (graph_.preprocessing) graph_.preprocessing->Validate(graph_);
  }

 private:
  std::string Quoted(int value) const { return "value '" + graph_.values[value].name + "'"; }

  void CheckIndex(int value, const std::string& where) const {
    Require(value >= 0 && value < static_cast<int>(graph_.values.size()), where, " name value ",
            value, " of ", graph_.values.size());
  }

  void CheckValues() {
    std::set<std::string> names;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      Require(!value.name.empty(), "value ", i, " has no name");
      Require(names.insert(value.name).second, "two values are called '", value.name, "'");
      CheckShape(value.shape, Quoted(i));
      available_[i] = value.is_constant();
      if (value.view.base < 0) continue;
      CheckIndex(value.view.base, Quoted(i) + " is a view; views");
      Require(!value.is_constant() && !graph_.values[value.view.base].is_constant(), Quoted(i),
              ": constants are no views, and nothing lies within them");
    }
  }

  void CheckConstants(const std::vector<Constant>& parameters) const {
    for (const Constant& parameter : parameters) {
      CheckShape(parameter.shape, "a parameter");
      Require(parameter.data != nullptr, "a parameter of shape ", ShapeString(parameter.shape),
              " has no elements");
    }
  }

  void CheckNode(const Node& node) {
    CheckConstants(node.parameters);
    for (const Epilogue& step : node.epilogue) CheckConstants(step.parameters);
    for (const int read : node.Reads()) {
      CheckIndex(read, "its inputs");
      Require(available_[read], "it reads ", Quoted(read), ", which no node before it makes");
    }
    Require(node.epilogue.empty() || !node.outputs.empty(), "it has an epilogue and no output");
    for (const int output : node.outputs) {
      CheckIndex(output, "its outputs");
      Require(!available_[output], "it makes ", Quoted(output), ", which there is already");
      available_[output] = true;
    }
  }

  void CheckRange() const {
    const size_t count = graph_.min_inputs.size();
    Require(graph_.opt_inputs.size() == count && (count == 0 || count == graph_.inputs.size()),
            "its range of shapes is not one of all inputs");
    for (size_t i = 0; i < count; ++i) {
      const Value& input = graph_.values[graph_.inputs[i]];
      const Shape &least = graph_.min_inputs[i], &best = graph_.opt_inputs[i];
      bool in_order = least.size() == input.shape.size() && best.size() == input.shape.size();
      for (size_t axis = 0; in_order && axis < least.size(); ++axis) {
        in_order = least[axis] > 0 && least[axis] <= best[axis] && best[axis] <= input.shape[axis];
      }
      Require(in_order, Quoted(graph_.inputs[i]), " has a range of shapes that are not in order");
    }
  }

  void CheckPlaces() const {
    const std::vector<bool> dependent = HaveDataDependentShapes(graph_);
    size_t planned = 0;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.view.base >= 0) {
        const std::optional<Region> region = RegionOf(graph_, i);
        Require(region.has_value() && region->end() <= CountOf(graph_.values[region->root].shape),
                Quoted(i), " does not lie within ", Quoted(value.view.base));
        Require(!dependent[i] && !dependent[value.view.base], Quoted(i),
                " is a view, and its shape depends on the data");
      }
      if (value.arena_offset < 0) continue;
      Require(!dependent[i], Quoted(i), " is planned, and its shape depends on the data");
      const size_t bytes = BytesOf(value);
      const size_t room = kernels::RoundUp(bytes, Allocator::kAlignment);
      const size_t offset = static_cast<size_t>(value.arena_offset);
      planned += room;
      Require(value.view.base < 0, Quoted(i), " is a view and planned");
      Require(offset % Allocator::kAlignment == 0 && offset <= graph_.arena_bytes &&
                  bytes <= graph_.arena_bytes - offset,
              Quoted(i), " does not lie within the arena of ", graph_.arena_bytes, " bytes");
    }
    // Between and behind values there may be room for what nodes need for themselves.
    Require(graph_.arena_bytes <= planned + kMaxScratch, "the arena has ", graph_.arena_bytes,
            " bytes, its values ", planned);
  }

  const Graph& graph_;
  std::vector<bool> available_;
};

}  // namespace

void Graph::Validate() const {
  try {
    Validation(*this).Run();
  } catch (Error& error) {
    error.AddContext("graph '" + name + "'");
    throw;
  }
}

}  // namespace caffe::inference
