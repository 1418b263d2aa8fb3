// From a graph in floats to one in integers: B. Jacob et al., Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference (arXiv:1712.05877).
#include "integers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "bias_correction.hpp"
#include "blob_intervals.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "caffe/inference/passes/split_epilogues.hpp"
#include "integer_operations.hpp"
#include "moved_values.hpp"

namespace caffe::inference {
namespace {

/// Negative sums have a multiplier of their own, one for each output.
bool HasSlopes(const Node& node, const Epilogue& step) {
  if (step.layer.type() == "ReLU") return step.layer.relu_param().negative_slope() != 0;
  if (step.layer.type() != "PReLU") return false;
  Node with_step = node;
  with_step.epilogue = {step};
  return PostOpsOf(with_step).has_value();
}

size_t FusedIntoSums(const Node& node) {
  if (!MultipliesWeights(node) || node.epilogue.empty()) return 0;
  const Epilogue& first = node.epilogue[0];
  return first.operand < 0 && (ClampOf(first.layer) || HasSlopes(node, first)) ? 1 : 0;
}

/// The x where a function that rises from `low` on is y; it is between `low` and `high`.
double InverseOf(const kernels::Activation& f, double y, double low, double high) {
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (kernels::ValueOf(f, middle) < y ? low : high) = middle;
  }
  return high;
}

/// The relevant range of a function's argument, from that of its values: where the function tends
/// to a constant, steps of 1/255 do not resolve its last eight (TanH: four) units.
Interval BeforeFunction(const Node& node, const Interval& output) {
  const auto f = ActivationOf(node.layer);
  if (!f) return {};
  using kernels::Activation;
  const double a = f->a, b = f->b, most = std::max(output.most, 0.);
  switch (f->kind) {
    case Activation::SIGMOID:
      return {-8, 8};
    case Activation::TANH:
      return {-4, 4};
    case Activation::ELU:
      return b > 0 ? Interval{-8, output.most / b} : Interval();
    case Activation::SWISH:  // at least x / 2 for x > 0
      return a > 0 ? Interval{-8 / a, InverseOf(*f, output.most, output.most, 2 * output.most)}
                   : Interval();
    case Activation::HARD_SWISH:  // at least b x for x > 0
      return a > 0 && b > 0 ? Interval{-b / a, InverseOf(*f, most, 0, most / std::min(b, 1.))}
                            : Interval();
    case Activation::GELU:  // at least x / 2 for x > 0
      return {-5, InverseOf(*f, most, 0, 2 * most)};
    case Activation::RELU:
      return a < 0 ? Interval() : Interval{a > 0 ? output.least / a : output.least, output.most};
    case Activation::CLIPPED_RELU:
      return b < 0 ? Interval() : Interval{b > 0 ? output.least / b : output.least, output.most};
    case Activation::CLIP:
      return output;
    default:
      return {};
  }
}

/// Decides which nodes are integer-only, and how their values are quantized.
class IntegerPlan {
 public:
  IntegerPlan(Graph graph, const CalibrationTable& table, const IntegerOptions& options)
      : graph_(std::move(graph)), table_(table), options_(options) {}

  Graph Run() {
    FindReasons();
    do {
      while (FindIntervals()) {  // fewer nodes in integers, smaller groups
      }
      Quantize();
    } while (FindRefusals());
    Report();
    JoinBounds();
    SetParameters();
    if (options_.activation_bits < 8) ClampFloats();
    return WithoutUnusedValues(std::move(graph_));
  }

 private:
  bool IsInteger(size_t node) const { return reasons_[node].empty(); }

  /// Values with one scale: those of nodes that SharesAffine, and of a Concat and its bottoms, so
  /// that it costs nothing. Bottoms with a fixed scale are rescaled in a Concat with others.
  MovedValues FindGroups() const {
    MovedValues groups(graph_.values.size());
    std::vector<int> fixed;
    const auto is_fixed = [&](int value) {
      return std::any_of(fixed.begin(), fixed.end(),
                         [&](int other) { return groups.GroupOf(other) == groups.GroupOf(value); });
    };
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!IsInteger(i)) continue;
      if (FixedAffine(node)) fixed.push_back(node.outputs[0]);
      std::vector<int> inputs = ReadInputs(node);
      if (node.type() == "Concat") {
        inputs.erase(std::remove_if(inputs.begin(), inputs.end(), is_fixed), inputs.end());
        groups.Add(inputs, node.outputs, /*keeps=*/true);
      } else if (SharesAffine(node)) {
        groups.Add(inputs, node.outputs, KeepsRange(graph_, node));
      }
    }
    return groups;
  }

  void FindReasons() {
    const std::vector<bool> dependent = HaveDataDependentShapes(graph_);
    reasons_.resize(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const auto depends = [&](int value) { return dependent[value]; };
      const std::vector<int> reads = node.Reads();
      if (!options_.wanted[i]) {
        reasons_[i] = "another precision was given for it, as by -layer_precision: leave that out";
      } else if (std::any_of(reads.begin(), reads.end(), depends) ||
                 std::any_of(node.outputs.begin(), node.outputs.end(), depends)) {
        reasons_[i] = "shapes depend on the data";
      } else {
        reasons_[i] = MultipliesWeights(node) ? WhyNotIntegerWeights(graph_, node)
                                              : WhyNotIntegers(graph_, node);
      }
    }
  }

  /// True if further nodes turned out not to be integer-only.
  bool FindIntervals() {
    groups_.emplace(FindGroups());
    intervals_.assign(graph_.values.size(), Interval());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const BlobCalibration* found = table_.Find(graph_.values[i].name);
      if (!found || graph_.values[i].is_constant()) continue;
      IntervalOfGroup(static_cast<int>(i)).Include(IntervalOf(graph_.values[i].name, *found));
    }
    IncludeFixedBottoms();
    without_range_ = groups_->WithoutRange(graph_, table_, DeriveIntervals());
    bool changed = false;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!IsInteger(i)) continue;
      const int unknown = UnknownValue(graph_.nodes[i]);
      if (unknown < 0) continue;
      reasons_[i] =
          "the range of blob '" + graph_.values[unknown].name + "' is not known: calibrate again";
      changed = true;
    }
    return changed;
  }

  Interval& IntervalOfGroup(int value) { return intervals_[groups_->GroupOf(value)]; }

  /// A Concat rescales bottoms with a fixed scale to that of its top, which has room for them.
  void IncludeFixedBottoms() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!IsInteger(i) || node.type() != "Concat") continue;
      const int top = node.outputs[0];
      if (table_.Find(graph_.values[top].name)) continue;
      for (const int input : node.inputs) {
        const auto fixed = FixedOf(input);
        if (!fixed || groups_->GroupOf(input) == groups_->GroupOf(top)) continue;
        Interval range = IntervalOfGroup(input);
        if (!range.known()) {
          range = {fixed->scale * -double(fixed->zero_point),
                   fixed->scale * double(LargestOf(true, 8) - fixed->zero_point)};
        }
        IntervalOfGroup(top).Include(range);
      }
    }
  }

  // From the last node to the first: values between a layer and its activation. Per value: it has
  // one now.
  std::vector<bool> DeriveIntervals() {
    std::vector<bool> derived(graph_.values.size());
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (!IsInteger(i) || node.inputs.size() != 1 || node.outputs.size() != 1) continue;
      Interval& before = IntervalOfGroup(node.inputs[0]);
      const bool is_fixed = FixedAffine(node).has_value();
      const Interval& after = IntervalOfGroup(node.outputs[0]);
      if (before.known() || !(after.known() || is_fixed) || !ReadsAlone(i)) continue;
      before = BeforeFunction(node, after);
      derived[node.inputs[0]] = before.known();
    }
    return derived;
  }

  /// True if nothing but the node reads the numbers of its bottom, which is no output of the net:
  /// what others read may be beyond what matters to a function that tends to a constant. Nodes that
  /// move them to values that share their scale do not count, but what reads these does.
  bool ReadsAlone(size_t node) {
    const int group = groups_->GroupOf(graph_.nodes[node].inputs[0]);
    const auto shares = [&](int value) { return groups_->GroupOf(value) == group; };
    if (std::any_of(graph_.outputs.begin(), graph_.outputs.end(), shares)) return false;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& other = graph_.nodes[i];
      const std::vector<int> reads = ReadInputs(other);
      if (i == node || std::none_of(reads.begin(), reads.end(), shares)) continue;
      if (other.outputs.empty() || !shares(other.outputs[0])) return false;
    }
    return true;
  }

  int UnknownValue(const Node& node) {
    std::vector<int> values = ReadInputs(node);
    if (!FixedAffine(node)) {
      values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    }
    for (const int value : values) {
      if (FixedOf(value)) continue;
      if (without_range_[value] || !IntervalOfGroup(value).known()) return value;
    }
    return -1;
  }

  /// The fixed quantization of the group's only producer.
  std::optional<AffineParameters> FixedOf(int value) {
    const int group = groups_->GroupOf(value);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!IsInteger(i) || node.outputs.empty() || groups_->GroupOf(node.outputs[0]) != group)
        continue;
      const auto fixed = FixedAffine(node);
      if (fixed) return fixed;
    }
    return {};
  }

  /// True if nodes cannot be computed with the scales of their values.
  bool FindRefusals() {
    bool changed = false;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!IsInteger(i)) continue;
      Node node = graph_.nodes[i];
      try {
        SetNumbers(&node);
      } catch (const Error& error) {
        reasons_[i] = error.what();
        const std::string prefix = Join("layer '", node.name(), "' (", node.type(), "): ");
        if (reasons_[i].rfind(prefix, 0) == 0) reasons_[i].erase(0, prefix.size());
        changed = true;
      }
    }
    return changed;
  }

  void Report() const {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (IsInteger(i) || node.outputs.empty()) continue;
      Require(!options_.refuses, "layer '", node.name(), "' (", node.type(),
              ") cannot be computed with integers alone: ", reasons_[i],
              "; -arithmetic integer computes it in floats");
      if (options_.remark) {
        options_.remark(Join("layer '", node.name(), "' (", node.type(),
                             ") computes in floats: ", reasons_[i]));
      }
    }
  }

  /// Gives the values that integer nodes read and write their type and quantization.
  void Quantize() {
    std::vector<bool> in_bytes(graph_.values.size(), false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!IsInteger(i)) continue;
      for (const int value : ReadInputs(graph_.nodes[i])) in_bytes[value] = true;
      for (const int value : graph_.nodes[i].outputs) in_bytes[value] = true;
    }
    has_fixed_.assign(graph_.values.size(), false);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      Value& value = graph_.values[i];
      if (value.is_constant()) continue;
      value.type = ElementType::FLOAT;
      value.affine = AffineParameters();
      if (!in_bytes[i]) continue;
      const int index = static_cast<int>(i);
      const Range range =
          RangeOf(IntervalOfGroup(index), options_.weights.scheme, options_.activation_bits);
      const auto fixed = FixedOf(index);
      has_fixed_[i] = fixed.has_value();
      value.affine = fixed.value_or(AffineParameters{range.scale, range.zero_point});
      value.type = fixed || range.is_unsigned ? ElementType::UINT8 : ElementType::INT8;
      Require(std::isnormal(value.affine.scale), "blob '", value.name, "': its scale would be ",
              value.affine.scale, ": its range is too small or too large for a float");
    }
  }

  /// ReLU, ReLU6 and Clip behind a sum, product or maximum become bounds of its bytes.
  void JoinBounds() {
    for (size_t i = 0; i < graph_.nodes.size();) {
      const Node& node = graph_.nodes[i];
      const int producer = IsInteger(i) && ClampOf(node.layer) && node.inputs.size() == 1
                               ? PrivateProducer(graph_, node.inputs[0])
                               : -1;
      if (producer < 0 || !IsInteger(producer) || graph_.nodes[producer].type() != "Eltwise" ||
          !graph_.nodes[producer].epilogue.empty()) {
        ++i;
        continue;
      }
      graph_.nodes[producer].epilogue.push_back(
          {node.layer, node.parameters, -1, graph_.values[node.inputs[0]].name});
      graph_.nodes[producer].outputs[0] = node.outputs[0];
      RemoveNode(static_cast<int>(i), &graph_);
      reasons_.erase(reasons_.begin() + i);
    }
  }

  void SetParameters() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (IsInteger(i)) SetNumbers(&graph_.nodes[i]);
    }
  }

  /// Integer nodes write no more than the bits of blobs hold. Bytes of inputs and of what floats
  /// compute are clamped to them by nodes of their own.
  void ClampFloats() {
    const std::vector<int> producers = Producers(graph_);
    std::vector<bool> read(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      for (const int value : node.Reads()) read[value] = true;
    }
    const auto is_integer = [&](int node) { return node >= 0 && graph_.nodes[node].integers; };
    std::vector<std::vector<Node>> behind(graph_.nodes.size() + 1);  // each node, and the inputs
    const size_t values = graph_.values.size();
    for (size_t i = 0; i < values; ++i) {
      const Value value = graph_.values[i];
      const bool in_bytes = value.type == ElementType::INT8 || value.type == ElementType::UINT8;
      if (!in_bytes || !read[i] || value.is_constant() || has_fixed_[i]) continue;
      if (is_integer(producers[i])) continue;
      behind[producers[i] + 1].push_back(Clamp(static_cast<int>(i)));
    }
    std::vector<Node> nodes = std::move(behind[0]);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      nodes.push_back(std::move(graph_.nodes[i]));
      for (Node& clamp : behind[i + 1]) nodes.push_back(std::move(clamp));
    }
    graph_.nodes = std::move(nodes);
  }

  /// A node that clips the value for all that read it.
  Node Clamp(int from) {
    Value clamped = graph_.values[from];
    const bool is_unsigned = clamped.type == ElementType::UINT8;
    const int most = LargestOf(is_unsigned, options_.activation_bits);
    const auto real = [&](int byte) {
      return clamped.affine.scale * static_cast<float>(byte - clamped.affine.zero_point);
    };
    LayerParameter layer;
    layer.set_type("Clip");
    layer.set_name(NewNodeName(graph_, clamped.name + "_clamp"));
    layer.mutable_clip_param()->set_min(real(is_unsigned ? 0 : -most));
    layer.mutable_clip_param()->set_max(real(most));
    clamped.name = NewValueName(graph_, layer.name());
    const int to = static_cast<int>(graph_.values.size());
    if (!graph_.IsInput(from)) {
      std::swap(clamped.name, graph_.values[from].name);
      std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
    }
    graph_.values.push_back(std::move(clamped));
    has_fixed_.push_back(false);
    for (Node& node : graph_.nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), from, to);
      for (Epilogue& step : node.epilogue) {
        if (step.operand == from) step.operand = to;
      }
    }
    Node node;
    node.layer = layer;
    node.inputs = {from};
    node.outputs = {to};
    SetNumbers(&node);
    return node;
  }

  /// Makes it an integer-only node. Throws Error.
  void SetNumbers(Node* node) const {
    IntegerArithmetic integers;
    integers.rounding = options_.rounding;
    SetBounds(*node, &integers);
    node->integers = integers;
    node->math = ElementType::INT8;
    if (!MultipliesWeights(*node)) {
      node->parameters = IntegerParameters(graph_, *node, integers.rounding);
      return;
    }
    const int input = node->inputs[0];
    if (input < static_cast<int>(options_.means.size()) && !options_.weights.to_nearest &&
        options_.weights.scheme != QuantizationScheme::PAPER) {
      CorrectBias(graph_.values[input].shape, options_.means[input], node);
    }
    node->parameters = WeightedIntegerParameters(graph_, *node, options_.weights,
                                                 &node->integers->weight_zero_point);
    if (node->type() == "InnerProduct") {
      node->layer.mutable_inner_product_param()->set_transpose(false);
    }
  }

  void SetBounds(const Node& node, IntegerArithmetic* integers) const {
    if (node.outputs.empty()) return;
    const Value& y = graph_.values[node.outputs[0]];
    const bool is_unsigned = y.type == ElementType::UINT8;
    // Values with a fixed scale, and those that share it, use all 8 bits.
    const int bits = has_fixed_[node.outputs[0]] ? 8 : options_.activation_bits;
    integers->most = LargestOf(is_unsigned, bits);
    integers->least = is_unsigned ? 0 : -integers->most;
    if (node.epilogue.empty()) return;
    const auto clamp = ClampOf(node.epilogue[0].layer);
    if (!clamp) return;
    const auto byte = [&](double real) {
      const double steps = std::round(real / y.affine.scale) + y.affine.zero_point;
      return static_cast<int32_t>(std::clamp<double>(steps, integers->least, integers->most));
    };
    if (clamp->least) integers->least = byte(*clamp->least);
    if (clamp->most) integers->most = byte(*clamp->most);
  }

  Graph graph_;
  const CalibrationTable& table_;
  const IntegerOptions& options_;
  std::vector<std::string> reasons_;   // of each node; "": integers compute it
  std::optional<MovedValues> groups_;  // of values with one scale
  std::vector<bool> without_range_;    // of each value: see MovedValues::WithoutRange
  std::vector<Interval> intervals_;    // of each group
  std::vector<bool> has_fixed_;        // of each value: its scale is that of a function's values
};

}  // namespace

Graph SplitForIntegers(Graph graph) { return SplitEpilogues(std::move(graph), FusedIntoSums); }

Graph ToIntegers(Graph graph, const CalibrationTable& table, const IntegerOptions& options) {
  return IntegerPlan(std::move(graph), table, options).Run();
}

std::vector<Range> RangesOf(const Graph& integers) {
  std::vector<Range> ranges(integers.values.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Value& value = integers.values[i];
    if (value.type != ElementType::UINT8 && value.type != ElementType::INT8) continue;
    ranges[i].scale = value.affine.scale;
    ranges[i].zero_point = value.affine.zero_point;
    ranges[i].is_unsigned = value.type == ElementType::UINT8;
  }
  return ranges;
}

}  // namespace caffe::inference
