#include "fused_followers.hpp"

#include <atomic>

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/pointwise.hpp"

namespace caffe {
namespace {

/// total = next(total(x)); false if that is no Pointwise.
bool Compose(const Pointwise& next, int channels, Pointwise* total) {
  if (!next.scale.empty() || !next.shift.empty()) {
    if (total->activation.kind != kernels::Activation::NONE) return false;
    for (const vector<float>* values : {&next.scale, &next.shift}) {
      if (!values->empty() && static_cast<int>(values->size()) != channels) return false;
    }
    total->scale.resize(channels, 1.f);
    total->shift.resize(channels, 0.f);
    for (int c = 0; c < channels; ++c) {
      const float scale = next.scale.empty() ? 1.f : next.scale[c];
      total->scale[c] *= scale;
      total->shift[c] = total->shift[c] * scale + (next.shift.empty() ? 0.f : next.shift[c]);
    }
  }
  if (next.activation.kind == kernels::Activation::NONE) return true;
  if (total->activation.kind != kernels::Activation::NONE) return false;
  total->activation = next.activation;
  return true;
}

}  // namespace

template <typename Dtype>
int FusedFollowers<Dtype>::Take(const vector<Layer<Dtype>*>& followers, ElementType type,
                                int channels, const Pointwise& first) {
  layers_.clear();
  is_described_ = false;
  Pointwise total = first;
  for (Layer<Dtype>* follower : followers) {
    Pointwise next;
    if (follower->forward_type() != type || !follower->DescribePointwise(&next) ||
        !Compose(next, channels, &total)) {
      break;
    }
    layers_.push_back(follower);
  }
  return static_cast<int>(layers_.size());
}

template <typename Dtype>
Pointwise FusedFollowers<Dtype>::Describe(int channels, const Pointwise& first) const {
  Pointwise total = first;
  for (Layer<Dtype>* layer : layers_) {
    Pointwise next;
    const bool composed = layer->DescribePointwise(&next) && Compose(next, channels, &total);
    CHECK(composed) << layer->layer_param().name() << " is no longer elementwise";
  }
  return total;
}

template <typename Dtype>
typename FusedFollowers<Dtype>::Described FusedFollowers<Dtype>::DescribeOnce(int channels) {
  const uint64_t stamp = Stamp();
  if (!is_described_ || stamp != described_stamp_) described_ = Describe(channels);
  is_described_ = true;
  described_stamp_ = stamp;
  return {described_, stamp};
}

template <typename Dtype>
uint64_t FusedFollowers<Dtype>::Stamp() const {
  uint64_t stamp = 0;
  for (Layer<Dtype>* layer : layers_) {
    for (const auto& blob : layer->blobs()) stamp = Mix(stamp, WriteStamp(*blob));
  }
  return stamp;
}

template <typename Dtype>
void FusedFollowers<Dtype>::Run(const vector<Blob<Dtype>*>& top) const {
  for (Layer<Dtype>* layer : layers_) layer->Forward(top, top);
}

template <typename Dtype>
uint64_t WriteStamp(const Blob<Dtype>& blob) {
  static std::atomic<uint64_t> fresh{0};
  const Tensor& data = blob.data_tensor();
  if (data.handed_out(kElementType<Dtype>)) return Mix(~uint64_t(0), ++fresh);
  return Mix(reinterpret_cast<uintptr_t>(&data), data.stamp());
}

template <typename Dtype>
void ApplyAsStored(const Pointwise& pointwise, const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (pointwise.scale.empty()) {
    return MapAsStored<float>(bottom, top, [&](size_t n, const float* x, float* y) {
      kernels::Activate(pointwise.activation, n, x, y);
    });
  }
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  const size_t channels = pointwise.scale.size();
  const size_t num = bottom.num_axes() == 0 ? 1 : bottom.shape(0);
  const size_t spatial = bottom.count() / std::max<size_t>(1, num * channels);
  const size_t block = layout.kind == Layout::CHANNELS_LAST ? channels : layout.block;
  const float* x = ReadAs<float>(bottom.data_tensor(), layout);
  kernels::ApplyPointwise(num, channels, spatial, block, pointwise.scale.data(),
                          pointwise.shift.data(), pointwise.activation, x,
                          OverwriteAs<float>(top->data_tensor(), layout));
}

template void ApplyAsStored(const Pointwise&, const Blob<float>&, Blob<float>*);
template void ApplyAsStored(const Pointwise&, const Blob<double>&, Blob<double>*);
template class FusedFollowers<float>;
template class FusedFollowers<double>;
template uint64_t WriteStamp(const Blob<float>&);
template uint64_t WriteStamp(const Blob<double>&);

}  // namespace caffe
