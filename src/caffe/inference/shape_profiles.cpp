#include "shape_profiles.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "caffe/allocator.hpp"
#include "caffe/error.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "graph/constants.hpp"
#include "plan_file.hpp"

namespace caffe::inference {

size_t InputNamed(const Graph& graph, const std::string& name, const std::string& what) {
  std::string names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& input = graph.values[graph.inputs[i]].name;
    if (input == name || (name.empty() && graph.inputs.size() == 1)) return i;
    names += (i == 0 ? "'" : ", '") + input + "'";
  }
  Require(!name.empty(), what, ": the net has several inputs, name the one that is meant: ", names);
  Fail(what, ": the net has no input '", name, "'; it has ", names.empty() ? "none" : names);
}

namespace {

/// For each input; not set where the profile does not say.
std::vector<Shape> InOrder(const Graph& graph, const std::map<std::string, Shape>& shapes,
                           const char* what) {
  std::vector<Shape> all(graph.inputs.size());
  for (const auto& [name, shape] : shapes) {
    const size_t input = InputNamed(graph, name, what);
    Require(!shape.empty() && all[input].empty(), what, ": input '",
            graph.values[graph.inputs[input]].name, "' is named twice, or has an empty shape");
    all[input] = shape;
  }
  return all;
}

/// True if no extent of `a` is larger than that of `b`.
bool IsWithin(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] > b[axis]) return false;
  }
  return true;
}

void CheckOrder(const Value& input, const Shape& least, const Shape& best, const Shape& most) {
  for (const Shape* shape : {&least, &best, &most}) {
    Require(shape->size() == input.shape.size(), "input '", input.name, "' has ",
            input.shape.size(), " axes (", ShapeText(input.shape), "), and ", ShapeText(*shape),
            " has ", shape->size());
    for (const int extent : *shape) {
      Require(extent > 0, "input '", input.name, "': shape ", ShapeText(*shape),
              " has an extent that is not positive");
    }
  }
  Require(IsWithin(least, best) && IsWithin(best, most), "input '", input.name, "' has min ",
          ShapeText(least), ", opt ", ShapeText(best), " and max ", ShapeText(most),
          ": on each axis min must not be larger than opt, nor opt than max");
}

}  // namespace

std::string ShapesAsText(const Graph& graph, const std::vector<Shape>& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += Join(i == 0 ? "" : ", ", graph.values[graph.inputs[i]].name, " ", ShapeText(inputs[i]));
  }
  return text;
}

Graph WithProfile(const Graph& graph, const ShapeProfile& profile) {
  std::vector<Shape> least = InOrder(graph, profile.min, "min"),
                     best = InOrder(graph, profile.opt, "opt"),
                     most = InOrder(graph, profile.max, "max");
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = graph.values[graph.inputs[i]];
    if (most[i].empty()) most[i] = best[i];
    if (most[i].empty()) {
      Require(least[i].empty(), "input '", input.name, "' has a min shape only",
              Error::Remedy{"say opt or max too"});
      most[i] = input.shape;
    }
    if (best[i].empty()) best[i] = most[i];
    if (least[i].empty()) least[i] = best[i];
    CheckOrder(input, least[i], best[i], most[i]);
  }
  const auto attempt = [&](const char* which, const std::vector<Shape>& inputs) {
    try {
      return WithInputShapes(graph, inputs);
    } catch (Error& error) {
      error.AddContext(
          Join("its ", which, " shapes (", ShapesAsText(graph, inputs), ") cannot be run"));
      throw;
    }
  };
  attempt("min", least);
  attempt("opt", best);
  Graph ranged = attempt("max", most);
  ranged.min_inputs = std::move(least);
  ranged.opt_inputs = std::move(best);
  return ranged;
}

ShapeProfile ProfileOf(const Graph& graph) {
  ShapeProfile profile;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = graph.values[graph.inputs[i]];
    profile.min[input.name] = graph.min_inputs[i];
    profile.opt[input.name] = graph.opt_inputs[i];
    profile.max[input.name] = input.shape;
  }
  return profile;
}

bool IsInRange(const Graph& graph, const std::vector<Shape>& inputs) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!IsWithin(graph.min_inputs[i], inputs[i]) ||
        !IsWithin(inputs[i], graph.values[graph.inputs[i]].shape)) {
      return false;
    }
  }
  return true;
}

std::string RangeAsText(const Graph& graph) {
  std::string text;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = graph.values[graph.inputs[i]];
    text += Join(i == 0 ? "" : ", ", input.name, " ", ShapeText(graph.min_inputs[i]), " to ",
                 ShapeText(input.shape));
  }
  return text;
}

void ShareConstants(std::vector<Graph>* graphs) {
  using Data = std::shared_ptr<const void>;
  std::multimap<std::pair<size_t, uint64_t>, Data> known;
  std::map<std::pair<const void*, size_t>, Data> replaced;  // by the place that it had
  const auto share = [&](size_t bytes, Data* data) {
    const void* const before = data->get();
    const auto seen = replaced.find({before, bytes});
    if (seen != replaced.end()) return void(*data = seen->second);
    const auto key = std::make_pair(bytes, PlanChecksum(before, bytes, 0));
    const auto same = known.equal_range(key);
    for (auto other = same.first; other != same.second; ++other) {
      if (std::memcmp(other->second.get(), before, bytes) != 0) continue;
      *data = other->second;
      break;
    }
    if (data->get() == before) {
      // Its replacement may be read by kernels that need it aligned.
      if (reinterpret_cast<uintptr_t>(before) % Allocator::kAlignment != 0) {
        const Constant aligned = NewConstant(ElementType::INT8, bytes);
        std::memcpy(Elements<void>(aligned), before, bytes);
        *data = aligned.data;
      }
      known.insert({key, *data});
    }
    replaced[{before, bytes}] = *data;
  };
  const auto share_all = [&](std::vector<Constant>* constants) {
    for (Constant& constant : *constants) {
      share(constant.count() * SizeOf(constant.type), &constant.data);
    }
  };
  for (Graph& graph : *graphs) {
    for (Value& value : graph.values) {
      if (value.is_constant()) share(CountOf(value.shape) * SizeOf(value.type), &value.data);
    }
    for (Node& node : graph.nodes) {
      share_all(&node.parameters);
      for (Epilogue& step : node.epilogue) share_all(&step.parameters);
    }
  }
}

}  // namespace caffe::inference
