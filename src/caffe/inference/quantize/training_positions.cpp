#include "training_positions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/operation.hpp"
#include "caffe/util/rng.hpp"
#include "groups.hpp"
#include "integer_operations.hpp"
#include "integer_weights.hpp"

namespace caffe::inference {

bool FeedsNet(const LayerParameter& layer) {
  static const std::set<std::string> constants = {"Input", "Parameter", "ContinuationIndicator"};
  if (layer.bottom_size() > 0 || layer.top_size() == 0 || constants.count(layer.type())) {
    return false;
  }
  if (layer.type() != "DummyData") return true;
  const auto& fillers = layer.dummy_data_param().data_filler();
  return std::any_of(fillers.begin(), fillers.end(),
                     [](const FillerParameter& filler) { return filler.type() != "constant"; });
}

namespace {

/// A net of the same layers in the TEST phase that reads no data.
NetParameter WithInputs(const NetParameter& net) {
  NetParameter sources = net, fed = net;
  for (NetParameter* part : {&sources, &fed}) {
    part->clear_quantized_training();
    part->clear_force_backward();
    part->clear_debug_info();
    part->clear_layer();
  }
  std::vector<int> places;  // of the sources in `fed`
  for (const LayerParameter& original : net.layer()) {
    LayerParameter layer = original;
    layer.clear_include();
    layer.clear_exclude();
    if (FeedsNet(layer)) {
      *sources.add_layer() = layer;
      places.push_back(fed.layer_size());
      LayerParameter input;
      input.set_name(layer.name());
      input.set_type("Input");
      *input.mutable_top() = layer.top();
      layer = input;
    }
    layer.clear_phase();
    *fed.add_layer() = layer;
  }
  if (places.empty()) return fed;
  const Net<float> made(sources);
  for (size_t i = 0; i < places.size(); ++i) {
    InputParameter* input = fed.mutable_layer(places[i])->mutable_input_param();
    for (const Blob<float>* top : made.top_vecs()[i]) {
      BlobShape* shape = input->add_shape();
      for (const int extent : top->shape()) shape->add_dim(extent);
    }
  }
  return fed;
}

/// The net's graph, with parameters without special values that a pass could exploit.
Graph GraphWithOrdinaryWeights(const NetParameter& net) {
  Graph graph = NetworkDefinition::FromCaffe(net, {}).graph();
  for (Node& node : graph.nodes) {
    for (size_t i = 0; i < node.parameters.size(); ++i) {
      Constant& parameter = node.parameters[i];
      const bool is_factor = node.type() == "BatchNorm" && i == 2;
      parameter = Constant::Of(parameter.shape,
                               std::vector<float>(parameter.count(), is_factor ? 1.f : 0.5f));
    }
  }
  return graph;
}

/// Its output shares the scale of its input: elements are moved or mixed.
bool MovesOrMixes(const Node& node) {
  return node.epilogue.empty() && (SharesAffine(node) || node.type() == "Concat");
}

/// Its output is rounded: means and interpolated values.
bool Mixes(const Node& node) {
  return (node.type() == "Pooling" &&
          node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_AVE) ||
         node.type() == "Interp" || node.type() == "Resample";
}

/// True if it has an integer-only form.
bool ComputesIntegers(const Graph& graph, const Node& node) {
  return MultipliesWeights(node) ? WhyNotIntegerWeights(graph, node).empty()
                                 : WhyNotIntegers(graph, node).empty();
}

/// Activations that a layer with weights applies to its 32-bit sums. Others are separate
/// operations, between two blobs.
bool IsComputedOnSums(const LayerParameter& layer) {
  const auto f = PostOpOf(layer);
  return f && (f->kind == kernels::Activation::RELU || f->kind == kernels::Activation::CLIP ||
               f->kind == kernels::Activation::PRELU);
}

class PositionSearch {
 public:
  explicit PositionSearch(const NetParameter& net) : net_(net) {
    for (int i = 0; i < net.layer_size(); ++i) layers_[net.layer(i).name()] = i;
    Graph before;
    const auto observe = [&](const std::string& pass, const Graph& graph) {
      if (pass == "dead_layers") FindMakers(graph);
      if (pass == "affine") before = graph;
      if (pass == "pooling_order") FindSwapped(before, graph);
      if (pass == "activations") fused_ = graph;
      if (pass == "siblings") merged_ = graph;
    };
    Optimize(GraphWithOrdinaryWeights(WithInputs(net)), {"residuals", "views", "order", "memory"},
             observe);
  }

  TrainingPositions Find() {
    FindGroups();
    FindRead();
    for (const int input : fused_.inputs) {
      const std::string& name = fused_.values[input].name;
      if (read_[input]) Add(name, MakerOfInput(name));
    }
    for (const Node& node : fused_.nodes) {
      if (!Mixes(node)) AddBlobsOf(node);
    }
    for (const Node& node : fused_.nodes) {
      if (Mixes(node) && HasRange(node)) AddBlobsOf(node);
    }
    for (const Node& node : fused_.nodes) AddWeightsOf(node);
    return std::move(positions_);
  }

 private:
  struct Maker {
    std::string layer;
    int top = 0;
  };

  void FindMakers(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        makers_[graph.values[node.outputs[i]].name] = {node.name(), static_cast<int>(i)};
      }
    }
  }

  // Where pooling and an activation were exchanged, the blob between them is not one of the net's:
  // rounding it means rounding the result of both.
  void FindSwapped(const Graph& before, const Graph& after) {
    const auto changed = [&](int node) {
      return node >= 0 && before.nodes[node].name() != after.nodes[node].name();
    };
    const std::vector<int> producers = Producers(after);
    for (size_t i = 0; i < after.nodes.size(); ++i) {
      if (!changed(static_cast<int>(i))) continue;
      const int middle = after.nodes[i].inputs[0];
      if (!changed(producers[middle])) continue;
      swapped_[after.values[middle].name] = after.values[after.nodes[i].outputs[0]].name;
    }
  }

  // By name: merging siblings has renumbered the values.
  void FindGroups() {
    Groups groups(merged_.values.size());
    std::vector<int> stated;
    const auto is_stated = [&](int value) {
      return std::any_of(stated.begin(), stated.end(),
                         [&](int other) { return groups.Of(other) == groups.Of(value); });
    };
    for (const Node& node : merged_.nodes) {
      if (HasStatedRange(node)) stated.push_back(node.outputs[0]);
      if (!MovesOrMixes(node) || node.inputs.empty()) continue;
      std::vector<int> together = ReadInputs(node);
      if (node.type() == "Concat") {
        const auto end = std::remove_if(together.begin(), together.end(), is_stated);
        if (end != together.end()) rescaled_.insert(merged_.values[node.outputs[0]].name);
        together.erase(end, together.end());
      }
      together.insert(together.end(), node.outputs.begin(), node.outputs.end());
      for (const int value : together) groups.Join(value, together[0]);
    }
    std::map<int, std::string> names;
    for (size_t i = 0; i < merged_.values.size(); ++i) {
      const std::string& name = merged_.values[i].name;
      groups_[name] = names.emplace(groups.Of(static_cast<int>(i)), name).first->second;
    }
    for (const Node& node : merged_.nodes) {
      for (const std::string& sibling : node.siblings) siblings_[sibling] = node.name();
    }
  }

  /// True for Softmax, Sigmoid and TanH in integers, whose numbers have a scale of their own. A
  /// Concat rescales them.
  bool HasStatedRange(const Node& node) const {
    if (node.outputs.empty() || !ComputesIntegers(merged_, node)) return false;
    const LayerParameter& last = node.epilogue.empty() ? node.layer : node.epilogue.back().layer;
    return OperationTable::Of(last.type()).bounds.has_value();
  }

  std::string GroupOf(const std::string& value) const {
    const auto group = groups_.find(value);
    return group == groups_.end() ? value : group->second;
  }

  // Means of a blob that is not rounded are computed in floats.
  bool HasRange(const Node& node) {
    if (!node.epilogue.empty() || node.outputs.empty()) return true;
    const std::string group = GroupOf(fused_.values[node.outputs[0]].name);
    return std::any_of(positions_.blobs.begin(), positions_.blobs.end(),
                       [&](const auto& blob) { return blob.group == group; });
  }

  // Values that an integer operation reads, directly or through layers that only move them.
  void FindRead() {
    read_.assign(fused_.values.size(), false);
    for (size_t i = fused_.nodes.size(); i-- > 0;) {
      const Node& node = fused_.nodes[i];
      const Operation& operation = node.operation();
      const bool moves = MovesOrMixes(node);
      const bool reads = moves ? std::any_of(node.outputs.begin(), node.outputs.end(),
                                             [&](int output) { return read_[output]; })
                               : ComputesIntegers(fused_, node);
      for (size_t j = 0; reads && j < node.inputs.size(); ++j) {
        if (ReadsShapeOnly(node, j)) continue;
        if (operation.IsFloatBottom(static_cast<int>(j))) continue;
        read_[node.inputs[j]] = true;
      }
    }
  }

  Maker MakerOfInput(const std::string& value) const {
    for (const LayerParameter& layer : net_.layer()) {
      for (int i = 0; i < layer.top_size(); ++i) {
        if (layer.bottom_size() == 0 && layer.top(i) == value) return {layer.name(), i};
      }
    }
    return {};
  }

  void AddBlobsOf(const Node& node) {
    if (node.inputs.empty() || node.outputs.empty()) return;
    const Value& output = fused_.values[node.outputs[0]];
    if (output.is_constant()) return;
    if (MovesOrMixes(node) && !Mixes(node)) {
      // An activation of a Concat is computed before it: the result of both is rounded.
      if (makers_[output.name].layer != node.name() || rescaled_.count(output.name)) {
        AddComputed(output.name);
      }
      return;
    }
    if (!ComputesIntegers(fused_, node)) {
      for (const int made : node.outputs) {
        const std::string& name = fused_.values[made].name;
        if (read_[made]) Add(name, makers_[name]);
      }
      return;
    }
    if (IsClampedBehind(node)) return;
    bool on_sums = MultipliesWeights(node);
    for (const Epilogue& step : node.epilogue) {
      on_sums = on_sums && IsComputedOnSums(step.layer);
      if (!on_sums) AddComputed(step.blob);
    }
    AddComputed(output.name);
  }

  /// A sum, product or maximum that only a ReLU, ReLU6 or Clip reads, which becomes the clamp of
  /// its bytes: only the result of both is rounded.
  bool IsClampedBehind(const Node& node) const {
    if (node.type() != "Eltwise" || fused_.IsOutput(node.outputs[0])) return false;
    const std::vector<int> readers = Readers(fused_)[node.outputs[0]];
    return readers.size() == 1 && ClampOf(fused_.nodes[readers[0]].layer);
  }

  /// The output blob of an integer operation.
  void AddComputed(const std::string& value) {
    const auto swapped = swapped_.find(value);
    const std::string& name = swapped == swapped_.end() ? value : swapped->second;
    const Maker maker = makers_[name];
    if (!Add(name, maker)) return;
    TrainingPositions::RoundedBlob& blob = positions_.blobs.back();
    const auto& bounds = OperationTable::Of(net_.layer(layers_.at(maker.layer)).type()).bounds;
    blob.is_stated = bounds.has_value();
    if (!bounds) return;
    blob.minimum = bounds->first;
    blob.maximum = bounds->second - (bounds->second - bounds->first) / 256;
  }

  bool Add(const std::string& name, const Maker& maker) {
    const auto found = layers_.find(maker.layer);
    if (found == layers_.end() || !added_.insert(name).second) return false;
    const LayerParameter& layer = net_.layer(found->second);
    const Operation& operation = OperationTable::Of(layer.type());
    const bool weighs = maker.top < layer.loss_weight_size() && layer.loss_weight(maker.top) != 0;
    if (maker.top >= layer.top_size() || weighs || operation.loss) return false;
    TrainingPositions::RoundedBlob blob;
    blob.name = name;
    blob.layer = maker.layer;
    blob.top = maker.top;
    blob.group = GroupOf(name);
    positions_.blobs.push_back(blob);
    return true;
  }

  void AddWeightsOf(const Node& node) {
    if (!MultipliesWeights(node) || node.parameters.empty() || !layers_.count(node.name())) return;
    TrainingPositions::RoundedWeights weights;
    weights.layer = node.name();
    weights.folded = node.folded;
    const auto sibling = siblings_.find(node.name());
    weights.group = sibling == siblings_.end() ? node.name() : sibling->second;
    positions_.weights.push_back(weights);
  }

  const NetParameter& net_;
  std::map<std::string, int> layers_;           // of the net, by name
  std::map<std::string, Maker> makers_;         // by value
  std::map<std::string, std::string> swapped_;  // value between two that changed places: behind
  Graph fused_, merged_;
  std::map<std::string, std::string> groups_;    // by value
  std::map<std::string, std::string> siblings_;  // by layer
  std::set<std::string> rescaled_;               // tops of Concats with stated bottoms
  std::vector<bool> read_;                       // by value of fused_
  std::set<std::string> added_;
  TrainingPositions positions_;
};

}  // namespace

TrainingPositions PositionsOf(const NetParameter& net) {
  const KeepRandomState keep;
  return PositionSearch(net).Find();
}

}  // namespace caffe::inference
