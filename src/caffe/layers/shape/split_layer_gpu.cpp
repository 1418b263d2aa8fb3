#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/eltwise.hpp"
#include "caffe/layers/split_layer.hpp"

namespace caffe {

template <typename Dtype>
void SplitLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using D = decltype(diff_tag);
    const Layout layout = cuda::StoredLayout<decltype(data_tag)>(*bottom[0]);
    std::vector<const D*> dy;
    for (const Blob<Dtype>* blob : top) dy.push_back(cuda::ReadDiff<D>(*blob, layout));
    cuda::Sum(cuda::CurrentStream(), bottom[0]->count(), dy,
              cuda::OverwriteDiff<D>(layout, bottom[0]));
  });
}

INSTANTIATE_LAYER_GPU_BACKWARD(SplitLayer);

}  // namespace caffe
