#include "caffe/inference/quantize/activation_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "caffe/kernels/parallel.hpp"
#include "caffe/operation.hpp"

namespace caffe {
namespace {

const Operation* OperationOf(const Net<float>& net, const ValueGraph& graph, int layer) {
  return OperationTable::Find(net.layers()[graph.layers[layer].net_index]->layer_param().type());
}

bool IsQuantizable(const Net<float>& net, const ValueGraph& graph, int layer) {
  const Operation* operation = OperationOf(net, graph, layer);
  return operation && (operation->quantizable || operation->quantizable_in_integers);
}

bool OnlyMovesValues(const Operation* operation) {
  return operation && (operation->type_agnostic || operation->test_identity);
}

/// Per value: a layer with an INT8 form reads it as numbers (not as labels, indices, coordinates),
/// directly or through layers that only move values.
std::vector<bool> ReadInIntegers(const Net<float>& net, const ValueGraph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (size_t v = graph.values.size(); v-- > 0;) {
    for (const auto& reader : graph.values[v].readers) {
      const Operation* operation = OperationOf(net, graph, reader.first);
      if (operation && operation->IsFloatBottom(reader.second)) continue;
      const std::vector<int>& tops = graph.layers[reader.first].tops;
      const bool moved = OnlyMovesValues(operation) &&
                         std::any_of(tops.begin(), tops.end(), [&](int top) { return read[top]; });
      if (IsQuantizable(net, graph, reader.first) || moved) read[v] = true;
    }
  }
  return read;
}

}  // namespace

std::vector<int> QuantizableValues(const Net<float>& net, const ValueGraph& graph) {
  const std::vector<bool> read = ReadInIntegers(net, graph);
  std::vector<int> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ValueGraph::Value& value = graph.values[v];
    if ((value.overwriter >= 0 && !value.is_input) || value.blob.empty()) continue;
    if (read[v] || IsQuantizable(net, graph, value.producer)) {
      values.push_back(static_cast<int>(v));
    }
  }
  return values;
}

namespace {

void AddChannels(const Blob<float>& blob, BlobStatistics* seen) {
  if (blob.num_axes() < 2 || blob.count() == 0) return;
  const size_t channels = blob.shape(1), plane = blob.count(2);
  seen->channels.resize(channels, 0.f);
  seen->sums.resize(channels, 0);
  seen->values += int64_t(blob.shape(0)) * plane;
  kernels::ParallelFor(channels, 1, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      float most = seen->channels[c];
      double sum = 0;
      for (int n = 0; n < blob.shape(0); ++n) {
        const float* x = blob.cpu_data() + (n * channels + c) * plane;
        for (size_t i = 0; i < plane; ++i) {
          most = std::max(most, std::abs(x[i]));
          sum += x[i];
        }
      }
      seen->channels[c] = most;
      seen->sums[c] += sum;
    }
  });
}

}  // namespace

ActivationStatistics::ActivationStatistics(Net<float>* net) : net_(net) {
  const ValueGraph graph(*net);
  for (int v : QuantizableValues(*net, graph)) {
    const ValueGraph::Value& value = graph.values[v];
    const int layer = graph.layers[value.producer].net_index;
    blobs_.push_back({value.name, net->layer_names()[layer], Histogram(), {}, {}, 0});
    places_.push_back({layer, value.top});
  }
}

void ActivationStatistics::Forward(int first) {
  size_t next = 0;  // places are in the order of the layers
  for (int i = 0; i < static_cast<int>(net_->layers().size()); ++i) {
    if (i >= first) net_->ForwardFromTo(i, i);
    for (; next < places_.size() && places_[next].layer == i; ++next) {
      const Blob<float>& top = *net_->top_vecs()[i][places_[next].top];
      blobs_[next].histogram.Add(top.cpu_data(), static_cast<size_t>(top.count()));
      AddChannels(top, &blobs_[next]);
    }
  }
  ++batches_;
}

const BlobStatistics* ActivationStatistics::Find(const std::string& blob) const {
  for (const BlobStatistics& statistics : blobs_) {
    if (statistics.blob == blob) return &statistics;
  }
  return nullptr;
}

}  // namespace caffe
