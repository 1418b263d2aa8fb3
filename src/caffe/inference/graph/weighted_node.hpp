#ifndef CAFFE_INFERENCE_GRAPH_WEIGHTED_NODE_HPP_
#define CAFFE_INFERENCE_GRAPH_WEIGHTED_NODE_HPP_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/convolution.hpp"

namespace caffe::inference {

/// True for the layers that multiply by trained weights: Convolution, its depthwise forms,
/// Deconvolution and InnerProduct.
bool MultipliesWeights(const Node& node);
bool MultipliesWeights(const Epilogue& step);
/// Convolution and its depthwise forms.
bool IsConvolution(const Node& node);

/// The activation that kernels apply to sums in place of the layer; not set where they cannot.
std::optional<kernels::Activation> PostOpOf(const LayerParameter& layer);

/// What a ReLU (not leaky), ReLU6 (likewise) or Clip keeps numbers within; not set for other
/// layers.
struct Clamp {
  std::optional<double> least, most;
};
std::optional<Clamp> ClampOf(const LayerParameter& layer);

/// The steps of an epilogue that kernels apply to a sum before they write it (kernels::PostOps).
struct NodePostOps {
  int residual = -1;          ///< the number of the step whose operand is added; -1: nothing is
  std::vector<float> slopes;  ///< of PRELU: one an output, filled up to a multiple of 16

  bool activates() const { return activation_.kind != kernels::Activation::NONE; }
  /// With these slopes, which must outlive it.
  kernels::Activation activation() const;
  void set_activation(const kernels::Activation& activation) { activation_ = activation; }

 private:
  kernels::Activation activation_;
};
/// The first step of the epilogue that reads another value; null: none does.
const Epilogue* StepWithOperand(const Node& node);
/// Not set where the node, one with weights, has an epilogue of other steps.
std::optional<NodePostOps> PostOpsOf(const Node& node);
/// A node that is an activation by itself, of this many channels (axis 1); not set for other nodes.
/// Its slopes are not packed yet.
std::optional<NodePostOps> ActivationOfNode(const Node& node, int channels);
/// True if the epilogue is an activation, or empty.
bool Activates(const Node& node);

/// Layers with weights that are computed as one node (backends/joined_layers.cpp): the node's
/// own, and behind it those of its epilogue. Each as a node of one input and one output, which are
/// those of the whole, with the steps behind it as its epilogue, and its parameters: packed ones
/// are all the node's, equally many of each layer, two or more. One layer for most nodes.
std::vector<Node> JoinedLayers(const Node& node);
/// True if there are several.
bool IsJoined(const Node& node);
/// The shapes of what they make, the last that of the whole, for a bottom of shape `input`. Throws
/// Error where they do not go with it.
std::vector<Shape> JoinedShapes(const std::vector<Node>& layers, const Shape& input);

/// The shape of a node with channels on axis 1, one input, one output, images on axis 0; not set
/// for others.
std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Node& node, const Shape& input,
                                                            const Shape& output);

/// The same for the shapes that the graph has.
std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Graph& graph, const Node& node);

/// ConvolutionShapeOf for a Deconvolution; weights are (channels, outputs / group, kernel...).
std::optional<kernels::ConvolutionShape> DeconvolutionShapeOf(const Node& node, const Shape& x,
                                                              const Shape& y);

/// The one of these two that is for the node.
std::optional<kernels::ConvolutionShape> KernelShapeOf(const Node& node, const Shape& x,
                                                       const Shape& y);
std::optional<kernels::ConvolutionShape> KernelShapeOf(const Graph& graph, const Node& node);

/// Rows, and what a row has.
struct InnerProductExtents {
  int rows = 0, inputs = 0, outputs = 0;
};
/// For these shapes of the node's input and output; or those that the graph has.
InnerProductExtents ExtentsOf(const Node& node, const Shape& x, const Shape& y);
InnerProductExtents ExtentsOf(const Graph& graph, const Node& node);
/// The weights of an InnerProduct as (outputs, inputs).
std::vector<float> InnerProductWeightsOf(const Node& node, const InnerProductExtents& extents);

/// Multiplications by weights that the definition of the node asks for, with a bottom x and a top y
/// of these shapes: of a convolution a weight's at each position of the output (of a Deconvolution,
/// the input), whatever an algorithm leaves out. 0 for nodes without weights, and for those that
/// only layers compute.
double ProductsOf(const Node& node, const Shape& x, const Shape& y);
/// Of all its bottoms, each with a top of its own; `shapes`: of each value.
double ProductsOf(const Node& node, const std::vector<Shape>& shapes);
/// The products of the nodes with any, by name.
std::map<std::string, double> ProductsByLayer(const Graph& graph, const std::vector<Shape>& shapes);

/// The bias; zeros where the node has none.
std::vector<float> BiasOf(const Node& node, size_t outputs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_WEIGHTED_NODE_HPP_
