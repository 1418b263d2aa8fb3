#ifndef CAFFE_INFERENCE_PASSES_WEIGHTS_BY_CHANNEL_HPP_
#define CAFFE_INFERENCE_PASSES_WEIGHTS_BY_CHANNEL_HPP_

#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// The weights of a Convolution, Deconvolution or InnerProduct by output, input channel and place
/// in the kernel.
class WeightsByChannel {
 public:
  /// `channels`: of the layer's input.
  WeightsByChannel(const Node& node, int channels)
      : shape_(node.parameters[0].shape), values_(node.parameters[0].ToVector()) {
    if (node.type() == "InnerProduct") {
      const InnerProductParameter& param = node.layer.inner_product_param();
      outputs_ = param.num_output();
      if (values_.empty()) return;  // no channels
      kernel_ = values_.size() / outputs_ / channels;
      const size_t k = channels * kernel_;
      output_stride_ = param.transpose() ? 1 : k;
      place_stride_ = param.transpose() ? outputs_ : 1;
      channel_stride_ = kernel_ * place_stride_;
      return;
    }
    const ConvolutionParameter& param = node.layer.convolution_param();
    outputs_ = param.num_output();
    groups_ = param.group();
    place_stride_ = 1;
    const size_t rows = node.type() == "Deconvolution" ? channels : outputs_;
    const size_t columns = (node.type() == "Deconvolution" ? outputs_ : channels) / groups_;
    if (values_.empty()) return;
    kernel_ = values_.size() / rows / columns;
    output_stride_ = channel_stride_ = columns * kernel_;
    (node.type() == "Deconvolution" ? output_stride_ : channel_stride_) = kernel_;
    transposed_ = node.type() == "Deconvolution";
  }

  /// Calls f(o, c, w) for each weight of output o and input channel c.
  template <typename Function>
  void ForEach(size_t channels, Function&& f) {
    const size_t group_outputs = outputs_ / groups_, group_channels = channels / groups_;
    for (size_t o = 0; o < outputs_; ++o) {
      const size_t group = o / group_outputs;
      for (size_t j = 0; j < group_channels; ++j) {
        const size_t c = group * group_channels + j;
        // Within its group where the weights hold one group's only.
        const size_t at = transposed_ ? c * channel_stride_ + (o % group_outputs) * output_stride_
                                      : o * output_stride_ + j * channel_stride_;
        for (size_t k = 0; k < kernel_; ++k) f(o, c, &values_[at + k * place_stride_]);
      }
    }
  }

  size_t outputs() const { return outputs_; }
  Constant ToConstant() const { return Constant::Of(shape_, values_); }

 private:
  Shape shape_;
  std::vector<float> values_;
  size_t outputs_ = 0, groups_ = 1, kernel_ = 0;
  size_t output_stride_ = 0, channel_stride_ = 0, place_stride_ = 1;
  bool transposed_ = false;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_WEIGHTS_BY_CHANNEL_HPP_
