#include <cstdio>

#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/converted.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "convolution_products.hpp"

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
cuda::ConvolutionOptions BaseConvolutionLayer<Dtype>::GpuOptionsFor(ElementType type) {
  cuda::ConvolutionOptions options = gpu_options();
  options.channels_last = channel_axis_ == 1 && num_spatial_axes_ > 0 &&
                          cuda::ChannelsLastPays(products_->problem.shape, options, type);
  return options;
}

template <typename Dtype>
template <typename T>
const T* BaseConvolutionLayer<Dtype>::GpuWeights(bool channels_last) {
  const kernels::ConvolutionShape& s = products_->problem.shape;
  const std::vector<int> shape = {s.outputs, s.channels / s.group,
                                  static_cast<int>(s.kernel_size())};
  return cuda::ReadData<T>(*this->blobs_[0], channels_last ? cuda::ChannelsLast(shape) : Layout());
}

template <typename Dtype>
template <typename D>
void BaseConvolutionLayer<Dtype>::BiasGradientGpu(const Blob<Dtype>& top, const Layout& layout) {
  if (!bias_term_ || !this->param_propagate_down_[1]) return;
  const cuda::ChannelExtents e = cuda::ExtentsIn(layout, num_, num_output_, out_spatial_dim_);
  cuda::AddChannelSums(cuda::CurrentStream(), e.outer, e.channels, e.inner,
                       cuda::ReadDiff<D>(top, layout),
                       this->blobs_[1]->template mutable_gpu_diff_as<AccumulatorType<D>>());
}

template <typename Dtype>
template <typename T>
void BaseConvolutionLayer<Dtype>::ForwardAllGpu(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  using F = AccumulatorType<T>;
  const cuda::ConvolutionOptions options = GpuOptionsFor(kElementType<T>);
  const bool last = options.channels_last;
  const T* weights = GpuWeights<T>(last);
  const F* bias = bias_term_ ? this->blobs_[1]->template gpu_data_as<F>() : nullptr;
  const auto product =
      reverse_dimensions() ? &cuda::ConvolutionBackwardData<T> : &cuda::ConvolutionForward<T>;
  for (size_t i = 0; i < bottom.size(); ++i) {
    const Layout below = last ? cuda::ChannelsLast(bottom[i]->shape()) : Layout();
    const Layout above = last ? cuda::ChannelsLast(top[i]->shape()) : Layout();
    const T* x = cuda::ReadData<T>(*bottom[i], below);
    product(cuda::CurrentStream(), products_->problem.shape, num_, options, x, weights, bias,
            cuda::OverwriteData<T>(above, top[i]));
  }
}

// Seen from the product, a Deconvolution's input is the top's gradient and its output the bottom.
template <typename Dtype>
template <typename T, typename D>
void BaseConvolutionLayer<Dtype>::BackwardOneGpu(const Blob<Dtype>& top, bool propagate_down,
                                                 Blob<Dtype>* bottom) {
  using P = cuda::ProductType<T, D>;
  Stream& stream = cuda::CurrentStream();
  const cuda::ConvolutionOptions options = GpuOptionsFor(kElementType<P>);
  const bool last = options.channels_last;
  const Layout above = last ? cuda::ChannelsLast(top.shape()) : Layout();
  const Layout below = last ? cuda::ChannelsLast(bottom->shape()) : Layout();
  BiasGradientGpu<D>(top, above);
  const cuda::ReadAsType<P, D> dy(stream, top.count(), cuda::ReadDiff<D>(top, above));
  if (this->param_propagate_down_[0]) {
    const cuda::ReadAsType<P, T> x(stream, bottom->count(), cuda::ReadData<T>(*bottom, below));
    cuda::ConvolutionBackwardWeights(
        stream, products_->problem.shape, num_, options, reverse_dimensions() ? dy.get() : x.get(),
        reverse_dimensions() ? x.get() : dy.get(),
        this->blobs_[0]->template mutable_gpu_diff_as<AccumulatorType<P>>());
  }
  if (!propagate_down) return;
  const cuda::ReadAsType<P, T> weights(stream, this->blobs_[0]->count(), GpuWeights<T>(last));
  cuda::WriteAsType<P, D> dx(stream, bottom->count(), cuda::OverwriteDiff<D>(below, bottom));
  const auto product =
      reverse_dimensions() ? &cuda::ConvolutionForward<P> : &cuda::ConvolutionBackwardData<P>;
  product(stream, products_->problem.shape, num_, options, dy.get(), weights.get(), nullptr,
          dx.get());
  dx.Finish();
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_gemm(const Dtype* input, const Dtype* weights,
                                                   Dtype* output, bool /*skip_im2col*/) {
  cuda::ConvolutionForward<Dtype>(cuda::CurrentStream(), products_->problem.shape, 1, gpu_options(),
                                  input, weights, nullptr, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_bias(Dtype* output, const Dtype* bias) {
  cuda::ChannelAffine<Dtype>(cuda::CurrentStream(), 1, num_output_, out_spatial_dim_, nullptr, bias,
                             output, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_gemm(const Dtype* output, const Dtype* weights,
                                                    Dtype* input) {
  cuda::ConvolutionBackwardData<Dtype>(cuda::CurrentStream(), products_->problem.shape, 1,
                                       gpu_options(), output, weights, nullptr, input);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::weight_gpu_gemm(const Dtype* input, const Dtype* output,
                                                  Dtype* weights) {
  cuda::ConvolutionBackwardWeights<Dtype>(cuda::CurrentStream(), products_->problem.shape, 1,
                                          gpu_options(), input, output, weights);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_bias(Dtype* bias, const Dtype* input) {
  cuda::AddChannelSums<Dtype>(cuda::CurrentStream(), 1, num_output_, out_spatial_dim_, input, bias);
}

#define CAFFE_BACKWARD_ONE(Dtype, T, D)                                                     \
  template void BaseConvolutionLayer<Dtype>::BackwardOneGpu<T, D>(const Blob<Dtype>&, bool, \
                                                                  Blob<Dtype>*);
#define CAFFE_FORWARD_ALL(Dtype, T)                                                        \
  template void BaseConvolutionLayer<Dtype>::ForwardAllGpu<T>(const vector<Blob<Dtype>*>&, \
                                                              const vector<Blob<Dtype>*>&);
#define CAFFE_BASE_CONVOLUTION(Dtype)                                                             \
  template const cuda::ConvolutionOptions& BaseConvolutionLayer<Dtype>::gpu_options();            \
  CAFFE_FORWARD_ALL(Dtype, float)                                                                 \
  CAFFE_FORWARD_ALL(Dtype, float16)                                                               \
  CAFFE_FORWARD_ALL(Dtype, double)                                                                \
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
#undef CAFFE_FORWARD_ALL

}  // namespace caffe
