#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/reorg_layer.hpp"

namespace caffe {

template <typename Dtype>
template <typename T>
void ReorgLayer<Dtype>::MoveOnGpu(const Shape& bottom, bool reverse, const T* x, T* y) const {
  const int s = static_cast<int>(this->layer_param_.reorg_param().stride());
  const int n = bottom[0], c = bottom[1] / (s * s), h = bottom[2], w = bottom[3];
  // The phases, (n, i, j, c, h, w), and where their elements lie in the planes (n, c, h, i, w, j).
  const Shape phases = {n, s, s, c, h, w};
  const kernels::Strides of_phases = kernels::ContiguousStrides(phases);
  const kernels::Strides p = kernels::ContiguousStrides({n, c, h, s, w, s});
  const kernels::Strides of_planes = {p[0], p[3], p[5], p[1], p[2], p[4]};
  cuda::CopyStrided(cuda::CurrentStream(), phases, x, reverse ? of_phases : of_planes, y,
                    reverse ? of_planes : of_phases);
}

template <typename Dtype>
void ReorgLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    MoveOnGpu(bottom[0]->shape(), this->layer_param_.reorg_param().reverse(), x,
              top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void ReorgLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    MoveOnGpu(bottom[0]->shape(), !this->layer_param_.reorg_param().reverse(), dy,
              bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ReorgLayer);

}  // namespace caffe
