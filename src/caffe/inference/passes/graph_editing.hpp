#ifndef CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_
#define CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_

#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/kernels/activation.hpp"

namespace caffe::inference {

/// True for the layers that multiply by trained weights: Convolution, its depthwise forms,
/// Deconvolution and InnerProduct.
bool MultipliesWeights(const Node& node);
/// Convolution and its depthwise forms.
bool IsConvolution(const Node& node);

/// What kernels with weights can do to their sums in place of the layer; nothing where they cannot.
std::optional<kernels::Activation> PostOpOf(const LayerParameter& layer);

/// The node that makes a value nobody but `reader` sees: -1 if another node reads it too, or it is
/// given, a constant, or an output.
int PrivateProducer(const Graph& graph, int value);

/// Makes the readers of `copy` read `original`, of which it is a copy made by a node that the
/// caller takes out. Where `copy` is an output, it takes the place of `original` instead. Returns
/// false, and does nothing, where both are seen from outside.
bool Merge(int original, int copy, Graph* graph);

/// Takes nodes out, the numbers of the others close up.
void RemoveNodes(const std::vector<bool>& removed, Graph* graph);
void RemoveNode(int node, Graph* graph);

/// Without the values that are neither read, made, given nor outputs.
Graph WithoutUnusedValues(Graph graph);

/// A name that no value has, like `wanted`.
std::string NewValueName(const Graph& graph, const std::string& wanted);
std::string NewNodeName(const Graph& graph, const std::string& wanted);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_GRAPH_EDITING_HPP_
