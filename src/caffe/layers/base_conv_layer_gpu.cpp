#include <cstdio>

#include "caffe/cuda/converted.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {
namespace {

cuda::ConvolutionOptions ReadOptions(const LayerParameter& layer) {
  cuda::ConvolutionOptions options;
  options.use_cudnn = MayUseCudnn(layer);
  options.math = layer.cudnn_math_override();
  const std::string& algorithms = layer.convolution_param().conv_algos_override();
  char behind = 0;
  const int read = std::sscanf(algorithms.c_str(), "%d ,%d ,%d %c", &options.forward_algorithm,
                               &options.data_algorithm, &options.weights_algorithm, &behind);
  Require(read == 3, "convolution_param: conv_algos_override has the numbers of cuDNN's forward, ",
          "backward data and backward filter algorithms, \"-1,-1,-1\" for the fastest, not \"",
          algorithms, "\"");
  return options;
}

}  // namespace

template <typename Dtype>
const cuda::ConvolutionOptions& BaseConvolutionLayer<Dtype>::gpu_options() {
  if (!gpu_options_) {
    gpu_options_ = std::make_shared<cuda::ConvolutionOptions>(ReadOptions(this->layer_param_));
  }
  return *gpu_options_;
}

template <typename Dtype>
template <typename D>
void BaseConvolutionLayer<Dtype>::BiasGradientGpu(const Blob<Dtype>& top) {
  if (!bias_term_ || !this->param_propagate_down_[1]) return;
  cuda::AddChannelSums(cuda::CurrentStream(), num_, num_output_, out_spatial_dim_,
                       top.template gpu_diff_as<D>(),
                       this->blobs_[1]->template mutable_gpu_diff_as<AccumulatorType<D>>());
}

// Seen from the product, a Deconvolution's input is the top's gradient and its output the bottom.
template <typename Dtype>
template <typename T, typename D>
void BaseConvolutionLayer<Dtype>::BackwardOneGpu(const Blob<Dtype>& top, bool propagate_down,
                                                 Blob<Dtype>* bottom) {
  using P = cuda::ProductType<T, D>;
  Stream& stream = cuda::CurrentStream();
  BiasGradientGpu<D>(top);
  const cuda::ReadAsType<P, D> dy(stream, top.count(), top.template gpu_diff_as<D>());
  if (this->param_propagate_down_[0]) {
    const cuda::ReadAsType<P, T> x(stream, bottom->count(), bottom->template gpu_data_as<T>());
    cuda::ConvolutionBackwardWeights(
        stream, shape_, num_, gpu_options(), reverse_dimensions() ? dy.get() : x.get(),
        reverse_dimensions() ? x.get() : dy.get(),
        this->blobs_[0]->template mutable_gpu_diff_as<AccumulatorType<P>>());
  }
  if (!propagate_down) return;
  const Blob<Dtype>& blob = *this->blobs_[0];
  const cuda::ReadAsType<P, T> weights(stream, blob.count(), blob.template gpu_data_as<T>());
  cuda::WriteAsType<P, D> dx(stream, bottom->count(), bottom->template overwrite_gpu_diff_as<D>());
  const auto product =
      reverse_dimensions() ? &cuda::ConvolutionForward<P> : &cuda::ConvolutionBackwardData<P>;
  product(stream, shape_, num_, gpu_options(), dy.get(), weights.get(), nullptr, dx.get());
  dx.Finish();
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_gemm(const Dtype* input, const Dtype* weights,
                                                   Dtype* output, bool /*skip_im2col*/) {
  cuda::ConvolutionForward<Dtype>(cuda::CurrentStream(), shape_, 1, gpu_options(), input, weights,
                                  nullptr, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_bias(Dtype* output, const Dtype* bias) {
  cuda::ChannelAffine<Dtype>(cuda::CurrentStream(), 1, num_output_, out_spatial_dim_, nullptr, bias,
                             output, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_gemm(const Dtype* output, const Dtype* weights,
                                                    Dtype* input) {
  cuda::ConvolutionBackwardData<Dtype>(cuda::CurrentStream(), shape_, 1, gpu_options(), output,
                                       weights, nullptr, input);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::weight_gpu_gemm(const Dtype* input, const Dtype* output,
                                                  Dtype* weights) {
  cuda::ConvolutionBackwardWeights<Dtype>(cuda::CurrentStream(), shape_, 1, gpu_options(), input,
                                          output, weights);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_bias(Dtype* bias, const Dtype* input) {
  cuda::AddChannelSums<Dtype>(cuda::CurrentStream(), 1, num_output_, out_spatial_dim_, input, bias);
}

#define CAFFE_BACKWARD_ONE(Dtype, T, D)                                                     \
  template void BaseConvolutionLayer<Dtype>::BackwardOneGpu<T, D>(const Blob<Dtype>&, bool, \
                                                                  Blob<Dtype>*);
#define CAFFE_BASE_CONVOLUTION(Dtype)                                                             \
  template const cuda::ConvolutionOptions& BaseConvolutionLayer<Dtype>::gpu_options();            \
  template void BaseConvolutionLayer<Dtype>::BiasGradientGpu<float>(const Blob<Dtype>&);          \
  template void BaseConvolutionLayer<Dtype>::BiasGradientGpu<float16>(const Blob<Dtype>&);        \
  template void BaseConvolutionLayer<Dtype>::BiasGradientGpu<double>(const Blob<Dtype>&);         \
  CAFFE_BACKWARD_ONE(Dtype, float, float)                                                         \
  CAFFE_BACKWARD_ONE(Dtype, float, float16)                                                       \
  CAFFE_BACKWARD_ONE(Dtype, float16, float)                                                       \
  CAFFE_BACKWARD_ONE(Dtype, float16, float16)                                                     \
  CAFFE_BACKWARD_ONE(Dtype, double, double)                                                       \
  template void BaseConvolutionLayer<Dtype>::forward_gpu_gemm(const Dtype*, const Dtype*, Dtype*, \
                                                              bool);                              \
  template void BaseConvolutionLayer<Dtype>::forward_gpu_bias(Dtype*, const Dtype*);              \
  template void BaseConvolutionLayer<Dtype>::backward_gpu_gemm(const Dtype*, const Dtype*,        \
                                                               Dtype*);                           \
  template void BaseConvolutionLayer<Dtype>::weight_gpu_gemm(const Dtype*, const Dtype*, Dtype*); \
  template void BaseConvolutionLayer<Dtype>::backward_gpu_bias(Dtype*, const Dtype*);
CAFFE_BASE_CONVOLUTION(float)
CAFFE_BASE_CONVOLUTION(double)
#undef CAFFE_BASE_CONVOLUTION
#undef CAFFE_BACKWARD_ONE

}  // namespace caffe
