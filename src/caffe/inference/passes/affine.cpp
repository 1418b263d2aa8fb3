// y = scale[c] x + shift[c] goes into the weights of the layer that makes x, or of those that read
// y. With W the weights and b the bias of such a layer:
//   behind it   W' = scale[o] W[o],                  b' = scale[o] b[o] + shift[o]
//   before it   W' = W[o][c] scale[c],               b' = b[o] + sum over c, k of W[o][c][k]
//   shift[c]
// The second sum is right only where every output sees whole kernels: not with padding, whose zeros
// the shift does not reach, and not in a Deconvolution, whose borders see less.
#include <algorithm>

#include "affine_map.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "graph_editing.hpp"
#include "weights_by_channel.hpp"

namespace caffe::inference {
namespace {

void SetBias(const std::vector<double>& bias, Node* node) {
  if (node->parameters.size() < 2) {
    if (std::all_of(bias.begin(), bias.end(), [](double b) { return b == 0; })) return;
    node->parameters.resize(2);
    if (node->type() == "InnerProduct") {
      node->layer.mutable_inner_product_param()->set_bias_term(true);
    } else {
      node->layer.mutable_convolution_param()->set_bias_term(true);
    }
  }
  node->parameters[1] =
      Constant::Of({static_cast<int>(bias.size())}, std::vector<float>(bias.begin(), bias.end()));
}

/// One bottom, one top, channels on axis 1 of both, nothing done behind yet.
bool TakesAffine(const Graph& graph, const Node& node) {
  if (!MultipliesWeights(node) || !node.epilogue.empty() || node.inputs.size() != 1 ||
      node.outputs.size() != 1 || node.parameters.empty()) {
    return false;
  }
  const size_t axes = graph.values[node.inputs[0]].shape.size();
  const int axis = node.type() == "InnerProduct" ? node.layer.inner_product_param().axis()
                                                 : node.layer.convolution_param().axis();
  return axes >= 2 && IsChannelAxis(axis, axes);
}

bool IsPadded(const Graph& graph, const Node& node) {
  if (node.type() == "InnerProduct") return false;
  if (node.type() == "Deconvolution") return true;
  const int axes = static_cast<int>(graph.values[node.inputs[0]].shape.size()) - 2;
  const std::vector<int> pad = ReadConvolutionGeometry(node.layer.convolution_param(), axes).pad;
  return std::any_of(pad.begin(), pad.end(), [](int extent) { return extent > 0; });
}

void FoldBehind(const Affine& affine, int channels, Node* node) {
  WeightsByChannel weights(*node, channels);
  const std::vector<float> before = BiasOf(*node, weights.outputs());
  std::vector<double> bias(before.begin(), before.end());
  weights.ForEach(channels, [&](size_t o, size_t, float* w) { *w *= affine.scale[o]; });
  for (size_t o = 0; o < bias.size(); ++o) bias[o] = affine.scale[o] * bias[o] + affine.shift[o];
  node->parameters[0] = weights.ToConstant();
  SetBias(bias, node);
}

void FoldBefore(const Affine& affine, int channels, Node* node) {
  WeightsByChannel weights(*node, channels);
  const std::vector<float> before = BiasOf(*node, weights.outputs());
  std::vector<double> bias(before.begin(), before.end());
  weights.ForEach(channels, [&](size_t o, size_t c, float* w) {
    bias[o] += static_cast<double>(*w) * affine.shift[c];
    *w *= affine.scale[c];
  });
  node->parameters[0] = weights.ToConstant();
  SetBias(bias, node);
}

class AffineFolding {
 public:
  explicit AffineFolding(Graph graph) : graph_(std::move(graph)) {}

  Graph Run() {
    // Each fold may make two more layers adjacent.
    for (size_t i = 0; i < graph_.nodes.size();) i = Fold(i) ? 0 : i + 1;
    return WithoutUnusedValues(std::move(graph_));
  }

 private:
  bool Fold(int index) {
    const std::optional<Affine> affine = AffineOf(graph_, graph_.nodes[index]);
    return affine && (IntoProducer(index, *affine) || IntoReaders(index, *affine));
  }

  int Channels(const Node& node) const { return graph_.values[node.inputs[0]].shape[1]; }

  bool IntoProducer(int index, const Affine& affine) {
    const int value = graph_.nodes[index].inputs[0];
    const int producer = PrivateProducer(graph_, value);
    if (producer < 0 || !TakesAffine(graph_, graph_.nodes[producer])) return false;
    FoldBehind(affine, Channels(graph_.nodes[producer]), &graph_.nodes[producer]);
    graph_.nodes[producer].folded.push_back(graph_.nodes[index].name());
    graph_.nodes[producer].outputs[0] = graph_.nodes[index].outputs[0];
    RemoveNode(index, &graph_);
    return true;
  }

  bool IntoReaders(int index, const Affine& affine) {
    const Node& node = graph_.nodes[index];
    const std::vector<int> readers = Readers(graph_)[node.outputs[0]];
    if (graph_.IsOutput(node.outputs[0]) || readers.empty()) return false;
    for (const int reader : readers) {
      const Node& layer = graph_.nodes[reader];
      if (!TakesAffine(graph_, layer) || (affine.shifts() && IsPadded(graph_, layer))) return false;
    }
    for (const int reader : readers) {
      FoldBefore(affine, Channels(graph_.nodes[reader]), &graph_.nodes[reader]);
      graph_.nodes[reader].folded.push_back(node.name());
      graph_.nodes[reader].inputs[0] = node.inputs[0];
    }
    RemoveNode(index, &graph_);
    return true;
  }

  Graph graph_;
};

}  // namespace

Graph FoldAffine(Graph graph) { return AffineFolding(std::move(graph)).Run(); }

}  // namespace caffe::inference
