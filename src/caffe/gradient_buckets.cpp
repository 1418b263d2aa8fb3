#include "gradient_buckets.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace caffe {
namespace {

/// Per entry of learnable_params(): the layers that use it and have a backward pass.
template <typename Dtype>
std::vector<std::vector<int>> LayersOfParams(const Net<Dtype>& net) {
  std::map<const Blob<Dtype>*, int> index;
  for (size_t i = 0; i < net.learnable_params().size(); ++i) index[net.learnable_params()[i]] = i;
  std::vector<std::vector<int>> layers(net.learnable_params().size());
  size_t param = 0;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    for (size_t j = 0; j < net.layers()[i]->blobs().size(); ++j, ++param) {
      const int owner = net.param_owners()[param];
      const auto found = index.find(net.params()[owner < 0 ? param : owner].get());
      CHECK(found != index.end());
      if (net.layer_need_backward()[i]) layers[found->second].push_back(i);
    }
  }
  return layers;
}

}  // namespace

template <typename Dtype>
std::vector<GradientBucket> GradientBuckets(const Net<Dtype>& net, int buckets) {
  Require(buckets >= 0, "reduce_buckets must not be negative, got ", buckets);
  const typename Net<Dtype>::Arena arena = net.gradient_arena();
  const std::vector<std::vector<int>> layers = LayersOfParams(net);
  const auto is_trained = [&](size_t i) { return net.params_lr()[arena.params[i]] != 0; };
  const auto count_of = [&](size_t i) -> size_t {
    return net.learnable_params()[arena.params[i]]->count();
  };
  size_t total = 0;
  for (size_t i = 0; i < arena.params.size(); ++i) total += is_trained(i) ? count_of(i) : 0;
  const size_t wanted = buckets == 0 ? 1 : (total + buckets - 1) / buckets;

  std::vector<GradientBucket> runs;
  size_t end = 0, filled = 0;
  std::set<int> users;
  size_t offset = 0;
  const auto close = [&] {
    if (filled == 0) return;
    runs.push_back({offset, end - offset, std::vector<int>(users.begin(), users.end())});
    filled = 0;
    users.clear();
  };
  // Frozen parameters between trained ones lie in the run, with gradients of zero.
  for (size_t i = arena.params.size(); i-- > 0;) {
    if (!is_trained(i)) continue;
    offset = arena.offsets[i];
    if (filled == 0) end = offset + count_of(i);
    filled += count_of(i);
    users.insert(layers[arena.params[i]].begin(), layers[arena.params[i]].end());
    if (filled >= wanted) close();
  }
  close();
  return runs;
}

template std::vector<GradientBucket> GradientBuckets(const Net<float>&, int);
template std::vector<GradientBucket> GradientBuckets(const Net<double>&, int);

}  // namespace caffe
