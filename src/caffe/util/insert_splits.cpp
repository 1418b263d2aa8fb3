#include "caffe/util/insert_splits.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {
namespace {

using TopIndex = std::pair<int, int>;  // layer, top

/// Why `blob` is not there for bottom number `bottom` of layer number `layer`.
[[noreturn]] void FailUnknownBottom(const NetParameter& net, int layer, int bottom) {
  const LayerParameter& user = net.layer(layer);
  const std::string& blob = user.bottom(bottom);
  const std::string what = Join("layer '", user.name(), "' (", user.type(), "): bottom ", bottom,
                                ", '", blob, "', ");
  std::vector<std::string> known;
  for (int i = 0; i < net.layer_size(); ++i) {
    const auto& tops = net.layer(i).top();
    if (i >= layer && std::find(tops.begin(), tops.end(), blob) != tops.end()) {
      if (i == layer) Fail(what, "is the layer's own top: that is a cycle");
      Fail(what, "is made by the later layer '", net.layer(i).name(),
           "': layers stand in the order in which they are computed; if that layer needs this one, ",
           "the net has a cycle");
    }
    if (i < layer) known.insert(known.end(), tops.begin(), tops.end());
  }
  Fail(what, "is made by no layer (Unknown bottom blob)", DidYouMean(blob, known));
}

/// For each bottom the top it reads, and for each top how many read it.
struct Uses {
  std::map<TopIndex, TopIndex> source;
  std::map<TopIndex, int> count;
  std::map<TopIndex, float> loss_weight;
};

Uses FindUses(const NetParameter& net) {
  Uses uses;
  std::map<std::string, TopIndex> last_top;
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const auto top = last_top.find(layer.bottom(j));
      if (top == last_top.end()) FailUnknownBottom(net, i, j);
      uses.source[{i, j}] = top->second;
      ++uses.count[top->second];
    }
    for (int j = 0; j < layer.top_size(); ++j) last_top[layer.top(j)] = {i, j};
    // A weighted loss is a use: its gradient starts there.
    for (int j = 0; j < std::min(layer.loss_weight_size(), layer.top_size()); ++j) {
      uses.loss_weight[{i, j}] = layer.loss_weight(j);
      if (layer.loss_weight(j) != 0) ++uses.count[{i, j}];
    }
  }
  return uses;
}

}  // namespace

void InsertSplits(const NetParameter& param, NetParameter* param_split) {
  NetParameter result(param);
  result.clear_layer();
  const Uses uses = FindUses(param);
  std::map<TopIndex, int> next_split;
  const auto count_of = [&uses](TopIndex top) {
    const auto found = uses.count.find(top);
    return found == uses.count.end() ? 0 : found->second;
  };
  for (int i = 0; i < param.layer_size(); ++i) {
    LayerParameter* layer = result.add_layer();
    layer->CopyFrom(param.layer(i));
    for (int j = 0; j < layer->bottom_size(); ++j) {
      const TopIndex source = uses.source.at({i, j});
      if (count_of(source) > 1) {
        layer->set_bottom(j, SplitBlobName(param.layer(source.first).name(), layer->bottom(j),
                                           source.second, next_split[source]++));
      }
    }
    const std::string name = layer->name();
    const std::vector<std::string> tops(layer->top().begin(), layer->top().end());
    for (int j = 0; j < static_cast<int>(tops.size()); ++j) {
      const int count = count_of({i, j});
      if (count <= 1) continue;
      const auto weight = uses.loss_weight.find({i, j});
      const float loss_weight = weight == uses.loss_weight.end() ? 0 : weight->second;
      if (loss_weight != 0) {
        layer->clear_loss_weight();  // the Split's first top carries it
        ++next_split[{i, j}];
      }
      ConfigureSplitLayer(name, tops[j], j, count, loss_weight, result.add_layer());
    }
  }
  param_split->Swap(&result);
}

void ConfigureSplitLayer(const std::string& layer_name, const std::string& blob_name,
                         const int blob_idx, const int split_count, const float loss_weight,
                         LayerParameter* split) {
  split->Clear();
  split->set_name(SplitLayerName(layer_name, blob_name, blob_idx));
  split->set_type("Split");
  split->add_bottom(blob_name);
  for (int k = 0; k < split_count; ++k) {
    split->add_top(SplitBlobName(layer_name, blob_name, blob_idx, k));
    if (loss_weight != 0) split->add_loss_weight(k == 0 ? loss_weight : 0);
  }
}

std::string SplitLayerName(const std::string& layer_name, const std::string& blob_name,
                           const int blob_idx) {
  return Join(blob_name, "_", layer_name, "_", blob_idx, "_split");
}

std::string SplitBlobName(const std::string& layer_name, const std::string& blob_name,
                          const int blob_idx, const int split_idx) {
  return Join(SplitLayerName(layer_name, blob_name, blob_idx), "_", split_idx);
}

}  // namespace caffe
