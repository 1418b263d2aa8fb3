#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/scale_layer.hpp"

namespace caffe {

template <typename Dtype>
void ScaleLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  if (bottom[0] == top[0] && this->keeps_for_backward()) {
    temp_.ReshapeLike(*bottom[0]);
    temp_.CopyFrom(*bottom[0]);
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const F* scale = Scale(bottom).template gpu_data_as<F>();
    const F* bias =
        bias_param_id_ < 0 ? nullptr : this->blobs_[bias_param_id_]->template gpu_data_as<F>();
    const Layout layout = cuda::ChannelLayout<T>(*bottom[0], outer_dim_, scale_dim_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_dim_, scale_dim_, inner_dim_);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::ChannelAffine(cuda::CurrentStream(), e.outer, e.channels, e.inner, scale, bias, x,
                        cuda::OverwriteData<T>(layout, top[0]));
  });
}

template <typename Dtype>
void ScaleLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  const bool own_scale = bottom.size() == 1;
  const bool scale_wanted = WantsScaleGradient(bottom, top, propagate_down);
  const bool bias_wanted = bias_param_id_ >= 0 && this->param_propagate_down_[bias_param_id_];
  const Blob<Dtype>& input = bottom[0] == top[0] ? temp_ : *bottom[0];
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const Layout layout = cuda::ChannelLayout<T>(input, outer_dim_, scale_dim_);
    const cuda::ChannelExtents e = cuda::ExtentsIn(layout, outer_dim_, scale_dim_, inner_dim_);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    const cuda::Buffer<double> sums(stream, 2 * scale_dim_);
    double* sum = bias_wanted ? sums.get() : nullptr;
    double* dot = scale_wanted ? sums.get() + scale_dim_ : nullptr;
    if (bias_wanted || scale_wanted) {
      const T* x = scale_wanted ? cuda::ReadData<T>(input, layout) : nullptr;
      cuda::ChannelSums(stream, e.outer, e.channels, e.inner, dy, x, sum, dot);
    }
    if (bias_wanted) {
      cuda::Axpby(stream, scale_dim_, G(1), sum, G(1),
                  this->blobs_[bias_param_id_]->template mutable_gpu_diff_as<G>());
    }
    if (scale_wanted && own_scale) {
      cuda::Axpby(stream, scale_dim_, G(1), dot, G(1),
                  this->blobs_[0]->template mutable_gpu_diff_as<G>());
    } else if (scale_wanted) {
      cuda::Convert(stream, scale_dim_, dot, bottom[1]->template overwrite_gpu_diff_as<D>());
    }
    if (propagate_down[0]) {
      const G* scale = Scale(bottom).template gpu_data_as<G>();
      cuda::ChannelAffine<D>(stream, e.outer, e.channels, e.inner, scale, nullptr, dy,
                             cuda::OverwriteDiff<D>(layout, bottom[0]));
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ScaleLayer);

}  // namespace caffe
