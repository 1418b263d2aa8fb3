#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/distances.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/layers/loss/gpu_labels.hpp"
#include "caffe/layers/margin_inner_product_layer.hpp"

namespace caffe {

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  NextLambda();
  if (top.size() > 1)
    cuda::Fill<Dtype>(stream, 1, lambda_, top[1]->template overwrite_gpu_data_as<Dtype>());
  Dtype* weights = weights_.template overwrite_gpu_data_as<Dtype>();
  cuda::NormaliseRows(stream, N_, K_, this->blobs_[0]->gpu_data(), weights);
  if (this->phase_ == TRAIN) {
    cuda::Convert(stream, weights_.count(), weights,
                  this->blobs_[0]->template overwrite_gpu_data_as<Dtype>());
  }
  const Dtype* x = bottom[0]->gpu_data();
  Dtype* norm = norm_.template overwrite_gpu_data_as<Dtype>();
  Dtype* y = top[0]->template overwrite_gpu_data_as<Dtype>();
  cuda::Gemm<Dtype, Dtype>(stream, false, true, M_, N_, K_, 1, x, weights, 0, y);
  cuda::RowNorms(stream, M_, K_, x, norm);
  cuda::ApplyMargin<Dtype>(stream, M_, margin_, lambda_, norm, GpuLabels(*bottom[1], N_, nullptr),
                           y);
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                                  const vector<bool>& propagate_down,
                                                  const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const Dtype* dy = top[0]->gpu_diff();
  const Dtype* x = bottom[0]->gpu_data();
  if (this->param_propagate_down_[0]) {
    cuda::Gemm<Dtype, Dtype>(stream, true, false, N_, K_, M_, 1, dy, x, 1,
                             this->blobs_[0]->mutable_gpu_diff());
  }
  if (!propagate_down[0]) return;
  const Dtype* weights = weights_.gpu_data();
  Dtype* dx = bottom[0]->template overwrite_gpu_diff_as<Dtype>();
  cuda::Gemm<Dtype, Dtype>(stream, false, false, M_, K_, N_, 1, dy, weights, 0, dx);
  if (margin_ == 1) return;
  cuda::AddMarginGradient<Dtype>(stream, M_, K_, margin_, lambda_, x, weights, norm_.gpu_data(),
                                 GpuLabels(*bottom[1], N_, nullptr), dy, dx);
}

INSTANTIATE_LAYER_GPU_FUNCS(MarginInnerProductLayer);

}  // namespace caffe
