#ifndef CAFFE_INFERENCE_PASSES_HPP_
#define CAFFE_INFERENCE_PASSES_HPP_

#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

struct BuildContext;

/// A stage of a build: a function of the graph and of the context that the passes of a build share.
/// The graph computes the same outputs, up to rounding.
struct Pass {
  const char* name;
  const char* description;  ///< a line
  Graph (*run)(Graph graph, BuildContext* build);
  bool can_be_skipped = true;
  /// True if this build has the pass; null: every build has it.
  bool (*applies)(const BuildContext& build) = nullptr;
};

/// All passes, in the order in which they run: everything that happens to a graph between the
/// parser and the engine.
const std::vector<Pass>& Passes();

/// Runs all passes of the reference backend, which lowers nothing, except those in `skipped`; the
/// graph is validated after each. Throws Error for an unknown name and for a pass that cannot be
/// skipped.
Graph Optimize(Graph graph, const std::vector<std::string>& skipped = {},
               const PassObserver& observer = nullptr);

// The passes that need nothing but the graph; the table says what they do.
Graph LossesToInference(Graph graph);
Graph RemoveIdentities(Graph graph);
Graph RemoveDeadLayers(Graph graph);
Graph FoldConstants(Graph graph);
Graph FoldAffine(Graph graph);
Graph OrderPooling(Graph graph);
Graph OrderConcat(Graph graph);
Graph FuseResiduals(Graph graph);
Graph FuseActivations(Graph graph);
Graph MakeViews(Graph graph);
Graph OrderForMemory(Graph graph);
Graph PlanMemory(Graph graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_HPP_
