#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/softmax.hpp"
#include "caffe/layers/softmax_loss_ohem_layer.hpp"
#include "gpu_labels.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxWithLossOHEMLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  SoftmaxWithLossLayer<Dtype>::Forward_gpu(bottom, top);
  if (top.size() < 3) return;
  const int classes = bottom[0]->shape(this->softmax_axis_);
  cuda::SoftmaxLossOfEach(cuda::CurrentStream(), this->outer_num_, classes, this->inner_num_,
                          bottom[0]->gpu_data(), GpuLabels(*bottom[1], classes, this->ignored()),
                          top[2]->template overwrite_gpu_data_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FORWARD(SoftmaxWithLossOHEMLayer);

}  // namespace caffe
