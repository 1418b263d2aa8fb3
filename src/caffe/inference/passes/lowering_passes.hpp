#ifndef CAFFE_INFERENCE_PASSES_LOWERING_PASSES_HPP_
#define CAFFE_INFERENCE_PASSES_LOWERING_PASSES_HPP_

#include "caffe/inference/build_context.hpp"

// The passes that depend on what is built: types, the target and its kernels. The table in
// passes.cpp says what they do, and in which order.

namespace caffe::inference {

Graph MergeSiblingsOfBuild(Graph graph, BuildContext* build);
Graph BecomeIntegers(Graph graph, BuildContext* build);
Graph FuseSumsOfIntegers(Graph graph, BuildContext* build);
Graph SplitForKernels(Graph graph, BuildContext* build);
Graph FindRanges(Graph graph, BuildContext* build);
Graph Equalize(Graph graph, BuildContext* build);
Graph ChooseKernels(Graph graph, BuildContext* build);
Graph JoinLayersOfBuild(Graph graph, BuildContext* build);
Graph PackWeightsOfBuild(Graph graph, BuildContext* build);
Graph FindScratch(Graph graph, BuildContext* build);
Graph PlanMemoryOfBuild(Graph graph, BuildContext* build);

// Which builds have them.
bool IsLowered(const BuildContext& build);
bool HasFloatResiduals(const BuildContext& build);
bool HasIntegersAlone(const BuildContext& build);
bool FusesSumsOfIntegers(const BuildContext& build);
bool Equalizes(const BuildContext& build);
bool JoinsLayers(const BuildContext& build);
bool PlansScratch(const BuildContext& build);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_LOWERING_PASSES_HPP_
