#ifndef CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_
#define CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_

#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// The node that computes a value that is read once: -1 if it is read more often or not at all, or
/// is an input, a constant or an output. Goes through the nodes.
int PrivateProducer(const Graph& graph, int value);

/// Replaces `copy`, which a node that the caller removes makes of `original`, by `original`. If
/// `copy` is an output, it replaces `original` instead. Returns false, and does nothing, if both
/// are visible from outside.
bool Merge(int original, int copy, Graph* graph);

/// Removes nodes and renumbers the others.
void RemoveNodes(const std::vector<bool>& removed, Graph* graph);
void RemoveNode(int node, Graph* graph);

/// Removes the values that are neither read, computed, given nor outputs.
Graph WithoutUnusedValues(Graph graph);

/// An unused name for a value, like `wanted`.
std::string NewValueName(const Graph& graph, const std::string& wanted);
std::string NewNodeName(const Graph& graph, const std::string& wanted);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_
