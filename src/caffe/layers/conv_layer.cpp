#include "caffe/layers/conv_layer.hpp"

#include "caffe/kernels/elementwise.hpp"

namespace caffe {
namespace {

/// Extents of the spatial axes of the top for those of the bottom.
vector<int> OutputExtents(const ConvolutionGeometry& g, const vector<int>& input) {
  vector<int> output;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t window = int64_t(g.dilation[i]) * (g.kernel[i] - 1) + 1;
    const int64_t padded = input[i] + 2 * int64_t(g.pad[i]);
    Require(padded >= window, "convolution_param: on spatial axis ", i, " the kernel covers ",
            window, " positions, the padded bottom has ", padded);
    const int64_t extent = (padded - window) / g.stride[i] + 1;
    Require(extent <= std::numeric_limits<int>::max(), "convolution_param: on spatial axis ", i,
            " the output has ", extent, " positions: reduce pad");
    output.push_back(static_cast<int>(extent));
  }
  return output;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const ConvolutionParameter& param = layer.convolution_param();
  std::vector<Shape> tops;
  for (const Shape& bottom : bottoms) {
    const int axes = static_cast<int>(bottom.size());
    Require(param.axis() >= -axes && param.axis() < axes, "convolution_param: axis ", param.axis(),
            " is out of range for a bottom of shape ", ShapeString(bottom));
    const int axis = param.axis() < 0 ? param.axis() + axes : param.axis();
    const Shape input(bottom.begin() + axis + 1, bottom.end());
    const ConvolutionGeometry geometry = ReadConvolutionGeometry(param, input.size());
    Shape top(bottom.begin(), bottom.begin() + axis);
    top.push_back(param.num_output());
    const vector<int> output = OutputExtents(geometry, input);
    top.insert(top.end(), output.begin(), output.end());
    tops.push_back(top);
  }
  return tops;
}

const bool registered = OperationTable::Add(Operation("Convolution")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Quantizable());

}  // namespace

template <typename Dtype>
void ConvolutionLayer<Dtype>::compute_output_shape() {
  const ConvolutionGeometry geometry = {this->shape_.kernel, this->shape_.stride, this->shape_.pad,
                                        this->shape_.dilation};
  const vector<int>& bottom = *this->bottom_shape_;
  this->output_shape_ =
      OutputExtents(geometry, vector<int>(bottom.begin() + this->channel_axis_ + 1, bottom.end()));
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* weights = this->blobs_[0]->template cpu_data_as<T>();
    const T* bias = this->bias_term_ ? this->blobs_[1]->template cpu_data_as<T>() : nullptr;
    const auto forward = this->reference_engine() ? kernels::ReferenceConvolutionForward<T>
                                                  : kernels::ConvolutionForward<T>;
    for (size_t i = 0; i < bottom.size(); ++i) {
      forward(this->shape_, this->num_, bottom[i]->template cpu_data_as<T>(), weights, bias,
              top[i]->template overwrite_cpu_data_as<T>());
    }
  });
}

template <typename Dtype>
template <typename T, typename D>
void ConvolutionLayer<Dtype>::BackwardOne(const Blob<Dtype>& top, bool propagate_down,
                                          Blob<Dtype>* bottom) {
  using G = AccumulatorType<D>;
  const D* dy = top.template cpu_diff_as<D>();
  if (this->bias_term_ && this->param_propagate_down_[1]) {
    G* d_bias = this->blobs_[1]->template mutable_cpu_diff_as<G>();
    vector<double> sums(this->num_output_);
    kernels::ChannelSums(this->num_, this->num_output_, this->out_spatial_dim_, dy, dy, sums.data(),
                         nullptr);
    for (int o = 0; o < this->num_output_; ++o) d_bias[o] += static_cast<G>(sums[o]);
  }
  if (this->param_propagate_down_[0]) {
    const auto backward = this->reference_engine()
                              ? kernels::ReferenceConvolutionBackwardWeights<T, D>
                              : kernels::ConvolutionBackwardWeights<T, D>;
    backward(this->shape_, this->num_, bottom->template cpu_data_as<T>(), dy,
             this->blobs_[0]->template mutable_cpu_diff_as<G>());
  }
  if (propagate_down) {
    const auto backward = this->reference_engine() ? kernels::ReferenceConvolutionBackwardData<T, D>
                                                   : kernels::ConvolutionBackwardData<T, D>;
    backward(this->shape_, this->num_, dy, this->blobs_[0]->template cpu_data_as<T>(),
             bottom->template overwrite_cpu_diff_as<D>());
  }
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    for (size_t i = 0; i < top.size(); ++i) {
      this->template BackwardOne<decltype(data_tag), decltype(diff_tag)>(*top[i], propagate_down[i],
                                                                         bottom[i]);
    }
  });
}

INSTANTIATE_CLASS(ConvolutionLayer);
REGISTER_LAYER_CLASS(Convolution);

}  // namespace caffe
