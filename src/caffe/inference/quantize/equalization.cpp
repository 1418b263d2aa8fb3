#include "equalization.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/weights_by_channel.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "groups.hpp"

namespace caffe::inference {
namespace {

constexpr double kHeadroom = 1.25;     // for images that calibration has not seen
constexpr double kMinScale = 1. / 64;  // so that channels do not become noise

/// f(c x) = c f(x) for every channel and c > 0.
bool IsHomogeneous(const LayerParameter& layer) {
  return layer.type() == "ReLU" || layer.type() == "PReLU" || layer.type() == "Split" ||
         layer.type() == "Dropout";
}

/// One bottom and one top with channels on axis 1, and weights that are known.
bool HasChannelWeights(const Graph& graph, const Node& node) {
  if (!(IsConvolution(node) || node.operation().weights == Operation::Weights::INNER_PRODUCT) ||
      node.inputs.size() != 1 || node.outputs.size() != 1 || node.parameters.empty() ||
      graph.values[node.inputs[0]].shape.size() < 2) {
    return false;
  }
  return IsChannelAxis(node.type() == "InnerProduct" ? node.layer.inner_product_param().axis()
                                                     : node.layer.convolution_param().axis(),
                       graph.values[node.inputs[0]].shape.size());
}

bool IsDepthwise(const Graph& graph, const Node& node) {
  return IsConvolution(node) && node.parameters[0].shape.size() > 1 &&
         node.parameters[0].shape[1] == 1 && graph.values[node.inputs[0]].shape[1] > 1;
}

/// Which channels of which values have to be scaled alike, which not at all, and by how much.
class ChannelScales {
 public:
  ChannelScales(const Graph& graph, const CalibrationTable& table, const std::vector<Range>& ranges)
      : graph_(graph), groups_(Number(graph, &first_)) {
    classes_.resize(first_.back());
    for (const int value : graph.inputs) Pin(value);
    for (const int value : graph.outputs) Pin(value);
    for (size_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].is_constant()) Pin(static_cast<int>(i));
    }
    for (const Node& node : graph.nodes) Visit(node);
    Resolve(table, ranges);
  }

  /// The divisors of the channels; empty if there are none.
  std::vector<float> Of(int value) const {
    std::vector<float> scales(Channels(value));
    for (size_t c = 0; c < scales.size(); ++c) {
      scales[c] = classes_[groups_.Of(first_[value] + static_cast<int>(c))].scale;
    }
    const bool all = std::all_of(scales.begin(), scales.end(), [](float s) { return s == 1; });
    return all ? std::vector<float>() : scales;
  }

 private:
  struct Class {
    bool pinned = false, dense = false;  // dense: weights that sum up channels read it
    double largest = 0;                  // of the shares of their blobs' ranges
    float scale = 1;
  };

  /// The number of each value's first channel; of the last one behind all.
  static size_t Number(const Graph& graph, std::vector<int>* first) {
    first->assign(1, 0);
    for (const Value& value : graph.values) {
      first->push_back(first->back() + (value.shape.size() < 2 ? 0 : value.shape[1]));
    }
    return first->back();
  }

  int Channels(int value) const { return first_[value + 1] - first_[value]; }

  void Pin(int value) {
    for (int c = first_[value]; c < first_[value + 1]; ++c) classes_[c].pinned = true;
  }
  void Link(int a, int b) {
    if (Channels(a) == Channels(b)) return LinkFrom(a, 0, b);
    Pin(a);
    Pin(b);
  }
  /// The channels of `part` and as many of `whole`.
  void LinkFrom(int whole, int channel, int part) {
    for (int c = 0; c < Channels(part); ++c) {
      groups_.Join(first_[whole] + channel + c, first_[part] + c);
    }
  }
  void LinkParts(int whole, const std::vector<int>& parts) {
    int channel = 0;
    for (const int part : parts) {
      LinkFrom(whole, channel, part);
      channel += Channels(part);
    }
  }

  void Visit(const Node& node) {
    const bool one_top = node.outputs.size() == 1;
    if (HasChannelWeights(graph_, node)) {
      if (!IsDepthwise(graph_, node)) {
        const int input = node.inputs[0];
        for (int c = first_[input]; c < first_[input + 1]; ++c) classes_[c].dense = true;
      }
    } else if (one_top && node.inputs.size() == 1 &&
               (IsHomogeneous(node.layer) || node.type() == "Pooling")) {
      Link(node.inputs[0], node.outputs[0]);
    } else if (one_top && node.type() == "Concat" && JoinsChannels(graph_, node)) {
      LinkParts(node.outputs[0], node.inputs);
    } else if (node.inputs.size() == 1 && node.type() == "Slice" && JoinsChannels(graph_, node)) {
      LinkParts(node.inputs[0], node.outputs);
    } else if (one_top && IsSum(node.layer)) {
      for (const int input : node.inputs) Link(node.outputs[0], input);
    } else {
      for (const int value : node.Reads()) Pin(value);
      for (const int value : node.outputs) Pin(value);
    }
    for (const Epilogue& step : node.epilogue) VisitStep(step, node.outputs[0]);
  }

  void VisitStep(const Epilogue& step, int output) {
    if (step.operand >= 0 && IsSum(step.layer)) return Link(output, step.operand);
    if (step.operand >= 0) Pin(step.operand);
    if (step.operand >= 0 || !IsHomogeneous(step.layer)) Pin(output);
  }

  // What is known of one channel of a set holds for all of them.
  void Resolve(const CalibrationTable& table, const std::vector<Range>& ranges) {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (!ranges[i].known()) continue;
      const int value = static_cast<int>(i);
      const auto known = table.channel_ranges().find(graph_.values[i].name);
      if (known == table.channel_ranges().end() ||
          known->second.size() != static_cast<size_t>(Channels(value))) {
        Pin(value);
        continue;
      }
      const double range = ranges[i].scale * double(StepsOf(ranges[i].is_unsigned));
      for (int c = 0; c < Channels(value); ++c) {
        Class& one = classes_[first_[i] + c];
        one.largest = std::max(one.largest, kHeadroom * known->second[c] / range);
      }
    }
    for (size_t c = 0; c < classes_.size(); ++c) {
      Class& all = classes_[groups_.Of(static_cast<int>(c))];
      all.pinned = all.pinned || classes_[c].pinned;
      all.dense = all.dense || classes_[c].dense;
      all.largest = std::max(all.largest, classes_[c].largest);
    }
    for (Class& one : classes_) {
      // 0: unknown, or a channel that is never used.
      if (one.pinned || one.largest <= 0) continue;
      // Weights of a depthwise layer have a scale for each channel and lose nothing. In other
      // layers columns would differ as much as the channels did before: each side gets half of it.
      const double scale = one.dense ? std::sqrt(one.largest) : one.largest;
      one.scale = static_cast<float>(std::min(1., std::max(kMinScale, scale)));
    }
  }

  const Graph& graph_;
  std::vector<int> first_;
  mutable Groups groups_;
  std::vector<Class> classes_;  // of a set: that of the channel that stands for it
};

void ScaleParameters(int channels, const std::vector<float>& before,
                     const std::vector<float>& behind, Node* node) {
  WeightsByChannel weights(*node, channels);
  weights.ForEach(channels, [&](size_t o, size_t c, float* w) {
    if (!before.empty()) *w *= before[c];
    if (!behind.empty()) *w /= behind[o];
  });
  node->parameters[0] = weights.ToConstant();
  if (behind.empty() || node->parameters.size() < 2) return;
  std::vector<float> bias = node->parameters[1].ToVector();
  for (size_t o = 0; o < bias.size(); ++o) bias[o] /= behind[o];
  node->parameters[1] = Constant::Of(node->parameters[1].shape, std::move(bias));
}

}  // namespace

Graph EqualizeChannels(Graph graph, const CalibrationTable& table,
                       const std::vector<Range>& ranges) {
  if (table.channel_ranges().empty()) return graph;
  const ChannelScales scales(graph, table, ranges);
  for (Node& node : graph.nodes) {
    if (!HasChannelWeights(graph, node)) continue;
    const std::vector<float> before = scales.Of(node.inputs[0]),
                             behind = scales.Of(node.outputs[0]);
    if (before.empty() && behind.empty()) continue;
    ScaleParameters(graph.values[node.inputs[0]].shape[1], before, behind, &node);
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    graph.values[i].channel_scales = scales.Of(static_cast<int>(i));
  }
  return graph;
}

std::vector<std::vector<float>> MeansOf(const Graph& graph, const CalibrationTable& table) {
  std::vector<std::vector<float>> all(graph.values.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Value& value = graph.values[i];
    const auto known = table.channel_means().find(value.name);
    if (known == table.channel_means().end() || value.shape.size() < 2 ||
        known->second.size() != static_cast<size_t>(value.shape[1])) {
      continue;
    }
    all[i] = known->second;
    for (size_t c = 0; c < value.channel_scales.size(); ++c) all[i][c] /= value.channel_scales[c];
  }
  return all;
}

}  // namespace caffe::inference
