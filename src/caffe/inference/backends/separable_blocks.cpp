#include "separable_blocks.hpp"

#include <algorithm>
#include <optional>

#include "caffe/core/unsupported.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "element_types.hpp"

namespace caffe::inference {
namespace {

// A layer timed alone finds its bottom in the caches of the cores that read it. In a net another
// core may just have written it: what a joined block saves of that no isolated timing sees.
constexpr double kUnseen = 1.1;

bool LiesInBlocks(const Graph& graph, int value) {
  const Value& v = graph.values[value];
  return v.layout == Layout::CHANNELS_BLOCKED && IsFloatType(v.type);
}

/// The shape of a convolution between values in blocks; not set for others.
std::optional<kernels::ConvolutionShape> BlockedConvolution(const Graph& graph, const Node& node) {
  if (node.integers || IsJoined(node) || !IsConvolution(node)) return {};
  const auto shape = ConvolutionShapeOf(graph, node);
  const std::vector<int> reads = node.Reads();
  const auto in_blocks = [&](int value) { return LiesInBlocks(graph, value); };
  if (!shape || !std::all_of(reads.begin(), reads.end(), in_blocks) ||
      !in_blocks(node.outputs[0])) {
    return {};
  }
  return shape;
}

bool IsDense1x1(const std::optional<kernels::ConvolutionShape>& shape) {
  return shape && shape->is_pointwise() && shape->group == 1;
}

/// The only node that reads the value; -1 if there are several, or it is an output.
int OnlyReader(const Graph& graph, const std::vector<std::vector<int>>& readers, int value) {
  return readers[value].size() == 1 && !graph.IsOutput(value) ? readers[value][0] : -1;
}

/// Nodes that may be joined, in their order.
std::vector<int> BlockAround(const Graph& graph, const std::vector<std::vector<int>>& readers,
                             int depthwise) {
  const Node& node = graph.nodes[depthwise];
  const auto shape = BlockedConvolution(graph, node);
  if (!shape || !shape->is_depthwise() || !Activates(node)) return {};
  const auto goes_with = [&](int other) {
    return other >= 0 && graph.nodes[other].math == node.math &&
           IsDense1x1(BlockedConvolution(graph, graph.nodes[other]));
  };
  std::vector<int> block = {depthwise};
  const int project = OnlyReader(graph, readers, node.outputs[0]);
  if (!goes_with(project) || graph.nodes[project].inputs[0] != node.outputs[0] ||
      !PostOpsOf(graph.nodes[project])) {
    return {};
  }
  block.push_back(project);
  const int expand = PrivateProducer(graph, node.inputs[0]);
  if (goes_with(expand) && Activates(graph.nodes[expand])) block.insert(block.begin(), expand);
  return block;
}

Node JoinedNode(const Graph& graph, const std::vector<int>& block) {
  Node joined = graph.nodes[block[0]];
  for (size_t i = 1; i < block.size(); ++i) {
    const Node& next = graph.nodes[block[i]];
    joined.epilogue.push_back({next.layer, next.parameters, -1, graph.values[next.inputs[0]].name});
    joined.epilogue.insert(joined.epilogue.end(), next.epilogue.begin(), next.epilogue.end());
    joined.folded.insert(joined.folded.end(), next.folded.begin(), next.folded.end());
  }
  joined.outputs = graph.nodes[block.back()].outputs;
  return joined;
}

constexpr char kApart[] = "apart";

/// What a joined node is compared with.
LayerCandidates DescribedApart(const Graph& graph, const std::vector<Shape>& shapes,
                               const std::vector<int>& block, Timing* timing) {
  LayerCandidates all;
  LayerCandidates::Possible apart;
  for (const int index : block) {
    const Node& node = graph.nodes[index];
    all.layers.push_back(node.name());
    for (const Epilogue& step : node.epilogue) all.layers.push_back(step.layer.name());
    // What had no other candidate was not timed.
    apart.microseconds +=
        node.microseconds > 0 ? node.microseconds : timing->OfLowered(graph, shapes, node);
  }
  const auto format = [&](int value) {
    return ToString(Format{graph.values[value].type, graph.values[value].layout});
  };
  const Node &first = graph.nodes[block[0]], &last = graph.nodes[block.back()];
  all.type = first.type();
  apart.implementation = kApart;
  apart.math = first.math;
  apart.input = format(first.inputs[0]);
  apart.output = format(last.outputs[0]);
  all.possible = {apart};
  return all;
}

}  // namespace

Graph JoinSeparableBlocks(Graph graph, Timing* timing,
                          const std::function<void(const LayerCandidates&)>& on_candidates) {
  const Implementation* const implementation = timing->target().separable_block();
  if (!implementation || !timing->measures()) return graph;
  const std::vector<Shape> shapes =
      graph.opt_inputs.empty() ? ShapesOf(graph) : ShapesFor(graph, graph.opt_inputs);
  const std::vector<std::vector<int>> readers = Readers(graph);
  const LoweringContext context = {graph, {}, {}, {}};
  std::vector<bool> removed(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<int> block = BlockAround(graph, readers, static_cast<int>(i));
    if (block.empty()) continue;
    const Node joined = JoinedNode(graph, block);
    LayerCandidates found = DescribedApart(graph, shapes, block, timing);
    Node best = joined;
    best.microseconds = static_cast<float>(kUnseen * found.possible[0].microseconds);
    for (const Candidate& candidate : implementation->Candidates(context, joined)) {
      Node way = joined;
      way.implementation = candidate.FullName();
      try {
        way.microseconds = static_cast<float>(timing->OfLowered(graph, shapes, way));
      } catch (const Unsupported& reason) {
        found.rejected.push_back({way.implementation, reason.what()});
        continue;
      }
      found.possible.push_back(found.possible[0]);
      found.possible.back().implementation = way.implementation;
      found.possible.back().microseconds = way.microseconds;
      if (way.microseconds < best.microseconds) best = std::move(way);
    }
    const bool joins = best.implementation != joined.implementation;
    for (LayerCandidates::Possible& way : found.possible) {
      way.is_chosen = way.implementation == (joins ? best.implementation : kApart);
    }
    if (on_candidates) on_candidates(found);
    if (!joins) continue;
    // It runs where the last of them did: its residual is there by then.
    for (const int node : block) removed[node] = node != block.back();
    graph.nodes[block.back()] = std::move(best);
  }
  RemoveNodes(removed, &graph);
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
