#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/activation.hpp"
#include "caffe/layers/activation_layer.hpp"

namespace caffe {

template <typename Dtype>
void ActivationLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  if (MustKeep(*bottom[0], *top[0])) kept_.CopyFrom(*bottom[0], false, true);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::Activate(cuda::CurrentStream(), *function_, bottom[0]->count(), x,
                   cuda::OverwriteData<T>(layout, top[0]));
  });
}

template <typename Dtype>
void ActivationLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Blob<Dtype>& argument = GradientArgument(*bottom[0], *top[0]);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = cuda::StoredLayout<T>(argument);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    cuda::ActivateGradient(cuda::CurrentStream(), *function_, bottom[0]->count(),
                           cuda::ReadData<T>(argument, layout), dy,
                           cuda::OverwriteDiff<D>(layout, bottom[0]));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ActivationLayer);

}  // namespace caffe
