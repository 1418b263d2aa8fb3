#include "lowering.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "caffe/core/error_context.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "caffe/inference/quantize/bias_correction.hpp"
#include "choose_candidates.hpp"

namespace caffe::inference {
namespace {

// An engine that needs no OpenMP may take this much longer: its loops are shared by a LoopTeam,
// which waits for no thread that other processes keep off its core.
constexpr double kWithoutOpenMp = 1.03;

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

/// The candidates of all nodes with their times, and the best combination of them.
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
        exact_(ExactValues(graph_)),
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
  }

  /// Chooses a candidate for each node.
  void Search();
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
  bool Restrict(int value, const std::vector<int>& nodes, const std::vector<Layout::Kind>& layouts);
  bool NeedsOpenMp(size_t node, const Candidate& candidate) const;
  bool NeedsOpenMp(const std::vector<int>& choice) const;

  const LoweringContext& context_;
  const LoweringContext& timed_;
  const LoweringContext& least_;
  const Graph& graph_;
  const std::vector<int> producers_;
  const std::vector<std::vector<int>> readers_;
  const std::vector<bool> exact_;
  Timing* const timing_;
  std::vector<Found> found_;
  std::vector<std::vector<Candidate>> candidates_;
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

/// True if f(value, format) is for one of the inputs and outputs.
template <typename Function>
bool AnyInputOrOutput(const Node& node, const Candidate& candidate, Function&& f) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (f(node.inputs[i], candidate.inputs[i])) return true;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (f(node.outputs[i], candidate.outputs[i])) return true;
  }
  return false;
}

/// True if it reads or writes 8-bit integers with a zero point.
bool HasZeroPoints(const LoweringContext& context, const Node& node, const Candidate& candidate) {
  const auto has = [&](int value, const Format& format) {
    return value >= 0 && format.type == ElementType::INT8 && context.ranges[value].zero_point != 0;
  };
  for (size_t i = 0; i < node.epilogue.size(); ++i) {
    if (has(node.epilogue[i].operand, candidate.operands[i])) return true;
  }
  return AnyInputOrOutput(node, candidate, has);
}

/// True if it would read or write one of these values in another type than FLOAT.
bool Rounds(const std::vector<bool>& exact, const Node& node, const Candidate& candidate) {
  return AnyInputOrOutput(node, candidate, [&](int value, const Format& format) {
    return exact[value] && format.type != ElementType::FLOAT;
  });
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
  if (!node.integers && Rounds(exact_, node, candidate)) {
    return "would round labels, indices or coordinates";
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
    if (MostlyFillsBlocks(target, graph_.values[value])) Restrict(value, nodes, {Layout::PLAIN});
    return;
  }
  if (!Restrict(value, nodes, target.layouts())) Restrict(value, nodes, {Layout::PLAIN});
}

/// Keeps only the nodes' candidates that have the value in 8 bits in one of these layouts. Returns
/// false, and does nothing, unless all nodes have some in the same one.
bool FormatSearch::Restrict(int value, const std::vector<int>& nodes,
                            const std::vector<Layout::Kind>& layouts) {
  const auto has_in = [&](int node, const Candidate& candidate, Layout::Kind layout) {
    const Format bytes = {ElementType::INT8, layout};
    return ReadsAs(graph_.nodes[node], candidate, value, bytes) &&
           WritesAs(graph_.nodes[node], candidate, value, bytes);
  };
  const auto all_have = [&](Layout::Kind layout) {
    return std::all_of(nodes.begin(), nodes.end(), [&](int node) {
      const std::vector<Candidate>& all = candidates_[node];
      return std::any_of(all.begin(), all.end(),
                         [&](const Candidate& each) { return has_in(node, each, layout); });
    });
  };
  if (std::none_of(layouts.begin(), layouts.end(), all_have)) return false;
  for (const int node : nodes) {
    std::vector<Candidate>& all = candidates_[node];
    const auto others = std::remove_if(all.begin(), all.end(), [&](const Candidate& candidate) {
      return std::none_of(layouts.begin(), layouts.end(),
                          [&](Layout::Kind layout) { return has_in(node, candidate, layout); });
    });
    all.erase(others, all.end());
  }
  return true;
}

bool FormatSearch::NeedsOpenMp(size_t node, const Candidate& candidate) const {
  return candidate.implementation->NeedsOpenMp(graph_, graph_.nodes[node]);
}
bool FormatSearch::NeedsOpenMp(const std::vector<int>& choice) const {
  for (size_t i = 0; i < choice.size(); ++i) {
    if (NeedsOpenMp(i, candidates_[i][choice[i]])) return true;
  }
  return false;
}

void FormatSearch::Search() {
  constexpr double kNever = 1e15;
  CandidateCosts costs;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    std::vector<double>& of_node = costs.nodes.emplace_back();
    for (const Candidate& candidate : candidates_[i]) {
      of_node.push_back(CostOf(graph_, graph_.nodes[i], candidate));
    }
  }
  costs.reorder = [&](int value, const Format& from, const Format& to) {
    return WeightedTime(timing_->OfReorder(timed_, value, from, to), SizeOf(to.type),
                        SizeOf(ElementType::FLOAT));
  };
  std::vector<Format> preferred;
  for (const Layout::Kind layout : timing_->target().layouts()) {
    for (const ElementType type : context_.storage) preferred.push_back({type, layout});
  }
  double least = 0, without_openmp = 0;
  choice_ = ChooseCandidates(graph_, candidates_, preferred, costs, &least);
  if (!NeedsOpenMp(choice_)) return;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    for (size_t c = 0; c < candidates_[i].size(); ++c) {
      if (NeedsOpenMp(i, candidates_[i][c])) costs.nodes[i][c] = kNever;
    }
  }
  const std::vector<int> own =
      ChooseCandidates(graph_, candidates_, preferred, costs, &without_openmp);
  if (without_openmp <= kWithoutOpenMp * least) choice_ = own;
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

  /// An unused name; also that of no layer that is still to be rewritten.
  std::string ReorderName(const std::string& wanted) const {
    std::string name = wanted;
    for (int i = 2; graph_.FindNode(name) >= 0 || context_.graph.FindNode(name) >= 0; ++i) {
      name = Join(wanted, "_", i);
    }
    return name;
  }

  void AddReorder(int from, int to, int original, const Format& before, const Format& after) {
    Node node;
    node.layer.set_name(ReorderName(graph_.values[original].name + " to " + ToString(after)));
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

Graph ChooseImplementations(Graph graph, const LoweringOptions& options, Timing* timing) {
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

Graph PackWeights(Graph graph, const Target& target) {
  for (Node& node : graph.nodes) {
    WithLayer(node,
              [&] { PackParameters(ImplementationOf(target, node.implementation), graph, &node); });
  }
  return graph;
}

Graph Lower(Graph graph, const LoweringOptions& options, Timing* timing) {
  return PackWeights(ChooseImplementations(std::move(graph), options, timing), timing->target());
}

}  // namespace caffe::inference
