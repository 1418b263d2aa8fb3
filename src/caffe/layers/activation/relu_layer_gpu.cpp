#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/relu_layer.hpp"

namespace caffe {

template <typename Dtype>
void ReLULayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::Relu<T>(cuda::CurrentStream(), bottom[0]->count(), slope, x,
                  cuda::OverwriteData<T>(layout, top[0]));
  });
}

// In place, x is y here: the sign of y is that of x as long as the slope is not negative.
template <typename Dtype>
void ReLULayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    cuda::ReluGradient<T, D>(cuda::CurrentStream(), bottom[0]->count(), slope,
                             cuda::ReadData<T>(*bottom[0], layout), dy,
                             cuda::OverwriteDiff<D>(layout, bottom[0]));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ReLULayer);

}  // namespace caffe
