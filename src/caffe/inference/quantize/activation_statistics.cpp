#include "caffe/inference/activation_statistics.hpp"

#include <algorithm>

#include "caffe/operation.hpp"

namespace caffe {
namespace {

const Operation* OperationOf(const Net<float>& net, const ValueGraph& graph, int layer) {
  return OperationTable::Find(net.layers()[graph.layers[layer].net_index]->layer_param().type());
}

// Who reads it as a number, not as a label, an index or a coordinate.
bool IsReadAsNumber(const Net<float>& net, const ValueGraph& graph,
                    const ValueGraph::Value& value) {
  return std::any_of(value.readers.begin(), value.readers.end(), [&](const auto& reader) {
    const Operation* operation = OperationOf(net, graph, reader.first);
    return !operation || !operation->IsFloatBottom(reader.second);
  });
}

bool MayBeQuantized(const Net<float>& net, const ValueGraph& graph,
                    const ValueGraph::Value& value) {
  if (value.overwriter >= 0 || value.blob.empty()) return false;
  const Operation* producer = OperationOf(net, graph, value.producer);
  const bool source = producer && producer->source;
  if (producer && !source && producer->IsFloatTop(value.top)) return false;
  // Data layers declare all tops float. What a net gives out may be read as a number by anybody.
  return IsReadAsNumber(net, graph, value) || (value.readers.empty() && !source);
}

}  // namespace

std::vector<int> QuantizableValues(const Net<float>& net, const ValueGraph& graph) {
  std::vector<int> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (MayBeQuantized(net, graph, graph.values[v])) values.push_back(static_cast<int>(v));
  }
  return values;
}

ActivationStatistics::ActivationStatistics(Net<float>* net) : net_(net) {
  const ValueGraph graph(*net);
  for (int v : QuantizableValues(*net, graph)) {
    const ValueGraph::Value& value = graph.values[v];
    const int layer = graph.layers[value.producer].net_index;
    blobs_.push_back({value.blob, net->layer_names()[layer], Histogram()});
    places_.push_back({layer, value.top});
  }
}

void ActivationStatistics::Forward() {
  size_t next = 0;  // places are in the order of the layers
  for (int i = 0; i < static_cast<int>(net_->layers().size()); ++i) {
    net_->ForwardFromTo(i, i);
    for (; next < places_.size() && places_[next].layer == i; ++next) {
      const Blob<float>& top = *net_->top_vecs()[i][places_[next].top];
      blobs_[next].histogram.Add(top.cpu_data(), static_cast<size_t>(top.count()));
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
