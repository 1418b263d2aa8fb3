#include "caffe/fp16/value_graph.hpp"

#include <map>
#include <set>

#include "caffe/operation.hpp"
#include "caffe/util/insert_splits.hpp"

namespace caffe {
namespace {

/// The newest value of each blob's name, while the layers are visited in order.
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

/// True for layers whose tops are fed to the net: data is not read inside an engine.
bool GivesInputs(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  return operation && operation->source && layer.type() != "DummyData" &&
         layer.type() != "ContinuationIndicator";
}

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
      const bool is_input = in_place ? values[node.bottoms[j]].is_input : GivesInputs(layer);
      values.push_back({name, "", index, j, {}, -1, is_input});
      newest.Set(blob, node.tops.back());
    }
    layers.push_back(node);
  }
  NameValues(net);
}

void ValueGraph::NameValues(const Net<float>& net) {
  const auto layer_name = [&](int layer) { return net.layer_names()[layers[layer].net_index]; };
  const auto layer_of = [&](const Value& value) -> const LayerParameter& {
    return net.layers()[layers[value.producer].net_index]->layer_param();
  };
  std::set<std::string> inputs, used;
  for (Value& value : values) {
    std::string name = value.blob;
    if (GivesInputs(layer_of(value))) {
      inputs.insert(name);
    } else if (name.empty()) {
      name = Join(layer_name(value.producer), "_top_", value.top);
    } else if (value.overwriter >= 0) {
      name += "_before_" + layer_name(value.overwriter);
    } else if (inputs.count(name)) {
      name += "_after_" + layer_name(value.producer);
    }
    value.name = name;
    for (int i = 2; !used.insert(value.name).second; ++i) value.name = Join(name, "_", i);
  }
}

}  // namespace caffe
