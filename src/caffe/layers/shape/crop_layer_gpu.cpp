#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/crop_layer.hpp"

namespace caffe {

template <typename Dtype>
void CropLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const Shape& shape = top[0]->shape();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>() + bottom[0]->offset(offsets_);
    cuda::CopyStrided(
        cuda::CurrentStream(), shape, x, kernels::ContiguousStrides(bottom[0]->shape()),
        top[0]->template overwrite_gpu_data_as<T>(), kernels::ContiguousStrides(shape));
  });
}

template <typename Dtype>
void CropLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  const Shape& shape = top[0]->shape();
  Stream& stream = cuda::CurrentStream();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      D* dx = bottom[i]->template overwrite_gpu_diff_as<D>();
      cuda::Fill(stream, bottom[i]->count(), 0, dx);
      if (i > 0) continue;
      cuda::CopyStrided(stream, shape, top[0]->template gpu_diff_as<D>(),
                        kernels::ContiguousStrides(shape), dx + bottom[0]->offset(offsets_),
                        kernels::ContiguousStrides(bottom[0]->shape()));
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(CropLayer);

}  // namespace caffe
