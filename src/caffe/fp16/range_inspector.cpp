#include "caffe/fp16/range_inspector.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caffe/net/net_checks.hpp"

namespace caffe {
namespace {

std::string ParameterName(Layer<float>& layer, size_t index) {
  const std::string type = layer.layer_param().type();
  const char* const kBatchNorm[] = {"mean", "variance", "factor", "scale", "bias"};
  const char* const kBn[] = {"scale", "bias", "mean", "variance"};
  if (type == "BatchNorm" && index < 5) return kBatchNorm[index];
  if (type == "BN" && index < 4) return kBn[index];
  if (type == "Scale" && layer.blobs().size() > 1) return index == 0 ? "scale" : "bias";
  if (type == "Bias") return "bias";
  if (layer.blobs().size() == 1) return "weights";
  if (layer.blobs().size() == 2) return index == 0 ? "weights" : "bias";
  return Join("blob ", index);
}

std::vector<BlobRange> ParameterRanges(Layer<float>& layer) {
  std::vector<BlobRange> ranges;
  const auto& blobs = layer.blobs();
  for (size_t i = 0; i < blobs.size(); ++i) {
    ranges.push_back({ParameterName(layer, i), Magnitudes()});
    ranges.back().magnitudes.Add(blobs[i]->cpu_data(), blobs[i]->count());
  }
  return ranges;
}

/// Sets of values, joined bit by bit.
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }
  int Find(int i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void Join(int a, int b) { parents_[std::max(Find(a), Find(b))] = std::min(Find(a), Find(b)); }

 private:
  std::vector<int> parents_;
};

}  // namespace

double LayerRange::LargestInside() const {
  double largest = 0;
  for (const auto& entry : inside) largest = std::max(largest, entry.second);
  return largest;
}

RangeInspector::RangeInspector(Net<float>* net) : net_(net), graph_(*net) {
  for (const ValueGraph::LayerNode& node : graph_.layers) {
    Layer<float>& layer = *net->layers()[node.net_index];
    LayerRange range;
    range.name = layer.layer_param().name();
    range.type = layer.layer_param().type();
    for (int value : node.bottoms) range.bottoms.push_back(graph_.values[value].blob);
    for (int value : node.tops) range.tops.push_back({graph_.values[value].blob, Magnitudes()});
    range.parameters = ParameterRanges(layer);
    layers_.push_back(std::move(range));
    watches_.push_back(InnerWatch::Make(layer));
  }
  CheckParameters();
}

void RangeInspector::CheckParameters() const {
  std::string bad;
  for (const LayerRange& layer : layers_) {
    for (const BlobRange& parameter : layer.parameters) {
      const int64_t nan = parameter.magnitudes.not_a_number();
      const int64_t infinite = parameter.magnitudes.infinite();
      if (nan + infinite == 0) continue;
      bad += Join(bad.empty() ? "" : "; ", "layer '", layer.name, "' (", layer.type,
                  "): ", parameter.name, " has ", nan, " NaN and ", infinite, " infinite of ",
                  parameter.magnitudes.count(), " values");
    }
  }
  Require(bad.empty(), "the weights are damaged: ", bad);
}

void RangeInspector::Forward() {
  Net<float>& net = *net_;
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(net.layers().size()); ++i) {
    const bool listed = next < graph_.layers.size() && graph_.layers[next].net_index == i;
    if (listed && watches_[next]) {
      watches_[next]->Add(net.layers()[i].get(), net.bottom_vecs()[i], &layers_[next].inside);
    }
    net.ForwardFromTo(i, i);
    if (!listed) continue;
    for (size_t j = 0; j < layers_[next].tops.size(); ++j) {
      const Blob<float>& top = *net.top_vecs()[i][j];
      layers_[next].tops[j].magnitudes.Add(top.cpu_data(), top.count());
    }
    ++next;
  }
  ++batches_;
}

const Magnitudes& RangeInspector::magnitudes(int value) const {
  const ValueGraph::Value& source = graph_.values[value];
  return layers_[source.producer].tops[source.top].magnitudes;
}

std::optional<TopRange> RangeInspector::FirstNotFinite() const {
  for (const LayerRange& layer : layers_) {
    for (const BlobRange& top : layer.tops) {
      if (top.magnitudes.not_finite() > 0) return TopRange{layer, top};
    }
  }
  return {};
}

void RangeInspector::RequireFinite() const {
  const auto found = FirstNotFinite();
  if (!found) return;
  const Magnitudes& values = found->top.magnitudes;
  Fail("layer '", found->layer.name, "' (", found->layer.type, "): blob '", found->top.name,
       "' has ", values.not_finite(), " NaN or infinite of ", values.count(),
       " values in FLOAT already: no scaling cures that");
}

std::vector<OverflowRegion> RangeInspector::Regions() const {
  const auto beyond = [this](int value) {
    return magnitudes(value).largest() > kLargestFloat16 || magnitudes(value).infinite() > 0;
  };
  Sets sets(graph_.values.size());
  for (const ValueGraph::LayerNode& layer : graph_.layers) {
    int first = -1;
    for (const std::vector<int>* side : {&layer.bottoms, &layer.tops}) {
      for (int value : *side) {
        if (!beyond(value)) continue;
        if (first < 0) first = value;
        sets.Join(first, value);
      }
    }
  }
  struct Ends {
    int from = -1, to = -1;
    bool reaches_output = false;
    OverflowRegion region;
  };
  std::map<int, Ends> found;
  for (int v = 0; v < static_cast<int>(graph_.values.size()); ++v) {
    if (!beyond(v)) continue;
    const ValueGraph::Value& value = graph_.values[v];
    Ends& ends = found[sets.Find(v)];
    if (ends.from < 0) ends.from = value.producer;
    if (value.readers.empty()) ends.reaches_output = true;
    for (const auto& reader : value.readers) ends.to = std::max(ends.to, reader.first);
    std::vector<std::string>& blobs = ends.region.blobs;
    if (std::find(blobs.begin(), blobs.end(), value.blob) == blobs.end()) {
      blobs.push_back(value.blob);  // once, though layers in place make it again
    }
    ends.region.largest = std::max(ends.region.largest, magnitudes(v).largest());
  }
  std::vector<OverflowRegion> regions;
  for (auto& entry : found) {
    Ends& ends = entry.second;
    ends.region.from = layers_[ends.from].name;
    if (!ends.reaches_output) ends.region.to = layers_[ends.to].name;
    regions.push_back(std::move(ends.region));
  }
  return regions;
}

std::vector<int> RangeInspector::OverflowsInside() const {
  const auto fits = [this](const std::vector<int>& values) {
    return std::all_of(values.begin(), values.end(), [this](int value) {
      return magnitudes(value).largest() <= kLargestFloat16;
    });
  };
  std::vector<int> layers;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const ValueGraph::LayerNode& node = graph_.layers[i];
    if (layers_[i].LargestInside() > kLargestFloat16 && fits(node.bottoms) && fits(node.tops)) {
      layers.push_back(static_cast<int>(i));
    }
  }
  return layers;
}

}  // namespace caffe
