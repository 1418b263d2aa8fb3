#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/concat_layer.hpp"

namespace caffe {

template <typename Dtype>
void ConcatLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  by_onednn_ = false;
  if (bottom.size() == 1) return;  // the top is the bottom
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const bool channels_last = concat_axis_ == 1 && cuda::AnyChannelsLast<T>(bottom);
    const cuda::Rows whole(*top[0], concat_axis_, channels_last);
    T* y = cuda::OverwriteData<T>(whole.layout, top[0]);
    for (const Blob<Dtype>* blob : bottom) {
      const cuda::Rows piece(*blob, concat_axis_, channels_last);
      cuda::CopyRows(cuda::CurrentStream(), piece.count, piece.length,
                     cuda::ReadData<T>(*blob, piece.layout), piece.length, y, whole.length);
      y += piece.length;
    }
  });
}

template <typename Dtype>
void ConcatLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using D = decltype(diff_tag);
    const bool channels_last = concat_axis_ == 1 && cuda::AnyChannelsLast<decltype(data_tag)>(top);
    const cuda::Rows whole(*top[0], concat_axis_, channels_last);
    const D* dy = cuda::ReadDiff<D>(*top[0], whole.layout);
    for (size_t i = 0; i < bottom.size(); ++i) {
      const cuda::Rows piece(*bottom[i], concat_axis_, channels_last);
      if (propagate_down[i]) {
        cuda::CopyRows(cuda::CurrentStream(), piece.count, piece.length, dy, whole.length,
                       cuda::OverwriteDiff<D>(piece.layout, bottom[i]), piece.length);
      }
      dy += piece.length;
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ConcatLayer);

}  // namespace caffe
