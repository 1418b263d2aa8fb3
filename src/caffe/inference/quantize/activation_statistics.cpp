#include "caffe/inference/quantize/activation_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/inference/quantize/groups.hpp"
#include "caffe/kernels/activation.hpp"
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

/// True for layers that engines of integers can only compute where the range of what they read is
/// known. That of a function's bottom may follow from its top (BeforeFunction in integers.cpp).
bool NeedsRangeOfBottoms(const Net<float>& net, const ValueGraph& graph, int layer) {
  const Operation* operation = OperationOf(net, graph, layer);
  if (!operation) return false;
  const LayerParameter& param = net.layers()[graph.layers[layer].net_index]->layer_param();
  return IsQuantizable(net, graph, layer) || operation->interpolates ||
         (operation->bounds && !ActivationOf(param));
}

/// True for functions that take numbers of any range in engines of integers: where nothing else
/// reads these, their range is that in which the function is not constant.
bool IsFunction(const Net<float>& net, const ValueGraph& graph, int layer) {
  const Operation* operation = OperationOf(net, graph, layer);
  if (!operation) return false;
  return operation->bounds ||
         ActivationOf(net.layers()[graph.layers[layer].net_index]->layer_param());
}

/// True if a function reads the value, and so does something else.
bool IsSharedWithFunction(const Net<float>& net, const ValueGraph& graph, size_t v) {
  const ValueGraph::Value& value = graph.values[v];
  const auto& outputs = net.output_blob_indices();
  const bool is_output = std::any_of(outputs.begin(), outputs.end(), [&](int blob) {
    return net.blob_names()[blob] == value.blob && value.overwriter < 0;
  });
  return value.readers.size() + is_output > 1 &&
         std::any_of(value.readers.begin(), value.readers.end(),
                     [&](const auto& reader) { return IsFunction(net, graph, reader.first); });
}

bool OnlyMovesValues(const Net<float>& net, const ValueGraph& graph, int layer) {
  const Operation* operation = OperationOf(net, graph, layer);
  return operation &&
         (operation->type_agnostic ||
          inference::IsTestIdentity(net.layers()[graph.layers[layer].net_index]->layer_param()));
}

/// Per value: a layer that NeedsRangeOfBottoms reads it as numbers (not as labels, indices,
/// coordinates), directly or through layers that only move values.
std::vector<bool> ReadInIntegers(const Net<float>& net, const ValueGraph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (size_t v = graph.values.size(); v-- > 0;) {
    for (const auto& reader : graph.values[v].readers) {
      const Operation* operation = OperationOf(net, graph, reader.first);
      if (operation && operation->IsFloatBottom(reader.second)) continue;
      const std::vector<int>& tops = graph.layers[reader.first].tops;
      const bool moved = OnlyMovesValues(net, graph, reader.first) &&
                         std::any_of(tops.begin(), tops.end(), [&](int top) { return read[top]; });
      if (NeedsRangeOfBottoms(net, graph, reader.first) || moved) read[v] = true;
    }
  }
  return read;
}

/// Values that share a range, since layers only move numbers between them.
inference::Groups MovedTogether(const Net<float>& net, const ValueGraph& graph) {
  inference::Groups groups(graph.values.size());
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const Operation* operation = OperationOf(net, graph, static_cast<int>(i));
    const ValueGraph::LayerNode& layer = graph.layers[i];
    if (layer.tops.empty() || !OnlyMovesValues(net, graph, static_cast<int>(i))) continue;
    for (const int top : layer.tops) groups.Join(top, layer.tops[0]);
    for (size_t bottom = 0; bottom < layer.bottoms.size(); ++bottom) {
      const int index = static_cast<int>(bottom);
      if (!operation->IsFloatBottom(index) && !operation->IsShapeBottom(index)) {
        groups.Join(layer.bottoms[bottom], layer.tops[0]);
      }
    }
  }
  return groups;
}

/// True for a net's output that is a copy of a blob: an engine computes the blob under the output's
/// name (RemoveIdentities).
bool IsCopiedOutput(const Net<float>& net, const ValueGraph& graph,
                    const ValueGraph::Value& value) {
  const ValueGraph::LayerNode& layer = graph.layers[value.producer];
  const std::string& type = net.layers()[layer.net_index]->layer_param().type();
  const bool copies = type == "Split" || (layer.bottoms.size() == 1 && layer.tops.size() == 1 &&
                                          (type == "Concat" || type == "Slice"));
  return copies && value.readers.empty();
}

}  // namespace

std::vector<int> QuantizableValues(const Net<float>& net, const ValueGraph& graph) {
  const std::vector<bool> read = ReadInIntegers(net, graph);
  const auto wanted = [&](size_t v) {
    return read[v] || IsQuantizable(net, graph, graph.values[v].producer);
  };
  inference::Groups groups = MovedTogether(net, graph);
  std::vector<bool> group_wanted(graph.values.size(), false);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (wanted(v)) group_wanted[groups.Of(static_cast<int>(v))] = true;
  }
  std::vector<int> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ValueGraph::Value& value = graph.values[v];
    if ((value.overwriter >= 0 && !value.is_input) || value.blob.empty()) continue;
    // A value that is moved to where others are has to have a range as they do.
    const bool moved =
        OnlyMovesValues(net, graph, value.producer) && !IsCopiedOutput(net, graph, value);
    if (moved ? wanted(v) : group_wanted[groups.Of(static_cast<int>(v))]) {
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
  std::vector<bool> counts(graph.values.size());
  for (const int v : QuantizableValues(*net, graph)) counts[v] = true;
  for (size_t v = 0; v < counts.size(); ++v) {
    const ValueGraph::Value& value = graph.values[v];
    if (!counts[v] && (value.blob.empty() || !IsSharedWithFunction(*net, graph, v))) continue;
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
