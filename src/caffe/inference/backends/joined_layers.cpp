#include "joined_layers.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "caffe/core/unsupported.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "element_types.hpp"

namespace caffe::inference {
namespace {

// A layer timed alone finds its bottom in the caches of the cores that read it. In a net another
// core may just have written it: what joined layers save of that no isolated timing sees.
constexpr double kUnseen = 1.1;

constexpr size_t kLongest = 6;     // links that are tried together
constexpr double kHopeless = 1.5;  // of their times: more of them are not tried

constexpr char kApart[] = "apart";

bool LieIn(Layout::Kind layout, const Graph& graph, const Node& node) {
  const std::vector<int> reads = node.Reads();
  const auto lies = [&](int value) { return graph.values[value].layout == layout; };
  return std::all_of(reads.begin(), reads.end(), lies) && lies(node.outputs[0]);
}

bool AreFloats(const Graph& graph, const Node& node) {
  const std::vector<int> reads = node.Reads();
  const auto is_float = [&](int value) { return IsFloatType(graph.values[value].type); };
  return std::all_of(reads.begin(), reads.end(), is_float) && is_float(node.outputs[0]);
}

/// The shape of a convolution of floating-point numbers in blocks of channels; not set for others.
std::optional<kernels::ConvolutionShape> FloatConvolution(const Graph& graph, const Node& node) {
  const bool is_one = !IsJoined(node) && IsConvolution(node) &&
                      LieIn(Layout::CHANNELS_BLOCKED, graph, node) && AreFloats(graph, node);
  return is_one ? ConvolutionShapeOf(graph, node) : std::nullopt;
}

bool IsDense1x1(const std::optional<kernels::ConvolutionShape>& shape) {
  return shape && shape->is_pointwise() && shape->group == 1;
}

/// A convolution that chains may have: of 8-bit integers by their products, or of floating-point
/// numbers with channels last or, of BFLOAT16, in blocks.
bool IsLink(const Graph& graph, const Node& node) {
  if (IsJoined(node) || !IsConvolution(node) || node.inputs.size() != 1 || !PostOpsOf(node) ||
      !ConvolutionShapeOf(graph, node)) {
    return false;
  }
  const bool is_last = LieIn(Layout::CHANNELS_LAST, graph, node);
  const bool is_blocked = LieIn(Layout::CHANNELS_BLOCKED, graph, node);
  if (node.math != ElementType::INT8) {
    return AreFloats(graph, node) &&
           (is_last || (is_blocked && node.math == ElementType::BFLOAT16));
  }
  return (is_last || is_blocked) && IsByteType(graph.values[node.inputs[0]].type);
}

Node JoinedNode(const Graph& graph, const std::vector<int>& block) {
  Node joined = graph.nodes[block[0]];
  for (size_t i = 1; i < block.size(); ++i) {
    const Node& next = graph.nodes[block[i]];
    const Value& between = graph.values[next.inputs[0]];
    joined.epilogue.push_back({next.layer, next.parameters, -1, between.name, between.type,
                               between.affine, next.integers});
    joined.epilogue.insert(joined.epilogue.end(), next.epilogue.begin(), next.epilogue.end());
    joined.folded.insert(joined.folded.end(), next.folded.begin(), next.folded.end());
  }
  joined.outputs = graph.nodes[block.back()].outputs;
  return joined;
}

class Joining {
 public:
  using OnCandidates = std::function<void(const LayerCandidates&)>;
  Joining(Graph graph, Timing* timing, const OnCandidates& on_candidates)
      : graph_(std::move(graph)),
        timing_(timing),
        on_candidates_(on_candidates),
        shapes_(graph_.opt_inputs.empty() ? ShapesOf(graph_)
                                          : ShapesFor(graph_, graph_.opt_inputs)),
        readers_(Readers(graph_)),
        seen_(graph_.nodes.size(), false),
        removed_(graph_.nodes.size(), false) {}

  Graph Run() && {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) JoinAround(static_cast<int>(i));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!seen_[i]) JoinFrom(static_cast<int>(i));
    }
    RemoveNodes(removed_, &graph_);
    return WithoutUnusedValues(std::move(graph_));
  }

 private:
  /// The fastest way of computing some nodes as one.
  struct Joined {
    Node node;  ///< of no implementation if there is no way
    double microseconds = 0;
    LayerCandidates compared;
    bool exists() const { return compared.possible.size() > 1; }
    double apart() const { return compared.possible[0].microseconds; }  ///< its layers' time
  };

  /// The only node that reads the value; -1 if there are several, or it is an output.
  int OnlyReader(int value) const {
    return readers_[value].size() == 1 && !graph_.IsOutput(value) ? readers_[value][0] : -1;
  }

  /// 0 where the layer cannot be timed, as for lack of memory: it gains nothing by being joined.
  double TimeOf(int index) const {
    const Node& node = graph_.nodes[index];
    if (node.microseconds > 0) return node.microseconds;
    // What had no other candidate was not timed.
    const auto [time, is_new] = times_.insert({index, 0});
    try {
      if (is_new) time->second = timing_->OfLowered(graph_, shapes_, node);
    } catch (const Unsupported&) {
    }
    return time->second;
  }

  /// A depthwise convolution and those around it that may be joined with it, in their order.
  std::vector<int> BlockAround(int depthwise) const {
    const Node& node = graph_.nodes[depthwise];
    const auto shape = FloatConvolution(graph_, node);
    if (!shape || !shape->is_depthwise() || !Activates(node)) return {};
    if (IsLink(graph_, node)) return {};  // runs of links are cut in JoinFrom
    const auto goes_with = [&](int other) {
      return other >= 0 && graph_.nodes[other].math == node.math &&
             IsDense1x1(FloatConvolution(graph_, graph_.nodes[other]));
    };
    std::vector<int> block = {depthwise};
    const int project = OnlyReader(node.outputs[0]);
    if (!goes_with(project) || graph_.nodes[project].inputs[0] != node.outputs[0] ||
        !PostOpsOf(graph_.nodes[project])) {
      return {};
    }
    block.push_back(project);
    const int expand = PrivateProducer(graph_, node.inputs[0]);
    if (goes_with(expand) && Activates(graph_.nodes[expand])) block.insert(block.begin(), expand);
    return block;
  }

  void JoinAround(int depthwise) {
    const std::vector<int> block = BlockAround(depthwise);
    if (block.empty()) return;
    Joined joined = Compared(block);
    Decide(block, &joined, joined.exists() && joined.microseconds < kUnseen * joined.apart());
  }

  /// The link that alone reads the output of this one and computes alike; -1: there is none.
  int NextOf(int index) const {
    const Node& node = graph_.nodes[index];
    if (!Activates(node)) return -1;
    const int next = OnlyReader(node.outputs[0]);
    if (next < 0 || !IsLink(graph_, graph_.nodes[next])) return -1;
    const Node& reader = graph_.nodes[next];
    const bool is_alike =
        reader.math == node.math && reader.integers.has_value() == node.integers.has_value();
    return is_alike && reader.inputs[0] == node.outputs[0] ? next : -1;
  }

  /// The first layer of a node reads what other cores may have written.
  double HandOver(int first) const { return (kUnseen - 1) * TimeOf(first); }

  /// Cuts a run of links, from this one on, into those that are joined and those
  /// that are not, such that all take the least time.
  void JoinFrom(int first) {
    std::vector<int> run;
    if (IsLink(graph_, graph_.nodes[first])) run.push_back(first);
    for (int next = run.empty() ? -1 : NextOf(first); next >= 0; next = NextOf(next)) {
      run.push_back(next);
    }
    if (run.size() < 2) return;
    struct Part {
      double microseconds = 0;  // of all up to its end
      size_t begin = 0;
      std::optional<Joined> joined;
    };
    std::vector<Part> parts(run.size() + 1);  // by their ends
    Joined nearest;                           // to being faster than its layers
    double least = std::numeric_limits<double>::max();
    for (size_t end = 1; end <= run.size(); ++end) {
      const int alone = run[end - 1];
      Part& best = parts[end];
      best.begin = end - 1;
      best.microseconds = parts[best.begin].microseconds + TimeOf(alone) + HandOver(alone);
      for (size_t count = 2; count <= std::min(end, kLongest); ++count) {
        const size_t begin = end - count;
        Joined joined = Compared({run.begin() + begin, run.begin() + end});
        const double microseconds =
            parts[begin].microseconds + joined.microseconds + HandOver(run[begin]);
        if (!joined.exists()) continue;
        const double share = joined.microseconds / joined.apart();
        if (microseconds > best.microseconds) {
          if (share < least) nearest = std::move(joined);
          least = std::min(least, share);
        } else {
          best = {microseconds, begin, std::move(joined)};
        }
        if (share > kHopeless) break;
      }
    }
    const auto is_joined = [](const Part& part) { return part.joined.has_value(); };
    if (std::none_of(parts.begin(), parts.end(), is_joined) && nearest.exists()) {
      Decide(run, &nearest, false);
    }
    std::vector<size_t> ends;
    for (size_t end = run.size(); end > 0; end = parts[end].begin) ends.push_back(end);
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
      Part& part = parts[*end];
      if (!part.joined) continue;
      Decide({run.begin() + part.begin, run.begin() + *end}, &*part.joined, true);
    }
    for (const int node : run) seen_[node] = true;
  }

  /// What joined layers are compared with.
  LayerCandidates DescribedApart(const std::vector<int>& block) const {
    LayerCandidates all;
    LayerCandidates::Possible apart;
    for (const int index : block) {
      const Node& node = graph_.nodes[index];
      all.layers.push_back(node.name());
      for (const Epilogue& step : node.epilogue) all.layers.push_back(step.layer.name());
      apart.microseconds += TimeOf(index);
    }
    const auto format = [&](int value) {
      return ToString(Format{graph_.values[value].type, graph_.values[value].layout});
    };
    const Node &first = graph_.nodes[block[0]], &last = graph_.nodes[block.back()];
    all.type = first.type();
    apart.implementation = kApart;
    apart.math = first.math;
    apart.input = format(first.inputs[0]);
    apart.output = format(last.outputs[0]);
    all.possible = {apart};
    return all;
  }

  Joined Compared(const std::vector<int>& block) const {
    Joined best;
    best.node = JoinedNode(graph_, block);
    best.node.implementation.clear();
    best.compared = DescribedApart(block);
    const LoweringContext context = {graph_, {}, {}, {}};
    const Node joined = best.node;
    for (const Implementation* const implementation : timing_->target().joining()) {
      for (const Candidate& candidate : implementation->Candidates(context, joined)) {
        Node way = joined;
        way.implementation = candidate.FullName();
        try {
          way.microseconds = static_cast<float>(timing_->OfLowered(graph_, shapes_, way));
        } catch (const Unsupported& reason) {
          best.compared.rejected.push_back({way.implementation, reason.what()});
          continue;
        }
        best.compared.possible.push_back(best.compared.possible[0]);
        best.compared.possible.back().implementation = way.implementation;
        best.compared.possible.back().microseconds = way.microseconds;
        if (best.node.implementation.empty() || way.microseconds < best.microseconds) {
          best.microseconds = way.microseconds;
          best.node = std::move(way);
        }
      }
    }
    return best;
  }

  void Decide(const std::vector<int>& block, Joined* joined, bool joins) {
    for (LayerCandidates::Possible& way : joined->compared.possible) {
      way.is_chosen = way.implementation == (joins ? joined->node.implementation : kApart);
    }
    if (on_candidates_) on_candidates_(joined->compared);
    if (!joins) return;
    // It runs where the last of them did: its residual is there by then.
    for (const int node : block) removed_[node] = node != block.back();
    graph_.nodes[block.back()] = std::move(joined->node);
  }

  Graph graph_;
  Timing* const timing_;
  const OnCandidates& on_candidates_;
  const std::vector<Shape> shapes_;
  const std::vector<std::vector<int>> readers_;
  std::vector<bool> seen_, removed_;
  mutable std::map<int, double> times_;  // of nodes that no other way had been timed for
};

}  // namespace

Graph JoinLayers(Graph graph, Timing* timing,
                 const std::function<void(const LayerCandidates&)>& on_candidates) {
  if (timing->target().joining().empty() || !timing->measures()) return graph;
  return Joining(std::move(graph), timing, on_candidates).Run();
}

}  // namespace caffe::inference
