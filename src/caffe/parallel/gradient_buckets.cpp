#include "gradient_buckets.hpp"

#include <algorithm>
#include <map>

#include "caffe/kernels/ceil_div.hpp"

namespace caffe {
namespace {

/// Per entry of learnable_params(): the first layer that uses it.
template <typename Dtype>
std::vector<int> FirstUsers(const Net<Dtype>& net) {
  std::map<const Blob<Dtype>*, int> index;
  for (size_t i = 0; i < net.learnable_params().size(); ++i) index[net.learnable_params()[i]] = i;
  std::vector<int> users(net.learnable_params().size(), static_cast<int>(net.layers().size()));
  size_t param = 0;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    for (size_t j = 0; j < net.layers()[i]->blobs().size(); ++j, ++param) {
      const int owner = net.param_owners()[param];
      const auto found = index.find(net.params()[owner < 0 ? param : owner].get());
      CHECK(found != index.end());
      users[found->second] = std::min<int>(users[found->second], i);
    }
  }
  return users;
}

/// The layer itself, or the one that made the blob on which it works in place: the two may compute
/// together (Layer::FuseFollowers).
template <typename Dtype>
int NotInPlace(const Net<Dtype>& net, int layer) {
  const auto in_place = [&](int i) {
    for (const int top : net.top_ids(i)) {
      const std::vector<int>& bottoms = net.bottom_ids(i);
      if (std::count(bottoms.begin(), bottoms.end(), top) > 0) return true;
    }
    return false;
  };
  while (layer > 0 && in_place(layer)) --layer;
  return layer;
}

}  // namespace

template <typename Dtype>
std::vector<GradientBucket> GradientBuckets(const Net<Dtype>& net, int buckets) {
  Require(buckets >= 0, "reduce_buckets must not be negative, got ", buckets);
  const typename Net<Dtype>::Arena arena = net.gradient_arena();
  const std::vector<int> users = FirstUsers(net);
  const auto is_trained = [&](size_t i) { return net.params_lr()[arena.params[i]] != 0; };
  const auto count_of = [&](size_t i) -> size_t {
    return net.learnable_params()[arena.params[i]]->count();
  };
  size_t total = 0;
  for (size_t i = 0; i < arena.params.size(); ++i) total += is_trained(i) ? count_of(i) : 0;
  const size_t wanted = buckets == 0 ? 1 : kernels::CeilDiv(total, buckets);

  std::vector<GradientBucket> runs;
  size_t offset = 0, end = 0, filled = 0;
  int ready_at = static_cast<int>(net.layers().size());
  const auto close = [&] {
    if (filled == 0) return;
    ready_at = NotInPlace(net, ready_at);
    runs.push_back({offset, end - offset, ready_at});
    filled = 0;
  };
  // Frozen parameters between trained ones lie in the run, with gradients of zero.
  for (size_t i = arena.params.size(); i-- > 0;) {
    if (!is_trained(i)) continue;
    offset = arena.offsets[i];
    if (filled == 0) end = offset + count_of(i);
    filled += count_of(i);
    ready_at = std::min(ready_at, users[arena.params[i]]);
    if (filled >= wanted) close();
  }
  close();
  return runs;
}

template std::vector<GradientBucket> GradientBuckets(const Net<float>&, int);
template std::vector<GradientBucket> GradientBuckets(const Net<double>&, int);

}  // namespace caffe
