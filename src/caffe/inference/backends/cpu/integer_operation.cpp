// Layers without weights on 8-bit integers, with integers alone.
#include <algorithm>

#include "../../passes/graph_editing.hpp"
#include "../../quantize/integer_operations.hpp"
#include "../moving_node.hpp"
#include "caffe/error.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

bool IsElementwise(const Node& node) {
  return node.type() == "Eltwise" || node.type() == "Axpy" ||
         (node.type() == "Scale" && node.inputs.size() == 2);
}

bool IsDivision(const Node& node) {
  return node.type() == "Softmax" || node.type() == "LRN" || node.type() == "Normalize" ||
         node.type() == "MVN";
}

bool IsResizing(const Node& node) { return node.type() == "Interp" || node.type() == "Resample"; }

/// What it is was found out when it became a node of integers (WhyNotIntegers).
bool Computes(const Node& node) {
  return node.integers && !MultipliesWeights(node) && !node.inputs.empty() && !node.outputs.empty();
}

/// True if the channels of all values lie in whole blocks, so that none that fill up come to lie in
/// between.
bool AreWhole(const Graph& graph, const Node& node) {
  const auto whole = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() >= 3 && shape[1] % ChannelBlock() == 0;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), whole) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), whole);
}

/// True if the factors are one for each image and channel: their blocks go with those of the rest.
bool HasFactorsByChannel(const Graph& graph, const Node& node) {
  const bool adds = node.type() == "Axpy";
  const Shape& x = graph.values[node.inputs[adds ? 1 : 0]].shape;
  const Shape& a = graph.values[node.inputs[adds ? 0 : 1]].shape;
  return x.size() >= 2 && a.size() >= 2 && a[0] == x[0] && a[1] == x[1] &&
         CountOf({a.begin() + 2, a.end()}) == 1 &&
         (adds || node.layer.scale_param().axis() == 0 ||
          node.layer.scale_param().axis() == -static_cast<int>(x.size()));
}

/// True if every channel of the outputs is made of that channel of the inputs, in the same way.
bool ComputesByChannel(const Node& node) {
  return node.type() == "Eltwise" || node.type() == "Pooling" || node.type() == "Upsample" ||
         IsResizing(node);
}

bool TakesBlocks(const Graph& graph, const Node& node) {
  if (graph.values[node.outputs[0]].shape.size() < 2) return false;
  if (ComputesByChannel(node)) return true;
  if (IsElementwise(node)) return HasFactorsByChannel(graph, node);
  if (SharesAffine(node) || node.type() == "Concat") {
    return JoinsChannels(graph, node) && AreWhole(graph, node);
  }
  if (IsDivision(node)) {
    return NormalizesBlocks(node, graph.values[node.inputs[0]].shape);
  }
  return true;
}

class Family : public Implementation {
 public:
  const char* name() const override { return "integers"; }
  bool Takes(const Node& node) const override { return node.integers.has_value(); }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!Computes(node)) return context.None("is for layers without weights, in integers");
    const auto known = [&](int value) { return context.WhyNotInt8(value).empty(); };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!ReadsShapeOnly(node, i) && !known(node.inputs[i])) {
        return context.None(context.WhyNotInt8(node.inputs[i]));
      }
    }
    if (!std::all_of(node.outputs.begin(), node.outputs.end(), known)) {
      return context.None("needs the range of each top");
    }
    std::vector<Candidate> candidates = InBytes(*this, node, {kPlain});
    if (TakesBlocks(context.graph, node)) {
      candidates.insert(candidates.begin(), InBytes(*this, node, {kBlocked})[0]);
    }
    return WithShapes(context, node, std::move(candidates));
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(Computes(node), "layer '", node.name(), "' (", node.type(),
            ") is none that integers compute");
    if (IsElementwise(node)) return MakeIntegerElementwise(node);
    if (node.type() == "Pooling") return MakeIntegerPooling(node);
    if (IsDivision(node)) return MakeIntegerNormalization(node);
    if (IsResizing(node)) return MakeIntegerResizing(node);
    if (SharesAffine(node) || node.type() == "Concat") return MakeIntegerMoving(graph, node);
    return MakeTableStep(node);
  }

 private:
  /// A bottom of which nothing but the shape is read may lie as it likes.
  static std::vector<Candidate> WithShapes(const LoweringContext& context, const Node& node,
                                           std::vector<Candidate> candidates) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!ReadsShapeOnly(node, i) || node.inputs[i] == node.inputs[0]) continue;
      std::vector<Candidate> all;
      for (const Candidate& candidate : candidates) {
        for (const ElementType type : context.storage) {
          if (type == ElementType::INT8 && !context.ranges[node.inputs[i]].known()) continue;
          for (const Layout::Kind layout : {kBlocked, kPlain}) {
            all.push_back(candidate);
            all.back().inputs[i] = {type, layout};
          }
        }
      }
      candidates = std::move(all);
    }
    return candidates;
  }
};

}  // namespace

const Implementation& IntegerOperation() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
