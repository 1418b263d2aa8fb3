#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/eltwise.hpp"
#include "caffe/layers/split_layer.hpp"

namespace caffe {

template <typename Dtype>
void SplitLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    std::vector<const D*> dy;
    for (const Blob<Dtype>* blob : top) dy.push_back(blob->template gpu_diff_as<D>());
    cuda::Sum(cuda::CurrentStream(), bottom[0]->count(), dy,
              bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_BACKWARD(SplitLayer);

}  // namespace caffe
