#include "caffe/util/insert_splits.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/operation.hpp"

namespace caffe {
namespace {

using TopId = std::pair<int, int>;  // layer, index of the top

/// Who reads what: the top behind each bottom, and how often each top is read.
struct Readers {
  std::vector<std::vector<TopId>> source;  // per layer and bottom
  std::map<TopId, int> count;
};

float LossWeight(const LayerParameter& layer, int top) {
  return top < layer.loss_weight_size() ? layer.loss_weight(top) : 0;
}

Readers FindReaders(const NetParameter& net) {
  Readers readers;
  std::map<std::string, TopId> newest;  // by blob name; an in-place layer makes a new top
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    readers.source.emplace_back();
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const auto found = newest.find(layer.bottom(j));
      Require(found != newest.end(), "Unknown bottom blob '", layer.bottom(j), "' (layer '",
              layer.name(), "', bottom index ", j, "): no layer before it has such a top");
      readers.source.back().push_back(found->second);
      ++readers.count[found->second];
    }
    for (int j = 0; j < layer.top_size(); ++j) {
      newest[layer.top(j)] = TopId(i, j);
      if (LossWeight(layer, j) != 0) ++readers.count[TopId(i, j)];
    }
  }
  return readers;
}

// The split's first top takes the loss weight over. A layer that is a loss by itself would put its
// default weight in the place of none, so that it keeps an explicit zero.
void MoveLossWeight(LayerParameter* layer, int top) {
  if (top < layer->loss_weight_size()) layer->set_loss_weight(top, 0);
  const Operation* operation = OperationTable::Find(layer->type());
  const auto& weights = layer->loss_weight();
  const bool all_zero =
      std::all_of(weights.begin(), weights.end(), [](float weight) { return weight == 0; });
  if (all_zero && !(operation && operation->loss)) layer->clear_loss_weight();
}

}  // namespace

void InsertSplits(const NetParameter& param, NetParameter* param_split) {
  const Readers readers = FindReaders(param);
  param_split->CopyFrom(param);
  param_split->clear_layer();
  std::map<TopId, int> next_split;
  for (int i = 0; i < param.layer_size(); ++i) {
    const LayerParameter& original = param.layer(i);
    LayerParameter layer = original;
    std::vector<LayerParameter> splits;
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const TopId source = readers.source[i][j];
      if (readers.count.at(source) < 2) continue;
      layer.set_bottom(j, SplitBlobName(param.layer(source.first).name(), layer.bottom(j),
                                        source.second, next_split[source]++));
    }
    for (int j = 0; j < layer.top_size(); ++j) {
      const auto count = readers.count.find(TopId(i, j));
      if (count == readers.count.end() || count->second < 2) continue;
      const float loss_weight = LossWeight(original, j);
      splits.emplace_back();
      ConfigureSplitLayer(layer.name(), layer.top(j), j, count->second, loss_weight,
                          &splits.back());
      if (loss_weight != 0) {
        MoveLossWeight(&layer, j);
        ++next_split[TopId(i, j)];
      }
    }
    param_split->add_layer()->Swap(&layer);
    for (LayerParameter& split : splits) param_split->add_layer()->Swap(&split);
  }
}

void ConfigureSplitLayer(const std::string& layer_name, const std::string& blob_name,
                         const int blob_idx, const int split_count, const float loss_weight,
                         LayerParameter* split_layer_param) {
  split_layer_param->Clear();
  split_layer_param->add_bottom(blob_name);
  split_layer_param->set_name(SplitLayerName(layer_name, blob_name, blob_idx));
  split_layer_param->set_type("Split");
  for (int k = 0; k < split_count; ++k) {
    split_layer_param->add_top(SplitBlobName(layer_name, blob_name, blob_idx, k));
    if (loss_weight != 0) split_layer_param->add_loss_weight(k == 0 ? loss_weight : 0);
  }
}

std::string SplitLayerName(const std::string& layer_name, const std::string& blob_name,
                           const int blob_idx) {
  return blob_name + "_" + layer_name + "_" + std::to_string(blob_idx) + "_split";
}

std::string SplitBlobName(const std::string& layer_name, const std::string& blob_name,
                          const int blob_idx, const int split_idx) {
  return SplitLayerName(layer_name, blob_name, blob_idx) + "_" + std::to_string(split_idx);
}

}  // namespace caffe
