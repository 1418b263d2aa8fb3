#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/normalize.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/layers/lrn_layer.hpp"

namespace caffe {

template <typename Dtype>
void LRNLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    cuda::LrnForward(cuda::CurrentStream(), ShapeNow(), layout.kind == Layout::CHANNELS_LAST, x,
                     cuda::OverwriteData<T>(layout, top[0]));
  });
}

template <typename Dtype>
void LRNLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    cuda::LrnBackward(cuda::CurrentStream(), ShapeNow(), layout.kind == Layout::CHANNELS_LAST,
                      cuda::ReadData<T>(*bottom[0], layout), dy,
                      cuda::OverwriteDiff<D>(layout, bottom[0]));
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(LRNLayer);

}  // namespace caffe
