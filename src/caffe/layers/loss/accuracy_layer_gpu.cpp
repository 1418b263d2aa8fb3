#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/reductions.hpp"
#include "caffe/layers/accuracy_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
void AccuracyLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int classes = bottom[0]->shape(label_axis_);
  const auto labels = GpuLabels(*bottom[1], classes, has_ignore_label_ ? &ignore_label_ : nullptr);
  const bool least = this->layer_param_.accuracy_param().min_is_better();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* scores = bottom[0]->template gpu_data_as<T>();
    cuda::Accuracy(cuda::CurrentStream(), outer_num_, classes, inner_num_, top_k_, least, scores,
                   labels, top[0]->template overwrite_gpu_data_as<Dtype>(),
                   top.size() > 1 ? top[1]->template overwrite_gpu_data_as<Dtype>() : nullptr);
  });
}

INSTANTIATE_LAYER_GPU_FORWARD(AccuracyLayer);

}  // namespace caffe
