#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/slice_layer.hpp"

namespace caffe {

template <typename Dtype>
void SliceLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const bool channels_last = slice_axis_ == 1 && cuda::AnyChannelsLast<T>(bottom);
    const cuda::Rows whole(*bottom[0], slice_axis_, channels_last);
    const T* x = cuda::ReadData<T>(*bottom[0], whole.layout);
    for (Blob<Dtype>* blob : top) {
      const cuda::Rows part(*blob, slice_axis_, channels_last);
      cuda::CopyRows(cuda::CurrentStream(), part.count, part.length, x, whole.length,
                     cuda::OverwriteData<T>(part.layout, blob), part.length);
      x += part.length;
    }
  });
}

template <typename Dtype>
void SliceLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using D = decltype(diff_tag);
    const bool channels_last =
        slice_axis_ == 1 && cuda::AnyChannelsLast<decltype(data_tag)>(bottom);
    const cuda::Rows whole(*bottom[0], slice_axis_, channels_last);
    D* dx = cuda::OverwriteDiff<D>(whole.layout, bottom[0]);
    for (const Blob<Dtype>* blob : top) {
      const cuda::Rows part(*blob, slice_axis_, channels_last);
      cuda::CopyRows(cuda::CurrentStream(), part.count, part.length,
                     cuda::ReadDiff<D>(*blob, part.layout), part.length, dx, whole.length);
      dx += part.length;
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(SliceLayer);

}  // namespace caffe
