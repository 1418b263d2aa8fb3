#include "caffe/fp16/value_graph.hpp"

#include <map>

#include "caffe/util/insert_splits.hpp"

namespace caffe {
namespace {

/// The newest value of each blob's name, while the layers are gone through in order.
class NewestValues {
 public:
  int Of(const std::string& blob) const {
    const auto found = newest_.find(blob);
    CHECK(found != newest_.end()) << "no layer makes blob " << blob;
    return found->second;
  }
  void Set(const std::string& blob, int value) { newest_[blob] = value; }

 private:
  std::map<std::string, int> newest_;
};

bool IsInsertedSplit(const LayerParameter& layer, const ValueGraph& graph, int value,
                     const Net<float>& net) {
  if (layer.type() != "Split" || layer.bottom_size() != 1) return false;
  const ValueGraph::Value& source = graph.values[value];
  const int producer = graph.layers[source.producer].net_index;
  return layer.name() == SplitLayerName(net.layer_names()[producer], layer.bottom(0), source.top);
}

}  // namespace

ValueGraph::ValueGraph(const Net<float>& net) {
  NewestValues newest;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    if (layer.bottom_size() == 1 &&
        IsInsertedSplit(layer, *this, newest.Of(layer.bottom(0)), net)) {
      for (const std::string& top : layer.top()) newest.Set(top, newest.Of(layer.bottom(0)));
      continue;
    }
    const int index = static_cast<int>(layers.size());
    LayerNode node{static_cast<int>(i), {}, {}};
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const int value = newest.Of(layer.bottom(j));
      node.bottoms.push_back(value);
      values[value].readers.emplace_back(index, j);
    }
    for (int j = 0; j < static_cast<int>(net.top_vecs()[i].size()); ++j) {
      const std::string blob = j < layer.top_size() ? layer.top(j) : "";
      const bool in_place = j < layer.bottom_size() && !blob.empty() && layer.bottom(j) == blob;
      if (in_place) values[node.bottoms[j]].overwriter = index;
      node.tops.push_back(static_cast<int>(values.size()));
      const std::string name = in_place ? values[node.bottoms[j]].blob : blob;
      values.push_back({name, index, j, {}, -1});
      newest.Set(blob, node.tops.back());
    }
    layers.push_back(node);
  }
}

}  // namespace caffe
