#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/silence_layer.hpp"

namespace caffe {

template <typename Dtype>
void SilenceLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>&,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      cuda::Fill(cuda::CurrentStream(), bottom[i]->count(), 0,
                 bottom[i]->template overwrite_gpu_diff_as<D>());
    }
  });
}

INSTANTIATE_LAYER_GPU_BACKWARD(SilenceLayer);

}  // namespace caffe
