#include "timing.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>

#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "layer_text.hpp"

namespace caffe::inference {
namespace {

constexpr double kNever = 1e30;  // in a cache: not a candidate

/// of(id) for each value that the node touches, once, in the order in which it names them; the node
/// then has their places among these.
template <typename Function>
std::vector<Value> GatheredValues(Node* node, Function&& of) {
  std::vector<Value> values;
  std::map<int, int> places;
  const auto take = [&](int* id) {
    const auto [known, is_new] = places.insert({*id, static_cast<int>(values.size())});
    if (is_new) values.push_back(of(*id));
    *id = known->second;
  };
  for (int& input : node->inputs) take(&input);
  for (Epilogue& step : node->epilogue) {
    if (step.operand >= 0) take(&step.operand);
  }
  for (int& output : node->outputs) take(&output);
  return values;
}

}  // namespace

std::string Timing::KeyOf(const Graph& graph, const Node& node) const {
  const auto describe = [&](int id) {
    const char* const layouts[] = {"", "l", "b"};
    const Value& value = graph.values[id];
    return Join(" ", ShapeString(value.shape), Name(value.type), layouts[value.layout]);
  };
  std::string key = Join(target_.TimingKey(), " ", iterations_ == 0 ? "guess " : "",
                         node.implementation, " ", Name(node.math), " ", node.type());
  if (node.integers) key += " of integers";
  // A time says nothing about scratch memory: times with a limit are separate.
  if (max_workspace_ > 0) key += Join(" within ", max_workspace_);
  for (const int input : node.inputs) key += describe(input);
  key += " ->";
  for (const int output : node.outputs) key += describe(output);
  for (const Epilogue& step : node.epilogue) {
    key += " + " + step.layer.type();
    if (step.operand >= 0) key += describe(step.operand);
    if (!step.layer.has_convolution_param()) continue;
    key += Join(" ", Name(step.type), " ", CanonicalText(step.layer));
  }
  return key + " " + CanonicalText(node.layer);
}

Timing::IsolatedNode Timing::Isolated(const LoweringContext& context, const Node& node,
                                      const Candidate& candidate) const {
  IsolatedNode isolated;
  Graph& graph = isolated.graph;
  Node& lowered = isolated.node;
  lowered = node;
  lowered.math = candidate.math;
  lowered.implementation = candidate.FullName();
  // Only the node's values, in the candidate's formats.
  std::map<int, Format> formats;
  const auto take = [&](int value, const Format& format) {
    const auto [known, is_new] = formats.insert({value, format});
    if (!is_new && known->second != format) throw Unsupported("wants one blob in two formats");
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) take(node.inputs[i], candidate.inputs[i]);
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    const int operand = node.epilogue[i].operand;
    if (operand >= 0) take(operand, candidate.operands[i]);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) take(node.outputs[i], candidate.outputs[i]);
  graph.values = GatheredValues(&lowered, [&](int id) {
    Value value = context.graph.values[id];
    SetFormat(target_, formats.at(id), context.ranges[id], &value);
    return value;
  });
  isolated.key = KeyOf(graph, lowered);
  return isolated;
}

double Timing::Measured(const Candidate& candidate, IsolatedNode* isolated) const {
  const auto describe = [&] {
    return Join(DescribeLayer(isolated->node), ": implementation '", candidate.FullName(), "' in ",
                Name(candidate.math), " fails");
  };
  try {
    PackParameters(*candidate.implementation, isolated->graph, &isolated->node);
    return target_.Measure(isolated->graph, isolated->node, iterations_, max_workspace_);
  } catch (const Unsupported&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw LacksMemory("needs more memory than there is");
  } catch (const std::length_error&) {
    throw LacksMemory("needs more memory than there can be");
  } catch (const Error& error) {
    if (candidate.implementation != &target_.any_layer()) Fail(describe(), ": ", error.what());
    throw Unsupported(Join("refuses the numbers that it is timed with: ", error.what()));
  } catch (const std::exception& error) {
    Fail(describe(), ": ", error.what());
  }
}

std::optional<double> Timing::Known(const std::string& key) const {
  const std::optional<double> known = cache_ ? cache_->Find(key) : std::nullopt;
  if (known == kNever) throw Unsupported("was not a candidate when it was timed (timing cache)");
  return known;
}

double Timing::MeasuredOrNoted(const Candidate& candidate, IsolatedNode* isolated) const {
  try {
    return Measured(candidate, isolated);
  } catch (const LacksMemory&) {
    throw;
  } catch (const Unsupported&) {
    if (cache_) cache_->Set(isolated->key, kNever);
    throw;
  }
}

double Timing::Of(const LoweringContext& context, const Node& node, const Candidate& candidate) {
  IsolatedNode isolated = Isolated(context, node, candidate);
  if (const std::optional<double> known = Known(isolated.key)) {
    // Timed for an equal node before, to the end: Again() need not go on with it.
    measured_.erase(isolated.key);
    return *known;
  }
  double time = MeasuredOrNoted(candidate, &isolated);
  if (iterations_ == 0) {
    time = Guess(context, node, candidate);
  } else {
    measured_.insert(isolated.key);
  }
  if (cache_) cache_->Set(isolated.key, time);
  return time;
}

double Timing::Again(const LoweringContext& context, const Node& node, const Candidate& candidate) {
  IsolatedNode isolated = Isolated(context, node, candidate);
  if (measured_.count(isolated.key) == 0) return candidate.microseconds;
  double least = candidate.microseconds;
  try {
    least = std::min(least, Measured(candidate, &isolated));
  } catch (const Unsupported&) {  // for lack of memory, or for the numbers: its time stands
  }
  if (cache_) cache_->Set(isolated.key, least);
  return least;
}

double Timing::OfLowered(const Graph& graph, const std::vector<Shape>& shapes, const Node& node) {
  IsolatedNode isolated;
  isolated.node = node;
  isolated.graph.values = GatheredValues(&isolated.node, [&](int id) {
    Value value = graph.values[id];
    value.shape = shapes[id];
    return value;
  });
  isolated.key = KeyOf(isolated.graph, isolated.node);
  if (const std::optional<double> known = Known(isolated.key)) return *known;
  Candidate candidate;
  candidate.implementation = &ImplementationOf(target_, node.implementation);
  candidate.variant = VariantOf(node);
  candidate.math = node.math;
  const Node unpacked = isolated.node;
  double time = MeasuredOrNoted(candidate, &isolated);
  isolated.node = unpacked;
  time = std::min(time, MeasuredOrNoted(candidate, &isolated));
  if (cache_) cache_->Set(isolated.key, time);
  return time;
}

// An estimate without measuring: the number of multiplications.
double Timing::Guess(const LoweringContext& context, const Node& node,
                     const Candidate& candidate) const {
  double work = 0;
  for (const int output : node.outputs) {
    work += static_cast<double>(CountOf(context.graph.values[output].shape));
  }
  if (MultipliesWeights(node) && !node.parameters.empty()) {
    const Shape& weights = node.parameters[0].shape;
    work *= static_cast<double>(CountOf(weights)) / weights[0];
  }
  return target_.RelativeTime(candidate) * work / 1e4;
}

double Timing::OfReorder(const LoweringContext& context, int value, const Format& from,
                         const Format& to) {
  if (from == to) return 0;
  Graph graph;
  graph.values = {context.graph.values[value], context.graph.values[value]};
  SetFormat(target_, from, context.ranges[value], &graph.values[0]);
  SetFormat(target_, to, context.ranges[value], &graph.values[1]);
  Node node;
  node.layer.set_type(kReorder);
  node.implementation = target_.reorder().name();
  node.inputs = {0};
  node.outputs = {1};
  const std::string key = KeyOf(graph, node);
  const auto known = reorders_.find(key);
  if (known != reorders_.end()) return known->second;
  std::optional<double> time = cache_ ? cache_->Find(key) : std::nullopt;
  if (!time) {
    time = iterations_ == 0 ? BytesOf(graph.values[0]) / 4e3
                            : target_.Measure(graph, node, iterations_, 0);
  }
  if (cache_) cache_->Set(key, *time);
  return reorders_[key] = *time;
}

}  // namespace caffe::inference
