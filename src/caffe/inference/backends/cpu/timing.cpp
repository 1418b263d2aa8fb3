#include "timing.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "../../passes/graph_editing.hpp"
#include "../../plan_file.hpp"
#include "any_layer.hpp"
#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/float16.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "convolution_node.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

constexpr double kNever = 1e30;  // in a cache: no candidate

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Elements such as activations have: half of them 0 or more, none denormal.
void Fill(const Operand& operand) {
  const size_t count = operand.elements();
  std::minstd_rand random(1);
  if (SizeOf(operand.type) == 1) {
    for (size_t i = 0; i < count; ++i) operand.as<uint8_t>()[i] = random() >> 8 & 0x3f;
    return;
  }
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2048) / 1024 - 1;
  kernels::Convert(count, ElementType::FLOAT, values.data(), 1, 0, operand.type, operand.data, 1,
                   0);
}

/// Operands with memory of their own for every value of a node.
class Rig {
 public:
  Rig(const Graph& graph, const Node& node) {
    for (const int input : node.inputs) binding_.inputs.push_back(Made(graph.values[input]));
    for (const Epilogue& step : node.epilogue) {
      binding_.operands.push_back(step.operand < 0 ? Operand() : Made(graph.values[step.operand]));
    }
    for (const int output : node.outputs) binding_.outputs.push_back(Made(graph.values[output]));
  }
  const Binding& binding() const { return binding_; }

 private:
  Operand Made(const Value& value) {
    Operand operand = Described(value, value.shape);
    memory_.push_back(NewConstant(operand.type, operand.elements()));
    operand.data = const_cast<void*>(memory_.back().data.get());
    Fill(operand);
    return operand;
  }

  std::vector<Constant> memory_;
  Binding binding_;
};

std::string KeyOf(const Graph& graph, const Node& node, const std::string& implementation,
                  int iterations) {
  const auto describe = [&](int id) {
    const Value& value = graph.values[id];
    return Join(" ", ShapeString(value.shape), Name(value.type),
                value.layout == Layout::CHANNELS_BLOCKED ? "b" : "");
  };
  LayerParameter layer = node.layer;
  layer.clear_name();
  layer.clear_blobs();
  layer.clear_param();
  std::string key =
      Join(PlanFingerprint(), " ", omp_get_max_threads(), " threads ",
           iterations == 0 ? "guess " : "", implementation, " ", Name(node.math), " ", node.type());
  for (const int input : node.inputs) key += describe(input);
  key += " ->";
  for (const int output : node.outputs) key += describe(output);
  for (const Epilogue& step : node.epilogue) {
    key += " + " + step.layer.type();
    if (step.operand >= 0) key += describe(step.operand);
  }
  key += " " + layer.ShortDebugString();
  std::replace(key.begin(), key.end(), '\n', ' ');
  return key;
}

}  // namespace

void SetFormat(const Format& format, const Range& range, Value* value) {
  value->type = format.type;
  value->affine = AffineParameters();
  if (format.type == ElementType::INT8) {
    if (range.is_unsigned) value->type = ElementType::UINT8;
    value->affine.scale = range.scale;
  }
  value->layout = format.blocked ? Layout::CHANNELS_BLOCKED : Layout::PLAIN;
  value->block = format.blocked ? ChannelBlock() : 1;
}

std::optional<double> Timing::Of(const Context& context, const Node& node,
                                 const Candidate& candidate) {
  Graph graph = context.graph;
  std::map<int, Format> given;
  bool contradicts = false;
  const auto set = [&](int value, const Format& format) {
    contradicts = contradicts || (given.count(value) && given[value] != format);
    given[value] = format;
    SetFormat(format, context.ranges[value], &graph.values[value]);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) set(node.inputs[i], candidate.inputs[i]);
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    if (node.epilogue[i].operand >= 0) set(node.epilogue[i].operand, candidate.operands[i]);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) set(node.outputs[i], candidate.outputs[i]);
  if (contradicts) return std::nullopt;
  Node lowered = node;
  lowered.math = candidate.math;
  lowered.implementation = candidate.implementation->name();
  const std::string key = KeyOf(graph, lowered, lowered.implementation, iterations_);
  if (cache_) {
    const std::optional<double> known = cache_->Find(key);
    if (known) return *known == kNever ? std::nullopt : known;
  }
  std::optional<double> time;
  try {
    lowered.parameters = candidate.implementation->Pack(graph, lowered);
    time = Measure(graph, lowered);
  } catch (const Error&) {
    time.reset();
  }
  if (time && iterations_ == 0) time = Guess(context, node, candidate);
  if (cache_) cache_->Set(key, time.value_or(kNever));
  return time;
}

// A layer that computes in another type or layout than it was given is no candidate for that one.
std::optional<double> Timing::Measure(const Graph& graph, const Node& node) {
  const kernels::FlushDenormals flush_denormals;
  const auto step = ImplementationOf(node.implementation).Make(graph, node);
  LayerStep* layer = dynamic_cast<LayerStep*>(step.get());
  const bool plain_layer =
      layer && node.math == ElementType::FLOAT &&
      graph.values[node.outputs.empty() ? node.inputs[0] : node.outputs[0]].layout == Layout::PLAIN;
  if (iterations_ == 0 && (!layer || plain_layer)) return 0;
  const Rig rig(graph, node);
  step->Bind(rig.binding());
  if (max_workspace_ > 0 && step->scratch_bytes() > max_workspace_) return std::nullopt;
  const Constant scratch = NewConstant(ElementType::INT8, step->scratch_bytes());
  double least = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  // A short one is run more often: its time is disturbed more easily. A slow one is told from the
  // others by fewer runs.
  const auto ends = [&](int runs) {
    const double spent = MicrosecondsSince(start);
    return runs > 3 &&
           (spent > 200'000 || (runs >= iterations_ && spent > 2'000) || runs >= 10 * iterations_);
  };
  for (int runs = 0; !ends(runs); ++runs) {
    const auto begin = Clock::now();
    step->Run(Elements<void>(scratch));
    const double took = MicrosecondsSince(begin);
    if (layer && !plain_layer && !layer->native()) return std::nullopt;
    if (iterations_ == 0) return 0;
    if (runs > 0) least = std::min(least, took);
  }
  return least;
}

// By products: what kernels reached where it was measured, relative to oneDNN's.
double Timing::Guess(const Context& context, const Node& node, const Candidate& candidate) const {
  double work = 0;
  for (const int output : node.outputs) {
    work += static_cast<double>(CountOf(context.graph.values[output].shape));
  }
  if (MultipliesWeights(node) && !node.parameters.empty()) {
    const Shape& weights = node.parameters[0].shape;
    work *= static_cast<double>(CountOf(weights)) / weights[0];
  }
  const std::string name = candidate.implementation->name();
  double cost = 1;
  if (name == "winograd") cost = 0.5;
  if (name == "packed") cost = candidate.math == ElementType::FLOAT ? 1.1 : 1;
  if (name == "int8") cost = 0.7;
  if (name == "int8_winograd") cost = 0.4;
  if (name == "move") cost = 0.01;
  if (name == "layer") cost = candidate.outputs.empty() || candidate.outputs[0].blocked ? 1.5 : 2;
  return cost * work / 1e4;
}

double Timing::OfReorder(const Context& context, int value, const Format& from, const Format& to) {
  if (from == to) return 0;
  Graph graph;
  graph.values = {context.graph.values[value], context.graph.values[value]};
  SetFormat(from, context.ranges[value], &graph.values[0]);
  SetFormat(to, context.ranges[value], &graph.values[1]);
  const auto key = std::make_pair(BytesOf(graph.values[0]), std::make_pair(from, to));
  const auto known = reorders_.find(key);
  if (known != reorders_.end()) return known->second;
  Node node;
  node.layer.set_type(kReorder);
  node.implementation = cpu::Reorder().name();
  node.inputs = {0};
  node.outputs = {1};
  const std::string text = KeyOf(graph, node, node.implementation, iterations_);
  std::optional<double> time = cache_ ? cache_->Find(text) : std::nullopt;
  if (!time) time = iterations_ == 0 ? BytesOf(graph.values[0]) / 4e3 : *Measure(graph, node);
  if (cache_) cache_->Set(text, *time);
  return reorders_[key] = *time;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
