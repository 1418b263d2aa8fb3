#include "lowering.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "caffe/core/error_context.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "caffe/inference/quantize/bias_correction.hpp"

namespace caffe::inference {
namespace {

/// The time of a candidate, weighted by the bytes of the node's outputs in its formats.
double CostOf(const Graph& graph, const Node& node, const Candidate& candidate) {
  double floats = 0, own = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const double count = static_cast<double>(CountOf(graph.values[node.outputs[i]].shape));
    floats += count * SizeOf(ElementType::FLOAT);
    own += count * SizeOf(candidate.outputs[i].type);
  }
  return WeightedTime(candidate.microseconds, own, floats);
}

/// True for layers whose weights become 8-bit integers where they compute in INT8.
bool RoundsWeights(const Node& node) {
  return MultipliesWeights(node) && node.type() != "Deconvolution";
}

/// The candidates of all nodes with their times, and the search for the best combination.
class FormatSearch {
 public:
  /// `timed` and `least` are `context` in the shapes that are timed, and in the smallest.
  FormatSearch(const LoweringContext& context, const LoweringContext& timed,
               const LoweringContext& least, const LoweringOptions& options, Timing* timing)
      : context_(context),
        timed_(timed),
        least_(least),
        graph_(context.graph),
        producers_(Producers(graph_)),
        readers_(Readers(graph_)),
        timing_(timing) {
    const int count = static_cast<int>(graph_.nodes.size());
    timing_->target().Prepare([&] {
      for (int i = 0; i < count; ++i) Listed(i, MathsOf(i, options), nullptr);
    });
    for (int i = 0; i < count; ++i) {
      if (options.progress) options.progress(i, count, graph_.nodes[i].name());
      found_.emplace_back();
      candidates_.push_back(CandidatesOf(i, options));
      if (!candidates_.back().empty()) continue;
      Require(!graph_.nodes[i].integers, "layer '", graph_.nodes[i].name(), "' (",
              graph_.nodes[i].type(), "): no kernel computes it with integers alone");
      // A layer that refuses the numbers that it would be timed with is taken nevertheless.
      candidates_.back() = timing_->target().any_layer().Candidates(context_, graph_.nodes[i]);
      candidates_.back().resize(1);
      found_.back().timed = candidates_.back();
    }
    if (options.progress) options.progress(count, count, "");
    for (int value = static_cast<int>(graph_.values.size()); value-- > 0;) {
      ForceInt8(value, options);
    }
    for (int i = 0; i < count; ++i) {
      std::vector<double>& costs = costs_.emplace_back();
      for (const Candidate& candidate : candidates_[i]) {
        costs.push_back(CostOf(graph_, graph_.nodes[i], candidate));
      }
    }
  }

  /// The index of the chosen candidate of each node.
  const std::vector<int>& Search();
  const Candidate& chosen(int node) const { return candidates_[node][choice_[node]]; }
  /// The node's candidates, after Search.
  LayerCandidates Described(int node) const;

 private:
  /// The candidates found for a node.
  struct Found {
    std::vector<Candidate> timed;
    std::vector<LayerCandidates::Rejected> rejected;
    void Reject(const std::string& implementation, const std::string& reason);
  };

  std::set<ElementType> MathsOf(int index, const LoweringOptions& options) const;
  std::string WhyNot(const Implementation& implementation, const Node& node,
                     const Candidate& candidate, const std::set<ElementType>& maths) const;
  std::vector<Candidate> WaysOf(const Implementation& implementation, const Node& node,
                                const LoweringContext& context) const;
  std::vector<Candidate> Listed(int index, const std::set<ElementType>& maths, Found* found) const;
  std::vector<Candidate> CandidatesOf(int index, const LoweringOptions& options);
  std::vector<Candidate> Timed(int index, std::vector<Candidate> candidates, Found* found) const;
  void ForceInt8(int value, const LoweringOptions& options);
  bool Restrict(int value, const std::vector<int>& nodes, Layout::Kind layout);
  Format FormatOf(int value) const;
  double CostOfValue(int value) const;
  double CostAround(const std::vector<int>& nodes) const;
  double Cost() const;
  bool Improve(const std::vector<int>& nodes);
  void Descend();
  double CostOfNode(int node) const { return costs_[node][choice_[node]]; }

  const LoweringContext& context_;
  const LoweringContext& timed_;
  const LoweringContext& least_;
  const Graph& graph_;
  const std::vector<int> producers_;
  const std::vector<std::vector<int>> readers_;
  Timing* const timing_;
  std::vector<Found> found_;
  std::vector<std::vector<Candidate>> candidates_;
  std::vector<std::vector<double>> costs_;  // of the candidates
  std::vector<int> choice_;
};

bool Touches(const Node& node, const std::vector<bool>& values) {
  const auto marked = [&](int value) { return values[value]; };
  const std::vector<int> reads = node.Reads();
  return std::any_of(reads.begin(), reads.end(), marked) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), marked);
}

/// True if both are the same way of computing a node.
bool IsTheSame(const Candidate& a, const Candidate& b) {
  return a.implementation == b.implementation && a.variant == b.variant && a.math == b.math &&
         a.inputs == b.inputs && a.operands == b.operands && a.outputs == b.outputs;
}

/// Appends a candidate, or puts it in the place of a slower variant of itself.
void Keep(const Candidate& candidate, std::vector<Candidate>* all) {
  const auto same = std::find_if(all->begin(), all->end(), [&](const Candidate& other) {
    return !candidate.variant.empty() && other.implementation == candidate.implementation &&
           other.math == candidate.math && other.inputs == candidate.inputs &&
           other.operands == candidate.operands && other.outputs == candidate.outputs;
  });
  if (same == all->end()) {
    all->push_back(candidate);
  } else if (candidate.microseconds < same->microseconds) {
    *same = candidate;
  }
}

/// True if it reads or writes 8-bit integers with a zero point.
bool HasZeroPoints(const LoweringContext& context, const Node& node, const Candidate& candidate) {
  const auto has = [&](int value, const Format& format) {
    return value >= 0 && format.type == ElementType::INT8 && context.ranges[value].zero_point != 0;
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (has(node.inputs[i], candidate.inputs[i])) return true;
  }
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    if (has(node.epilogue[i].operand, candidate.operands[i])) return true;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (has(node.outputs[i], candidate.outputs[i])) return true;
  }
  return false;
}

/// True if it computes from 8-bit integers. Further inputs may give only a shape.
bool IsInBytes(const Candidate& candidate) {
  const auto is = [](const Format& format) { return format.type == ElementType::INT8; };
  return is(candidate.inputs.at(0)) &&
         std::all_of(candidate.outputs.begin(), candidate.outputs.end(), is);
}

/// The types that the node may compute in; empty: it has no weights.
std::set<ElementType> FormatSearch::MathsOf(int index, const LoweringOptions& options) const {
  return MultipliesWeights(graph_.nodes[index]) ? options.maths[index] : std::set<ElementType>();
}

void FormatSearch::Found::Reject(const std::string& implementation, const std::string& reason) {
  const auto same = [&](const LayerCandidates::Rejected& other) {
    return other.implementation == implementation && other.reason == reason;
  };
  if (std::any_of(rejected.begin(), rejected.end(), same)) return;
  rejected.push_back({implementation, reason});
}

/// Why a candidate for the node's largest shapes cannot be used in the build; "" if it can.
std::string FormatSearch::WhyNot(const Implementation& implementation, const Node& node,
                                 const Candidate& candidate,
                                 const std::set<ElementType>& maths) const {
  const auto is_one = [&](const LoweringContext& shaped) {
    if (&shaped.graph == &graph_) return true;
    LoweringContext wanted = shaped;
    wanted.maths = maths;
    const std::vector<Candidate> others = implementation.Candidates(wanted, node);
    return std::any_of(others.begin(), others.end(),
                       [&](const Candidate& other) { return IsTheSame(candidate, other); });
  };
  if (!maths.empty() && maths.count(candidate.math) == 0) {
    return Join("computes in ", Name(candidate.math), ", which is not asked for");
  }
  if (node.integers && !IsInBytes(candidate)) return "has floats, not integers alone";
  if (!implementation.TakesZeroPoints(node) && HasZeroPoints(context_, node, candidate)) {
    return "takes no integers with a zero point";
  }
  if (!is_one(timed_)) return "is not for the shapes that candidates are timed in";
  if (!is_one(least_)) return "is not for the smallest shapes";
  return "";
}

/// The candidates of one implementation; the context notes why others are rejected.
std::vector<Candidate> FormatSearch::WaysOf(const Implementation& implementation, const Node& node,
                                            const LoweringContext& context) const {
  const bool any = &implementation == &timing_->target().any_layer();
  if (Touches(node, context.dependent) && !any) {
    return context.None("is not for shapes that depend on the data");
  }
  if (!implementation.Takes(node)) {
    return context.None(node.integers ? "computes no such layer with integers alone"
                                      : "computes with integers alone");
  }
  std::vector<Candidate> ways;
  for (Candidate& candidate : implementation.Candidates(context, node)) {
    const std::string reason = WhyNot(implementation, node, candidate, context.maths);
    if (reason.empty()) {
      ways.push_back(std::move(candidate));
    } else {
      context.Note(reason);
    }
  }
  return ways;
}

/// All candidates for the node in these types (empty: in any). `found`, which may be null, gets the
/// reasons why others are rejected.
std::vector<Candidate> FormatSearch::Listed(int index, const std::set<ElementType>& maths,
                                            Found* found) const {
  const Node& node = graph_.nodes[index];
  std::vector<Candidate> all;
  for (const Implementation* implementation : timing_->target().implementations()) {
    std::vector<std::string> reasons;
    LoweringContext context = context_;
    context.maths = maths;
    if (found) context.reasons = &reasons;
    std::vector<Candidate> ways = WaysOf(*implementation, node, context);
    if (found && ways.empty() && reasons.empty()) reasons.push_back("has no kernel for it");
    for (const std::string& reason : reasons) found->Reject(implementation->name(), reason);
    std::move(ways.begin(), ways.end(), std::back_inserter(all));
  }
  // Shapes are known to FLOAT layers only.
  if (Touches(node, context_.dependent) && all.size() > 1) all.resize(1);
  return all;
}

std::vector<Candidate> FormatSearch::CandidatesOf(int index, const LoweringOptions& options) {
  const Node& node = graph_.nodes[index];
  Found* const found = &found_.back();
  std::vector<Candidate> wanted =
      Timed(index, Listed(index, MathsOf(index, options), found), found);
  if (!wanted.empty() || !MultipliesWeights(node)) return wanted;
  if (options.remark) {
    std::string names;
    for (const ElementType type : options.maths[index]) {
      names += (names.empty() ? "" : ", ") + std::string(Name(type));
    }
    options.remark(Join("layer '", node.name(), "' (", node.type(), ") cannot be computed in ",
                        names, ": it stays FLOAT"));
  }
  return Timed(index, Listed(index, {ElementType::FLOAT}, found), found);
}

// Those close to the fastest are timed in turns twice more, so that the order does not depend on
// other work of the machine while one of them was timed.
std::vector<Candidate> FormatSearch::Timed(int index, std::vector<Candidate> candidates,
                                           Found* found) const {
  constexpr int kRounds = 2;
  constexpr double kNear = 2;
  const Node& node = graph_.nodes[index];
  std::vector<Candidate> timed;
  double least = std::numeric_limits<double>::infinity();
  for (Candidate& candidate : candidates) {
    const bool only = candidates.size() == 1;
    try {
      candidate.microseconds = only ? 0 : timing_->Of(timed_, node, candidate);
    } catch (const Unsupported& reason) {
      found->Reject(candidate.FullName(), Join(Name(candidate.math), ": ", reason.what()));
      continue;
    }
    least = std::min(least, candidate.microseconds);
    timed.push_back(std::move(candidate));
  }
  for (int round = 0; round < kRounds && timed.size() > 1; ++round) {
    for (Candidate& candidate : timed) {
      if (candidate.microseconds > kNear * least) continue;
      candidate.microseconds = timing_->Again(timed_, node, candidate);
      least = std::min(least, candidate.microseconds);
    }
  }
  std::vector<Candidate> kept;
  for (const Candidate& candidate : timed) Keep(candidate, &kept);
  found->timed = std::move(timed);
  return kept;
}

/// True if the candidate reads the value in this format at each of the node's inputs.
bool ReadsAs(const Node& node, const Candidate& candidate, int value, const Format& format) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == value && candidate.inputs[i] != format) return false;
  }
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    if (node.epilogue[i].operand == value && candidate.operands[i] != format) return false;
  }
  return true;
}

bool WritesAs(const Node& node, const Candidate& candidate, int value, const Format& format) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == value && candidate.outputs[i] != format) return false;
  }
  return true;
}

/// True if blocks would pad the value's channels to twice as many or more.
bool MostlyFillsBlocks(const Target& target, const Value& value) {
  return value.shape.size() >= 2 && 2 * value.shape[1] <= target.block(ElementType::INT8);
}

// A value that its producer can write and all readers can read in 8 bits is kept in 8 bits,
// whatever was measured: four times the memory traffic is never faster, and memory use must not
// depend on noise. Likewise inputs of few channels (images) become 8-bit integers in Caffe's order
// if all readers take them. Only where layers may compute in no other type.
void FormatSearch::ForceInt8(int value, const LoweringOptions& options) {
  const int producer = producers_[value];
  if (readers_[value].empty() || graph_.IsOutput(value) || !context_.ranges[value].known()) return;
  std::vector<int> nodes = readers_[value];
  if (producer >= 0) nodes.push_back(producer);
  const std::set<ElementType> nothing_else = {ElementType::INT8};
  for (const int node : nodes) {
    // Integer-only nodes have bytes anyway, in whatever layout is fastest.
    if (options.maths[node] != nothing_else || graph_.nodes[node].integers) return;
  }
  const Target& target = timing_->target();
  if (producer < 0) {
    if (MostlyFillsBlocks(target, graph_.values[value])) Restrict(value, nodes, Layout::PLAIN);
    return;
  }
  if (!Restrict(value, nodes, target.layout())) Restrict(value, nodes, Layout::PLAIN);
}

/// Keeps only the nodes' candidates that have the value in 8 bits in this layout. Returns false,
/// and does nothing, if a node has none.
bool FormatSearch::Restrict(int value, const std::vector<int>& nodes, Layout::Kind layout) {
  const Format bytes = {ElementType::INT8, layout};
  std::map<int, std::vector<int>> kept;
  for (const int node : nodes) {
    const Node& of = graph_.nodes[node];
    for (size_t c = 0; c < candidates_[node].size(); ++c) {
      const Candidate& candidate = candidates_[node][c];
      if (ReadsAs(of, candidate, value, bytes) && WritesAs(of, candidate, value, bytes)) {
        kept[node].push_back(static_cast<int>(c));
      }
    }
    if (kept[node].empty()) return false;
  }
  for (const auto& [node, numbers] : kept) {
    std::vector<Candidate> candidates;
    for (const int c : std::set<int>(numbers.begin(), numbers.end())) {
      candidates.push_back(candidates_[node][c]);
    }
    candidates_[node] = std::move(candidates);
  }
  return true;
}

Format FormatSearch::FormatOf(int value) const {
  const int producer = producers_[value];
  if (producer < 0) return Format();
  const Node& node = graph_.nodes[producer];
  const auto place = std::find(node.outputs.begin(), node.outputs.end(), value);
  return chosen(producer).outputs[place - node.outputs.begin()];
}

/// The time of reorders to all formats in which the value is read.
double FormatSearch::CostOfValue(int value) const {
  const Format made = FormatOf(value);
  std::vector<Format> wanted;
  const auto want = [&](const Format& format) {
    if (format != made && std::find(wanted.begin(), wanted.end(), format) == wanted.end()) {
      wanted.push_back(format);
    }
  };
  for (const int reader : readers_[value]) {
    const Node& node = graph_.nodes[reader];
    const Candidate& candidate = chosen(reader);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == value) want(candidate.inputs[i]);
    }
    for (size_t i = 0; i < node.epilogue.size(); ++i) {
      if (node.epilogue[i].operand == value) want(candidate.operands[i]);
    }
  }
  if (graph_.IsOutput(value)) want(Format());
  double cost = 0;
  for (const Format& format : wanted) {
    cost += WeightedTime(timing_->OfReorder(timed_, value, made, format), SizeOf(format.type),
                         SizeOf(ElementType::FLOAT));
  }
  return cost;
}

/// The cost of these nodes and the values that they touch.
double FormatSearch::CostAround(const std::vector<int>& nodes) const {
  double cost = 0;
  std::set<int> values;
  for (const int index : nodes) {
    const Node& node = graph_.nodes[index];
    cost += CostOfNode(index);
    for (const int value : node.Reads()) values.insert(value);
    values.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const int value : values) cost += CostOfValue(value);
  return cost;
}

double FormatSearch::Cost() const {
  std::vector<int> all;
  for (size_t i = 0; i < candidates_.size(); ++i) all.push_back(static_cast<int>(i));
  return CostAround(all);
}

/// Tries every combination of candidates of one or two nodes; takes the best. False if nothing got
/// better.
bool FormatSearch::Improve(const std::vector<int>& nodes) {
  double least = CostAround(nodes);
  const double before = least;
  std::vector<int> best, tried(nodes.size(), 0);
  for (const int node : nodes) best.push_back(choice_[node]);
  const std::vector<int> old = best;
  while (true) {
    for (size_t i = 0; i < nodes.size(); ++i) choice_[nodes[i]] = tried[i];
    const double cost = CostAround(nodes);
    if (cost < least * (1 - 1e-9)) {
      least = cost;
      best = tried;
    }
    size_t digit = 0;
    while (digit < nodes.size() &&
           ++tried[digit] == static_cast<int>(candidates_[nodes[digit]].size())) {
      tried[digit++] = 0;
    }
    if (digit == nodes.size()) break;
  }
  for (size_t i = 0; i < nodes.size(); ++i) choice_[nodes[i]] = best[i];
  return least < before;
}

void FormatSearch::Descend() {
  const int count = static_cast<int>(graph_.nodes.size());
  for (bool better = true; better;) {
    better = false;
    for (int i = 0; i < count; ++i) better = Improve({i}) || better;
    for (int i = 0; i < count; ++i) {
      for (const int value : graph_.nodes[i].Reads()) {
        if (producers_[value] >= 0) better = Improve({producers_[value], i}) || better;
      }
    }
  }
}

// Starts from each node's fastest candidate, and from all nodes in one type and the target's layout
// where possible: these are in local minima that single steps may not reach.
const std::vector<int>& FormatSearch::Search() {
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  const auto start = [&](auto prefers) {
    choice_.clear();
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const auto key = [&](size_t c) {
        return std::make_pair(!prefers(candidates_[i][c]), costs_[i][c]);
      };
      size_t first = 0;
      for (size_t c = 1; c < candidates_[i].size(); ++c) {
        if (key(c) < key(first)) first = c;
      }
      choice_.push_back(static_cast<int>(first));
    }
    Descend();
    const double cost = Cost();
    if (cost >= least) return;
    least = cost;
    best = choice_;
  };
  start([](const Candidate&) { return true; });
  for (const ElementType type : context_.storage) {
    const Format wanted = {type, timing_->target().layout()};
    start([&](const Candidate& c) { return !c.outputs.empty() && c.outputs[0] == wanted; });
  }
  choice_ = best;
  return choice_;
}

LayerCandidates FormatSearch::Described(int index) const {
  const Node& node = graph_.nodes[index];
  const std::vector<Candidate>& kept = candidates_[index];
  LayerCandidates all;
  all.layers = {node.name()};
  for (const Epilogue& step : node.epilogue) all.layers.push_back(step.layer.name());
  all.type = node.type();
  all.rejected = found_[index].rejected;
  const auto format = [](const std::vector<Format>& formats) {
    return formats.empty() ? "" : ToString(formats[0]);
  };
  for (const Candidate& way : found_[index].timed) {
    LayerCandidates::Possible possible;
    possible.implementation = way.FullName();
    possible.math = way.math;
    possible.input = format(way.inputs);
    possible.output = format(way.outputs);
    possible.microseconds = way.microseconds;
    possible.is_chosen = IsTheSame(way, chosen(index));
    const auto has = [&](const std::string& variant) {
      return std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
        Candidate same = way;
        same.variant = variant.empty() ? other.variant : variant;
        return IsTheSame(same, other);
      });
    };
    if (way.variant.empty() ? !has("") : !has(way.variant)) {
      possible.note = !way.variant.empty() && has("") ? "another variant of it is faster"
                                                      : "blobs of INT8 layers lie in 8 bits";
    }
    all.possible.push_back(std::move(possible));
  }
  return all;
}

/// Builds the graph of the chosen candidates.
class Rewriting {
 public:
  Rewriting(const LoweringContext& context, const LoweringContext& timed,
            const LoweringOptions& options, const FormatSearch& search, Timing* timing)
      : context_(context),
        timed_(timed),
        options_(options),
        search_(search),
        timing_(timing),
        target_(timing->target()),
        graph_(context.graph) {}

  Graph Run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    formats_.assign(graph_.values.size(), Format());
    for (size_t i = 0; i < nodes.size(); ++i) Rewrite(nodes[i], search_.chosen(i));
    for (Node& node : graph_.nodes) {
      WithLayer(node, [&] {
        node.parameters = ImplementationOf(target_, node.implementation).Pack(graph_, node);
      });
    }
    graph_.target = target_.name();
    return std::move(graph_);
  }

 private:
  void Rewrite(Node node, const Candidate& candidate) {
    if (candidate.math == ElementType::INT8 && !node.integers && RoundsWeights(node) &&
        !options_.means.empty()) {
      const int input = node.inputs[0];
      CorrectBias(graph_.values[input].shape, options_.means[input], &node);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      node.inputs[i] = In(node.inputs[i], candidate.inputs[i]);
    }
    for (size_t i = 0; i < node.epilogue.size(); ++i) {
      int& operand = node.epilogue[i].operand;
      if (operand >= 0) operand = In(operand, candidate.operands[i]);
    }
    node.math = candidate.math;
    node.implementation = candidate.FullName();
    node.microseconds = static_cast<float>(candidate.microseconds);
    std::vector<int> wanted_plain;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int value = node.outputs[i];
      formats_[value] = candidate.outputs[i];
      if (graph_.IsOutput(value) && candidate.outputs[i] != Format()) {
        // The output keeps its name for users.
        node.outputs[i] = Copy(value, candidate.outputs[i]);
        copies_[{value, candidate.outputs[i]}] = node.outputs[i];
        formats_[value] = Format();
        wanted_plain.push_back(value);
      } else {
        SetFormat(target_, candidate.outputs[i], context_.ranges[value], &graph_.values[value]);
      }
    }
    graph_.nodes.push_back(std::move(node));
    for (const int value : wanted_plain) {
      const auto from = std::find_if(copies_.begin(), copies_.end(),
                                     [&](const auto& copy) { return copy.first.first == value; });
      AddReorder(from->second, value, value, from->first.second, Format());
    }
  }

  /// The value in this format: itself or a copy, which is created if there is none.
  int In(int value, const Format& format) {
    if (formats_[value] == format) return value;
    const auto known = copies_.find({value, format});
    if (known != copies_.end()) return known->second;
    const int copy = Copy(value, format);
    copies_[{value, format}] = copy;
    AddReorder(value, copy, value, formats_[value], format);
    return copy;
  }

  int Copy(int value, const Format& format) {
    const Value original = graph_.values[value];
    const int copy = graph_.AddValue(
        NewValueName(graph_, original.name + " as " + ToString(format)), original.shape);
    SetFormat(target_, format, context_.ranges[value], &graph_.values[copy]);
    graph_.values[copy].channel_scales = original.channel_scales;
    return copy;
  }

  void AddReorder(int from, int to, int original, const Format& before, const Format& after) {
    Node node;
    node.layer.set_name(
        NewNodeName(graph_, graph_.values[original].name + " to " + ToString(after)));
    node.layer.set_type(kReorder);
    node.layer.set_phase(TEST);
    node.inputs = {from};
    node.outputs = {to};
    node.implementation = target_.reorder().name();
    node.math = after.type;
    node.microseconds = static_cast<float>(timing_->OfReorder(timed_, original, before, after));
    graph_.nodes.push_back(node);
  }

  const LoweringContext& context_;
  const LoweringContext& timed_;
  const LoweringOptions& options_;
  const FormatSearch& search_;
  Timing* const timing_;
  const Target& target_;
  Graph graph_;
  std::vector<Format> formats_;                   // of the original values
  std::map<std::pair<int, Format>, int> copies_;  // of values in other formats
};

}  // namespace

double WeightedTime(double microseconds, double bytes, double float_bytes) {
  constexpr double kWeight = 0.02;
  return float_bytes == 0 ? microseconds : microseconds * (1 + kWeight * bytes / float_bytes);
}

Graph Lower(Graph graph, const LoweringOptions& options, Timing* timing) {
  std::vector<ElementType> storage = {ElementType::FLOAT};
  for (const std::set<ElementType>& maths : options.maths) {
    for (const ElementType type : maths) {
      if (std::find(storage.begin(), storage.end(), type) == storage.end()) {
        storage.push_back(type);
      }
    }
  }
  const bool has_range = !graph.min_inputs.empty();
  const Graph timed = has_range ? WithInputShapes(graph, graph.opt_inputs) : Graph();
  const Graph least = has_range ? WithInputShapes(graph, graph.min_inputs) : Graph();
  const auto context_of = [&](const Graph& shaped) {
    return LoweringContext{shaped, options.ranges, HaveDataDependentShapes(shaped), storage,
                           options.tensor_float};
  };
  const LoweringContext context = context_of(graph);
  const LoweringContext in_timed = context_of(has_range ? timed : graph);
  const LoweringContext in_least = context_of(has_range ? least : graph);
  FormatSearch search(context, in_timed, in_least, options, timing);
  search.Search();
  for (size_t i = 0; options.on_candidates && i < context.graph.nodes.size(); ++i) {
    options.on_candidates(search.Described(static_cast<int>(i)));
  }
  return Rewriting(context, in_timed, options, search, timing).Run();
}

}  // namespace caffe::inference
