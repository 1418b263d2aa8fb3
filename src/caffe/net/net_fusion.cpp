// Which layers can do the work of those behind them.
#include <algorithm>

#include "caffe/net.hpp"

namespace caffe {

// Candidates work in place on the layer's only top and come before any other reads or writes it,
// so that in a whole pass no reader sees what the blob holds in between. A program's class inherits
// what says how a library's layer is fused, and may compute something else; a layer with a phase of
// its own does something else than the net's.
template <typename Dtype>
void Net<Dtype>::FindFusions() {
  const auto may_be_fused = [this](size_t i) {
    return layers_[i]->is_built_in() && layers_[i]->layer_param().phase() == phase_;
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

template void Net<float>::FindFusions();
template void Net<double>::FindFusions();

}  // namespace caffe
