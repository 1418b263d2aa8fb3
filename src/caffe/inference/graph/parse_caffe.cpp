#include <algorithm>
#include <map>

#include "caffe/error.hpp"
#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/fp16/value_graph.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/quantize/training_ranges.hpp"
#include "caffe/io/batch_norm_forms.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "node_layer.hpp"
#include "test_identity.hpp"

namespace caffe::inference {
namespace {

/// The statistics divided by their factor, which is 1 then.
void NormalizeBatchNorm(std::vector<Constant>* parameters) {
  std::vector<float> mean = (*parameters)[0].ToVector(), variance = (*parameters)[1].ToVector();
  const float factor = (*parameters)[2].floats()[0];
  NormalizeStatistics(factor, mean.data(), variance.data(), mean.size());
  (*parameters)[0] = Constant::Of((*parameters)[0].shape, mean);
  (*parameters)[1] = Constant::Of((*parameters)[1].shape, variance);
  (*parameters)[2] = Constant::Of((*parameters)[2].shape, {1.f});
}

/// In a net a layer that works in place changes all blobs that share the memory (SharesBottom).
/// Values of a graph are made once, so no layer may see such a change by another name.
class SharedBlobs {
 public:
  explicit SharedBlobs(const Net<float>& net)
      : net_(net),
        memory_(net.blob_names().size()),
        writer_(memory_.size(), -1),
        seen_(memory_.size(), -1) {}

  void RequireOneValueEach() {
    for (int i = 0; i < static_cast<int>(net_.layers().size()); ++i) Visit(i);
    for (const int id : net_.output_blob_indices()) {
      if (IsChanged(id)) Fail(Change(id), "is an output", kApart, Remedy(id));
    }
  }

 private:
  static constexpr char kApart[] = ": a net shares the change, an engine keeps the two apart";

  const LayerParameter& Parameter(int index) const { return net_.layers()[index]->layer_param(); }
  bool IsChanged(int id) const { return writer_[memory_[id]] != seen_[id]; }

  void Visit(int index) {
    const LayerParameter& layer = Parameter(index);
    const vector<int>&bottoms = net_.bottom_ids(index), &tops = net_.top_ids(index);
    for (size_t i = 0; i < bottoms.size(); ++i) {
      const int id = bottoms[i];
      if (!IsChanged(id) || tops.empty() ||
          OperationTable::Of(layer.type()).IsShapeBottom(static_cast<int>(i))) {
        continue;
      }
      Fail(Change(id), "layer '", layer.name(), "' (", layer.type(), ") reads afterwards", kApart,
           Remedy(id));
    }
    for (const int id : tops) {
      const bool in_place = std::count(bottoms.begin(), bottoms.end(), id) > 0;
      if (!in_place) memory_[id] = SharesBottom(layer) ? memory_[bottoms[0]] : id;
      if (in_place && !IsTestIdentity(layer)) writer_[memory_[id]] = index;
      seen_[id] = writer_[memory_[id]];
    }
  }

  string Change(int id) const {
    const LayerParameter& writer = Parameter(writer_[memory_[id]]);
    return Join("layer '", writer.name(), "' (", writer.type(), ") works in place on blob '",
                writer.top(0), "', in the memory of blob '", net_.blob_names()[memory_[id]],
                "', which ");
  }
  Error::Remedy Remedy(int id) const {
    return {Join("give the top of layer '", Parameter(writer_[memory_[id]]).name(),
                 "' a name of its own, or let the reader come before it or read that top")};
  }

  const Net<float>& net_;
  vector<int> memory_;  // per blob: the first that has this one's
  vector<int> writer_;  // per memory: the last layer that changed it in place, -1
  vector<int> seen_;    // per blob: the writer that its value in the graph has seen
};

/// Builds the graph of a net whose values are known.
class NetToGraph {
 public:
  explicit NetToGraph(const Net<float>& net) : net_(net), values_(net) {}

  Graph Build() {
    SharedBlobs(net_).RequireOneValueEach();
    graph_.name = net_.name();
    for (const ValueGraph::Value& value : values_.values) graph_.AddValue(value.name, {});
    for (const ValueGraph::LayerNode& layer : values_.layers) AddLayer(layer);
    // As in a net: values that no layer reads are outputs, in alphabetical order.
    std::map<std::string, int> outputs;
    for (size_t i = 0; i < values_.values.size(); ++i) {
      if (IsOutput(values_.values[i])) outputs[graph_.values[i].name] = static_cast<int>(i);
    }
    for (const auto& output : outputs) graph_.outputs.push_back(output.second);
    graph_.Validate();
    return std::move(graph_);
  }

 private:
  const LayerParameter& Parameter(int layer) const {
    return net_.layers()[values_.layers[layer].net_index]->layer_param();
  }

  // A loss is an output even where no top is named: its inference form will be.
  bool IsOutput(const ValueGraph::Value& value) const {
    if (!value.readers.empty()) return false;
    return !value.blob.empty() ||
           (OperationTable::Of(Parameter(value.producer).type()).loss && value.top == 0);
  }

  void AddLayer(const ValueGraph::LayerNode& layer) {
    const Layer<float>& made = *net_.layers()[layer.net_index];
    const vector<Blob<float>*>& tops = net_.top_vecs()[layer.net_index];
    for (size_t i = 0; i < tops.size(); ++i) graph_.values[layer.tops[i]].shape = tops[i]->shape();
    if (layer.bottoms.empty() && !layer.tops.empty() && values_.values[layer.tops[0]].is_input) {
      graph_.inputs.insert(graph_.inputs.end(), layer.tops.begin(), layer.tops.end());
      return;
    }
    Node node;
    node.layer = made.layer_param();
    node.layer.set_type(NodeType(node.layer.type()));
    node.layer.clear_blobs();
    node.layer.clear_bottom();
    node.layer.clear_top();
    for (int i = 2; graph_.FindNode(node.name()) >= 0; ++i) {
      node.layer.set_name(Join(made.layer_param().name(), "_", i));
    }
    node.inputs = layer.bottoms;
    node.outputs = layer.tops;
    for (const auto& blob : net_.layers()[layer.net_index]->blobs()) {
      node.parameters.push_back(Share(blob));
    }
    if (node.type() == "BatchNorm") NormalizeBatchNorm(&node.parameters);
    graph_.nodes.push_back(node);
  }

  const Net<float>& net_;
  const ValueGraph values_;
  Graph graph_;
};

/// The last writes to a layer's parameters.
std::vector<uint64_t> Stamps(Layer<float>& layer) {
  std::vector<uint64_t> stamps;
  for (const auto& blob : layer.blobs()) stamps.push_back(blob->data_tensor().stamp());
  return stamps;
}

/// Loads the files over the fillers' values, and reports the layers without weights. A net that
/// keeps only random numbers is surely a mistake.
void LoadWeights(const std::vector<std::string>& files, Net<float>* net) {
  if (files.empty()) return;
  std::vector<std::vector<uint64_t>> before;
  for (const auto& layer : net->layers()) before.push_back(Stamps(*layer));
  for (const std::string& file : files) net->CopyTrainedLayersFrom(file);
  std::vector<std::string> untrained;
  size_t layers_with_parameters = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].empty()) continue;
    ++layers_with_parameters;
    if (Stamps(*net->layers()[i]) == before[i]) untrained.push_back(net->layer_names()[i]);
  }
  if (untrained.empty()) return;
  Require(untrained.size() < layers_with_parameters, Listed(files), ": no layer of the net '",
          net->name(), "' has weights there: names of layers must agree; the net's are ",
          ListedQuoted(untrained, 5));
  LOG(WARNING) << untrained.size() << " of " << layers_with_parameters
               << " layers with parameters have no weights in " << Listed(files)
               << " and keep what their fillers made: " << ListedQuoted(untrained);
}

Quantization QuantizationOf(const QuantizationParameter& param) {
  Quantization quantization;
  if (param.has_scheme()) quantization.scheme = SchemeOf(param.scheme());
  if (param.has_arithmetic()) quantization.arithmetic = static_cast<Arithmetic>(param.arithmetic());
  if (param.has_rounding()) {
    quantization.rounding = static_cast<kernels::Rounding>(param.rounding());
  }
  return quantization;
}

}  // namespace

Graph GraphOf(const Net<float>& net) {
  Graph graph = NetToGraph(net).Build();
  // A net that runs again may keep only the packed form of its weights.
  for (Node& node : graph.nodes) {
    for (Constant& parameter : node.parameters) {
      const Constant copy = NewConstant(parameter.type, parameter.count());
      std::memcpy(Elements<void>(copy), parameter.data.get(),
                  parameter.count() * SizeOf(parameter.type));
      parameter.data = copy.data;
    }
  }
  return graph;
}

NetworkDefinition NetworkDefinition::FromCaffe(NetParameter net,
                                               const std::vector<std::string>& weights) {
  net.mutable_state()->set_phase(TEST);
  net.clear_quantized_training();  // engines round by themselves
  ClearTypes(&net);
  Net<float> built(net);
  LoadWeights(weights, &built);
  NetworkDefinition definition(NetToGraph(built).Build());  // which keeps its parameters
  definition.SetQuantization(QuantizationOf(net.quantization()));
  for (const std::string& file : weights) {
    if (const auto trained = ReadTrainedRanges(file)) definition.TakeTraining(*trained);
  }
  return definition;
}

NetworkDefinition NetworkDefinition::FromCaffe(const std::string& model,
                                               const std::vector<std::string>& weights) {
  NetParameter net;
  ReadNetParamsFromTextFileOrDie(model, &net);
  return FromCaffe(net, weights);
}

}  // namespace caffe::inference
