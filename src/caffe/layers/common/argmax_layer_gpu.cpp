#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/reductions.hpp"
#include "caffe/layers/argmax_layer.hpp"

namespace caffe {

template <typename Dtype>
void ArgMaxLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const ArgMaxParameter& param = this->layer_param_.argmax_param();
  const Blob<Dtype>& x = *bottom[0];
  const int top_k = static_cast<int>(top_k_);
  const int axis = param.has_axis() ? x.CanonicalAxisIndex(param.axis()) : 0;
  const int outer = param.has_axis() ? x.count(0, axis) : x.shape(0);
  const int extent = param.has_axis() ? x.shape(axis) : x.count(1);
  const int inner = param.has_axis() ? x.count(axis + 1) : 1;
  Dtype* y = top[0]->template overwrite_gpu_data_as<Dtype>();
  // Without an axis come first the indices, then, if asked for, the values.
  cuda::Found<Dtype> found = {y, nullptr, top_k * inner, inner};
  if (out_max_val_ && param.has_axis()) found = {nullptr, y, top_k * inner, inner};
  if (out_max_val_ && !param.has_axis()) found = {y, y + top_k, 2 * top_k, 1};
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    cuda::ArgMax(cuda::CurrentStream(), outer, extent, inner, top_k, x.template gpu_data_as<T>(),
                 found);
  });
}

INSTANTIATE_LAYER_GPU_FORWARD(ArgMaxLayer);

}  // namespace caffe
