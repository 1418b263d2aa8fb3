#include "caffe/inference/passes.hpp"

#include <algorithm>

#include "../../error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {
namespace inference {

const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes = {
      {"losses", "losses become what a trained net predicts; accuracies and labels are dropped",
       LossesToInference},
      {"identities", "layers that hand on their bottom in the TEST phase are taken out",
       RemoveIdentities},
      {"dead_layers", "layers and tops that no output depends on are taken out", RemoveDeadLayers},
      {"constants", "what depends on no input is computed once", FoldConstants},
      {"affine", "BatchNorm, Scale, Bias and linear Power go into the weights beside them",
       FoldAffine},
      {"pooling_order", "max pooling and a rising activation change places where that is cheaper",
       OrderPooling},
      {"concat_order",
       "activations come before a Concat where layers with weights make its bottoms", OrderConcat},
      {"residuals", "a sum goes into the layer that makes one of its bottoms", FuseResiduals},
      {"activations", "an activation goes into the layer that makes its bottom", FuseActivations},
      {"siblings", "convolutions of one kind on one bottom become one", MergeSiblings},
      {"views", "Concat, Slice, Flatten and Reshape cost nothing: blobs lie within others",
       MakeViews, true},
      {"order", "layers run in the order in which the least memory is in use at a time",
       OrderForMemory, true},
      {"memory", "every blob gets its place in one block of memory", PlanMemory, true},
  };
  return passes;
}

namespace {

void CheckNames(const std::vector<std::string>& skipped) {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) names.push_back(pass.name);
  for (const std::string& name : skipped) {
    Require(std::find(names.begin(), names.end(), name) != names.end(), "there is no pass '", name,
            "'", DidYouMean(name, names));
  }
}

Graph Run(const std::string& name, const std::function<Graph(Graph)>& pass, Graph graph,
          const PassObserver& observer) {
  WithContext([&] { return "pass '" + name + "'"; },
              [&] {
                graph = pass(std::move(graph));
                graph.Validate();
              });
  if (observer) observer(name, graph);
  return graph;
}

}  // namespace

Graph Optimize(Graph graph, const std::vector<std::string>& skipped, const PassObserver& observer,
               const std::function<Graph(Graph)>& lower) {
  CheckNames(skipped);
  graph.Validate();
  if (observer) observer("", graph);
  bool lowered = !lower;
  for (const Pass& pass : Passes()) {
    if (pass.places && !lowered) {
      graph = Run("lower", lower, std::move(graph), observer);
      lowered = true;
    }
    if (std::find(skipped.begin(), skipped.end(), pass.name) != skipped.end()) continue;
    graph = Run(pass.name, pass.run, std::move(graph), observer);
  }
  return graph;
}

}  // namespace inference
}  // namespace caffe
