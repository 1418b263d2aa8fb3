#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/distances.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/inner_distance_layer.hpp"

namespace caffe {

template <typename Dtype>
void InnerDistanceLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const Dtype* bias = this->blobs_.size() > 1 ? this->blobs_[1]->gpu_data() : nullptr;
  cuda::InnerDistance(cuda::CurrentStream(), M_, N_, K_, squared_, bottom[0]->gpu_data(),
                      Centers(bottom).gpu_data(), bias,
                      top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void InnerDistanceLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const Dtype* dy = top[0]->gpu_diff();
  const Dtype* x = bottom[0]->gpu_data();
  const Dtype* centers = Centers(bottom).gpu_data();
  if (propagate_down[0]) {
    cuda::InnerDistanceGradient(stream, M_, N_, K_, squared_, x, centers, dy,
                                bottom[0]->template overwrite_gpu_diff_as<Dtype>());
  }
  const bool own = bottom.size() == 1;
  if (own ? this->param_propagate_down_[0] : propagate_down[1]) {
    cuda::InnerDistanceCenterGradient(stream, M_, N_, K_, squared_, x, centers, dy, own,
                                      Centers(bottom).mutable_gpu_diff());
  }
  if (this->blobs_.size() > 1 && this->param_propagate_down_[1]) {
    cuda::SumOfRows(stream, M_, N_, dy, true, this->blobs_[1]->mutable_gpu_diff());
  }
}

INSTANTIATE_LAYER_GPU_FUNCS(InnerDistanceLayer);

}  // namespace caffe
