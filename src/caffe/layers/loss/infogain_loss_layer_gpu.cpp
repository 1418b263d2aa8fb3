#include <typeinfo>

#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/softmax.hpp"
#include "caffe/layers/infogain_loss_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
void InfogainLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const auto labels = GpuLabels(*bottom[1], num_labels_, this->ignored());
  cuda::InfogainLoss(stream, this->outer_num_, num_labels_, this->inner_num_, bottom[0]->gpu_data(),
                     labels, MatrixOf(bottom).gpu_data(), this->GpuDivisor(),
                     top[0]->template overwrite_gpu_data_as<Dtype>(),
                     this->OverwriteGpuNormalizer());
  if (top.size() > 1) {
    cuda::Softmax(stream, this->outer_num_, num_labels_, this->inner_num_, bottom[0]->gpu_data(),
                  top[1]->template overwrite_gpu_data_as<Dtype>());
  }
  if (typeid(*this) != typeid(InfogainLossLayer)) {  // whose Backward may read them
    cuda::Softmax(stream, this->outer_num_, num_labels_, this->inner_num_, bottom[0]->gpu_data(),
                  prob_.template overwrite_gpu_data_as<Dtype>());
  }
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  this->NoGradientFor("infogain matrix", 2, propagate_down);
  if (!propagate_down[0]) return;
  const auto labels = GpuLabels(*bottom[1], num_labels_, this->ignored());
  cuda::InfogainLossGradient(cuda::CurrentStream(), this->outer_num_, num_labels_, this->inner_num_,
                             bottom[0]->gpu_data(), labels, MatrixOf(bottom).gpu_data(),
                             top[0]->gpu_diff(), this->gpu_normalizer_.gpu_data(),
                             bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(InfogainLossLayer);

}  // namespace caffe
