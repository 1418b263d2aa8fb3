#include "caffe/inference/quantize/simulated_int8.hpp"

#include <algorithm>
#include <set>

#include "caffe/fp16/value_graph.hpp"
#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/operation.hpp"

namespace caffe {
namespace {

const LayerParameter& ParamOf(const Net<float>& net, const ValueGraph& graph, int layer) {
  return net.layers()[graph.layers[layer].net_index]->layer_param();
}

/// Has an INT8 form or only moves values.
bool PassesIntegersOn(const LayerParameter& layer) {
  const Operation& operation = OperationTable::Of(layer.type());
  return operation.quantizable || operation.type_agnostic || inference::IsTestIdentity(layer);
}

/// Per value: it reaches an INT8 layer with weights through layers that pass integers on.
std::vector<bool> FeedsIntegers(const Net<float>& net, const ValueGraph& graph,
                                const CalibrationTable& table) {
  std::vector<bool> feeds(graph.values.size(), false);
  for (int v = static_cast<int>(graph.values.size()) - 1; v >= 0; --v) {
    const ValueGraph::Value& value = graph.values[v];
    for (const auto& reader : value.readers) {
      const LayerParameter& layer = ParamOf(net, graph, reader.first);
      const std::vector<int>& tops = graph.layers[reader.first].tops;
      const bool own = HasWeightScales(layer.type()) && table.Find(value.name) != nullptr;
      const bool passed =
          PassesIntegersOn(layer) && !HasWeightScales(layer.type()) &&
          std::any_of(tops.begin(), tops.end(), [&](int top) { return feeds[top]; });
      if (own || passed) feeds[v] = true;
    }
  }
  return feeds;
}

}  // namespace

SimulatedInt8::SimulatedInt8(Net<float>* net, const CalibrationTable& table) : net_(net) {
  const ValueGraph graph(*net);
  const std::vector<bool> feeds = FeedsIntegers(*net, graph, table);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ValueGraph::Value& value = graph.values[v];
    const BlobCalibration* calibration = table.Find(value.name);
    if (!feeds[v] || !calibration) continue;
    places_.push_back({graph.layers[value.producer].net_index, value.top,
                       static_cast<float>(calibration->scale()), calibration->is_unsigned});
    names_.push_back(value.name);
  }
  std::set<const Tensor*> rounded;  // layers may share their weights
  for (const ValueGraph::LayerNode& node : graph.layers) {
    Layer<float>* layer = net->layers()[node.net_index].get();
    const LayerParameter& param = layer->layer_param();
    if (!HasWeightScales(param.type()) || layer->blobs().empty()) continue;
    const bool has_range = table.Find(graph.values[node.bottoms[0]].name) != nullptr;
    (has_range ? layers_ : float_layers_).push_back(param.name());
    if (has_range && rounded.insert(&layer->blobs()[0]->data_tensor()).second) {
      RoundWeights(layer);
    }
  }
  net->add_after_forward(this);
}

void SimulatedInt8::RoundWeights(Layer<float>* layer) {
  Blob<float>& weights = *layer->blobs()[0];
  const LayerParameter& param = layer->layer_param();
  const std::vector<float> values =
      DequantizeWeights(param, weights.shape(),
                        QuantizeWeights(param, weights.shape(), weights.cpu_data_as<float>()));
  std::copy(values.begin(), values.end(), weights.mutable_cpu_data());
}

void SimulatedInt8::run(int layer) {
  for (const Place& place : places_) {
    if (place.layer != layer) continue;
    Blob<float>* top = net_->top_vecs()[layer][place.top];
    const size_t count = static_cast<size_t>(top->count());
    float* values = top->mutable_cpu_data();
    if (place.is_unsigned) {
      kernels::FakeQuantize<uint8_t>(count, place.scale, values, values);
    } else {
      kernels::FakeQuantize<int8_t>(count, place.scale, values, values);
    }
  }
}

}  // namespace caffe
