#ifndef CAFFE_INFERENCE_PASSES_HPP_
#define CAFFE_INFERENCE_PASSES_HPP_

#include <functional>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe {
namespace inference {

/// A transformation of a graph that computes the same outputs, up to the rounding of sums that are
/// taken in another order.
struct Pass {
  const char* name;
  const char* description;  ///< a line
  Graph (*run)(Graph);
  bool places = false;  ///< finds places in memory: after types and layouts have been chosen
};

/// All passes, in the order in which they run.
const std::vector<Pass>& Passes();

/// Called before the first pass with an empty name, and after each with its name.
using PassObserver = std::function<void(const std::string& pass, const Graph& graph)>;

/// Runs all passes but those named in `skipped`; the graph is validated after each. `lower` chooses
/// types, layouts and implementations before the first pass that places; the observer sees its
/// result under the name "lower". Throws Error for a name that is none.
Graph Optimize(Graph graph, const std::vector<std::string>& skipped = {},
               const PassObserver& observer = nullptr,
               const std::function<Graph(Graph)>& lower = nullptr);

// Each alone; the table says what they do.
Graph LossesToInference(Graph graph);
Graph RemoveIdentities(Graph graph);
Graph RemoveDeadLayers(Graph graph);
Graph FoldConstants(Graph graph);
Graph FoldAffine(Graph graph);
Graph OrderPooling(Graph graph);
Graph OrderConcat(Graph graph);
Graph FuseResiduals(Graph graph);
Graph FuseActivations(Graph graph);
Graph MergeSiblings(Graph graph);
Graph MakeViews(Graph graph);
Graph OrderForMemory(Graph graph);
Graph PlanMemory(Graph graph);

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_PASSES_HPP_
