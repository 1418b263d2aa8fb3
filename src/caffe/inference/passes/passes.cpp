#include "caffe/inference/passes/passes.hpp"

#include <algorithm>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "lowering_passes.hpp"

namespace caffe::inference {
namespace {

/// A pass that needs nothing but the graph.
template <Graph (*pass)(Graph)>
Graph Of(Graph graph, BuildContext*) {
  return pass(std::move(graph));
}

constexpr bool kCanBeSkipped = true, kIsNeeded = false;

}  // namespace

const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes = {
      {"losses", "losses become what a trained net predicts; accuracies and labels are dropped",
       Of<LossesToInference>},
      {"identities", "layers that hand on their bottom in the TEST phase are taken out",
       Of<RemoveIdentities>},
      {"dead_layers", "layers and tops that no output depends on are taken out",
       Of<RemoveDeadLayers>},
      {"constants", "what depends on no input is computed once", Of<FoldConstants>},
      {"affine", "BatchNorm, Scale, Bias and linear Power go into the weights next to them",
       Of<FoldAffine>},
      {"pooling_order", "max pooling and a rising activation change places where that is cheaper",
       Of<OrderPooling>},
      {"concat_order",
       "activations come before a Concat where layers with weights make its bottoms",
       Of<OrderConcat>},
      {"residuals", "a sum goes into the layer that makes one of its bottoms", Of<FuseResiduals>,
       kCanBeSkipped, HasFloatResiduals},
      {"activations", "an activation goes into the layer that makes its bottom",
       Of<FuseActivations>},
      {"siblings", "convolutions of one kind on one bottom become one", MergeSiblingsOfBuild},
      {"integers", "with -arithmetic integer: layers and weights become integers", BecomeIntegers,
       kIsNeeded, HasIntegersAlone},
      {"integer_residuals",
       "with -arithmetic integer: a sum goes into the convolution that makes one of its bottoms",
       FuseSumsOfIntegers, kCanBeSkipped, FusesSumsOfIntegers},
      {"epilogues", "what no kernel computes while it writes becomes a layer again",
       SplitForKernels, kIsNeeded, IsLowered},
      {"ranges", "int8: every blob gets the range that its integers stand for", FindRanges,
       kIsNeeded, IsLowered},
      {"equalization", "int8: channels that use little of their blob's range are scaled up",
       Equalize, kCanBeSkipped, Equalizes},
      {"kernels", "each layer gets the kernel, and each blob the type and layout, that are fastest",
       ChooseKernels, kIsNeeded, IsLowered},
      {"joined_layers",
       "on the CPU: a depthwise convolution and the 1x1 ones around it, and convolutions of 8-bit "
       "integers one behind another, become one where that is about as fast",
       JoinLayersOfBuild, kCanBeSkipped, JoinsLayers},
      {"packing", "weights are put into the order in which kernels read them", PackWeightsOfBuild,
       kIsNeeded, IsLowered},
      {"views", "Concat, Slice, Flatten and Reshape cost nothing: blobs lie within others",
       Of<MakeViews>},
      {"order", "layers run in the order in which the least memory is in use at a time",
       Of<OrderForMemory>},
      {"scratch", "on the CPU: kernels say how much memory they need while they run", FindScratch,
       kCanBeSkipped, PlansScratch},
      {"memory", "every blob gets its place in one block of memory, with room for scratch memory",
       PlanMemoryOfBuild},
  };
  return passes;
}

namespace {

void CheckNames(const std::vector<std::string>& skipped) {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) names.push_back(pass.name);
  for (const std::string& name : skipped) {
    const auto found = std::find(names.begin(), names.end(), name);
    Require(found != names.end(), "there is no pass '", name, "'", DidYouMean(name, names));
    Require(Passes()[found - names.begin()].can_be_skipped, "pass '", name,
            "' cannot be left out: there is no engine without it (caffe build -list_passes shows "
            "which can be)");
  }
}

}  // namespace

Graph RunPasses(Graph graph, BuildContext* build, const char* last) {
  const BuilderConfig& config = build->config;
  CheckNames(config.skip_passes);
  graph.Validate();
  if (config.pass_observer) config.pass_observer("", graph);
  for (const Pass& pass : Passes()) {
    if (!build->Skips(pass.name) && (!pass.applies || pass.applies(*build))) {
      WithContext([&] { return Join("pass '", pass.name, "'"); },
                  [&] {
                    graph = pass.run(std::move(graph), build);
                    graph.Validate();
                  });
      if (config.pass_observer) config.pass_observer(pass.name, graph);
    }
    if (last && pass.name == std::string(last)) break;
  }
  return graph;
}

Graph Optimize(Graph graph, const std::vector<std::string>& skipped, const PassObserver& observer) {
  BuildContext build;
  build.config.backend = Backend::REFERENCE;
  build.config.skip_passes = skipped;
  build.config.pass_observer = observer;
  return RunPasses(std::move(graph), &build);
}

}  // namespace caffe::inference
