#ifndef CAFFE_INFERENCE_PASSES_SPLIT_EPILOGUES_HPP_
#define CAFFE_INFERENCE_PASSES_SPLIT_EPILOGUES_HPP_

#include <functional>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Steps of epilogues that no kernel computes while it writes (PostOpsOf), and all steps after
/// them, become nodes with the names of their layers.
Graph SplitEpilogues(Graph graph);
/// The same for all steps but the first `fused(node)` of each node.
Graph SplitEpilogues(Graph graph, const std::function<size_t(const Node& node)>& fused);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_SPLIT_EPILOGUES_HPP_
