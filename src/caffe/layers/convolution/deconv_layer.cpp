#include "caffe/layers/deconv_layer.hpp"

#include "caffe/layers/inner_product/linear_map_runner.hpp"

namespace caffe {
namespace {

vector<int> OutputExtents(const ConvolutionGeometry& g, const vector<int>& input) {
  vector<int> output;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t window = int64_t(g.dilation[i]) * (g.kernel[i] - 1) + 1;
    const int64_t extent = int64_t(g.stride[i]) * (input[i] - 1) + window - 2 * int64_t(g.pad[i]);
    Require(extent >= 1, "convolution_param: on spatial axis ", i, " the output has ",
            extent + 2 * int64_t(g.pad[i]), " positions, of which pad takes off ", g.pad[i],
            " on each side: reduce pad");
    Require(extent <= std::numeric_limits<int>::max(), "convolution_param: on spatial axis ", i,
            " the output has ", extent, " positions: reduce stride or dilation");
    output.push_back(static_cast<int>(extent));
  }
  return output;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return ConvolutionTopShapes(layer.convolution_param(), bottoms, OutputExtents);
}

const bool registered = OperationTable::Add(Operation("Deconvolution")
                                                .Multiplies(Operation::Weights::DECONVOLUTION)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Quantizable());

/// Measured by benchmarks/engines: 1.2 to 4.7 times.
constexpr bool kOneDnnIsFaster = true;

}  // namespace

template <typename Dtype>
void DeconvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_ = OutputExtents(this->geometry(), this->input_extents());
}

template <typename Dtype>
bool DeconvolutionLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  if (!onednn::IsWanted<Dtype>(this->engine_, this->types(), kOneDnnIsFaster)) {
    return false;
  }
  if (!onednn_) onednn_ = std::make_shared<LinearMapRunner<Dtype>>();
  const bool made = onednn_->Prepare(bottom[0]->shape(), Layout(), [&] {
    onednn::LinearMap::Options options;
    options.bias = this->bias_term_;
    options.training = this->phase_ == TRAIN;
    return onednn::Deconvolution::Make(this->shape_, this->num_, options);
  });
  if (made) onednn_->Forward(this->blobs_, bottom, top);
  return made;
}

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(bottom, top);
  if (by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* weights = this->blobs_[0]->template cpu_data_as<T>();
    const T* bias = this->bias_term_ ? this->blobs_[1]->template cpu_data_as<T>() : nullptr;
    const auto transposed = this->reference_engine()
                                ? kernels::ReferenceConvolutionBackwardData<T, T>
                                : kernels::ConvolutionBackwardData<T, T>;
    for (size_t i = 0; i < bottom.size(); ++i) {
      transposed(this->shape_, this->num_, bottom[i]->template cpu_data_as<T>(), weights, bias,
                 top[i]->template overwrite_cpu_data_as<T>());
    }
  });
}

// Seen from the convolution, the top's gradient is the input and the bottom the output.
template <typename Dtype>
template <typename T, typename D>
void DeconvolutionLayer<Dtype>::BackwardOne(const Blob<Dtype>& top, bool propagate_down,
                                            Blob<Dtype>* bottom) {
  using G = AccumulatorType<D>;
  const D* dy = top.template cpu_diff_as<D>();
  this->template BiasGradient<D>(top);
  if (this->param_propagate_down_[0]) {
    const auto weight_gradient = this->reference_engine()
                                     ? kernels::ReferenceConvolutionBackwardWeights<D, T>
                                     : kernels::ConvolutionBackwardWeights<D, T>;
    weight_gradient(this->shape_, this->num_, dy, bottom->template cpu_data_as<T>(),
                    this->blobs_[0]->template mutable_cpu_diff_as<G>());
  }
  if (propagate_down) {
    const auto convolution = this->reference_engine() ? kernels::ReferenceConvolutionForward<T, D>
                                                      : kernels::ConvolutionForward<T, D>;
    convolution(this->shape_, this->num_, dy, this->blobs_[0]->template cpu_data_as<T>(), nullptr,
                bottom->template overwrite_cpu_diff_as<D>());
  }
}

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  const bool weights_wanted = this->param_propagate_down_[0];
  const bool bias_wanted = this->bias_term_ && this->param_propagate_down_[1];
  if (by_onednn_ && this->phase_ == TRAIN && (weights_wanted || !bias_wanted)) {
    onednn_->Backward(this->blobs_, weights_wanted, bias_wanted, top, propagate_down, bottom);
    return;
  }
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    for (size_t i = 0; i < top.size(); ++i) {
      this->template BackwardOne<decltype(data_tag), decltype(diff_tag)>(*top[i], propagate_down[i],
                                                                         bottom[i]);
    }
  });
}

INSTANTIATE_CLASS(DeconvolutionLayer);
REGISTER_LAYER_CLASS(Deconvolution);

}  // namespace caffe
