// Which layers can do the work of those behind them.
#include <algorithm>

#include "caffe/net.hpp"

namespace caffe {
namespace {

/// Only a pass of the layer by itself adds its weighted tops to the loss.
template <typename Dtype>
bool HasLoss(const Layer<Dtype>& layer, size_t tops) {
  for (size_t i = 0; i < tops; ++i) {
    if (layer.loss(i) != Dtype(0)) return true;
  }
  return false;
}

}  // namespace

// Candidates work in place on the layer's only top and come before any other reads or writes it,
// so that in a whole pass no reader sees what the blob holds in between. A program's class inherits
// what says how a library's layer is fused, and may compute something else; a layer with a phase of
// its own does something else than the net's.
template <typename Dtype>
void Net<Dtype>::FindFusions() {
  const auto may_be_fused = [this](size_t i) {
    return layers_[i]->is_built_in() && layers_[i]->layer_param().phase() == phase_ &&
           !HasLoss(*layers_[i], top_id_vecs_[i].size());
  };
  vector<bool> taken(layers_.size(), false);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (taken[i] || top_id_vecs_[i].size() != 1 || !may_be_fused(i)) continue;
    const vector<int>& only_top = top_id_vecs_[i];
    vector<int> ids;
    vector<Layer<Dtype>*> followers;
    for (size_t j = i + 1; j < layers_.size(); ++j) {
      const auto uses = [&](const vector<int>& blobs) {
        return std::find(blobs.begin(), blobs.end(), only_top[0]) != blobs.end();
      };
      if (!uses(bottom_id_vecs_[j]) && !uses(top_id_vecs_[j])) continue;
      if (bottom_id_vecs_[j] != only_top || top_id_vecs_[j] != only_top) break;
      if (!may_be_fused(j)) break;
      ids.push_back(j);
      followers.push_back(layers_[j].get());
    }
    if (ids.empty()) continue;
    ids.resize(layers_[i]->FuseFollowers(followers));
    for (const int id : ids) {
      taken[id] = true;
      fused_into_[id] = i;
    }
    fused_followers_[i] = ids;
  }
}

// Three layers in a row: the two blobs between are read by one layer each, but for fused followers.
// A layer that ends one group could begin the next: it stays in the one that is found first.
template <typename Dtype>
void Net<Dtype>::FindJoinedLayers() {
  if (quantized_training_) return;  // blobs are rounded as they are made
  vector<vector<int>> readers(blobs_.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (fused_into_[i] >= 0) continue;
    for (const int id : bottom_id_vecs_[i]) readers[id].push_back(i);
  }
  vector<bool> taken(layers_.size(), false);
  const auto may_be_joined = [&](int layer) {
    return !taken[layer] && layers_[layer]->is_built_in() &&
           layers_[layer]->layer_param().phase() == phase_ && bottom_id_vecs_[layer].size() == 1 &&
           top_id_vecs_[layer].size() == 1 && !HasLoss(*layers_[layer], 1);
  };
  const auto next_of = [&](int layer) {
    const vector<int>& all = readers[top_id_vecs_[layer][0]];
    return all.size() == 1 && may_be_joined(all[0]) ? all[0] : -1;
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!may_be_joined(i)) continue;
    const int second = next_of(i), third = second < 0 ? -1 : next_of(second);
    if (third < 0) continue;
    if (!layers_[i]->JoinLayers({layers_[second].get(), layers_[third].get()})) continue;
    for (const int id : {static_cast<int>(i), second, third}) {  // in the order of the net
      taken[id] = true;
      const vector<int>& followers = fused_followers_[id];
      joined_layers_[i].push_back(id);
      joined_layers_[i].insert(joined_layers_[i].end(), followers.begin(), followers.end());
    }
  }
}

template void Net<float>::FindFusions();
template void Net<double>::FindFusions();
template void Net<float>::FindJoinedLayers();
template void Net<double>::FindJoinedLayers();

}  // namespace caffe
