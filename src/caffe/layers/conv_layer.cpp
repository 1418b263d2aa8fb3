#include "caffe/layers/conv_layer.hpp"

#include "../onednn/onednn.hpp"
#include "absorbed_layers.hpp"
#include "caffe/as_stored.hpp"

namespace caffe {

vector<int> ConvolutionOutputExtents(const ConvolutionGeometry& g, const vector<int>& input) {
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

namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return ConvolutionTopShapes(layer.convolution_param(), bottoms, ConvolutionOutputExtents);
}

const bool registered = OperationTable::Add(Operation("Convolution")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Quantizable());

bool SameShape(const kernels::ConvolutionShape& a, const kernels::ConvolutionShape& b) {
  return a.channels == b.channels && a.outputs == b.outputs && a.group == b.group &&
         a.input == b.input && a.output == b.output && a.kernel == b.kernel &&
         a.stride == b.stride && a.pad == b.pad && a.dilation == b.dilation;
}

/// Weights and bias with `pointwise`'s scale and shift in them.
void Fold(const Pointwise& pointwise, int outputs, vector<float>* weights, vector<float>* bias) {
  if (pointwise.scale.empty()) return;
  const size_t row = weights->size() / outputs;
  bias->resize(outputs, 0.f);
  for (int o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < row; ++i) (*weights)[o * row + i] *= pointwise.scale[o];
    (*bias)[o] = (*bias)[o] * pointwise.scale[o] + pointwise.shift[o];
  }
}

}  // namespace

/// oneDNN's convolution for the shapes of now, with its own order of the weights.
template <typename Dtype>
struct ConvolutionLayer<Dtype>::OneDnn {
  /// One with, one without the work of the absorbed layers.
  struct Primitive {
    std::unique_ptr<onednn::LinearMap> convolution;
    kernels::ConvolutionShape shape;  // what it was made for
    int num = -1;
    PointwiseActivation activation;
    uint64_t stamp = 0;  // of the weights it holds
    vector<float> bias;
  };
  Primitive alone, fused;
  AbsorbedLayers<Dtype> absorbed;
};

template <typename Dtype>
ConvolutionLayer<Dtype>::ConvolutionLayer(const LayerParameter& param)
    : BaseConvolutionLayer<Dtype>(param), onednn_(new OneDnn) {}

template <typename Dtype>
ConvolutionLayer<Dtype>::~ConvolutionLayer() = default;

template <typename Dtype>
int ConvolutionLayer<Dtype>::Absorb(const vector<Layer<Dtype>*>& followers) {
  if (!this->UsesOneDnn() || this->phase_ != TEST) return 0;
  return onednn_->absorbed.Take(followers, this->num_output_);
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  if (!this->UsesOneDnn()) return false;
  const Pointwise pointwise =
      this->fused_ ? onednn_->absorbed.Describe(this->num_output_) : Pointwise();
  typename OneDnn::Primitive& own = this->fused_ ? onednn_->fused : onednn_->alone;
  if (own.num != this->num_ || !SameShape(own.shape, this->shape_) ||
      !(own.activation == pointwise.activation)) {
    onednn::Convolution::Options options;
    options.bias = this->bias_term_ || !pointwise.scale.empty();
    options.training = this->phase_ == TRAIN;
    options.activation = pointwise.activation;
    own.convolution = onednn::Convolution::Make(this->shape_, this->num_, options);
    own.shape = this->shape_;
    own.num = this->num_;
    own.activation = pointwise.activation;
    own.stamp = 0;
  }
  if (!own.convolution) return false;

  uint64_t stamp = this->fused_ ? onednn_->absorbed.Stamp() : 1;
  for (const auto& blob : this->blobs_) stamp = Mix(stamp, WriteStamp(*blob));
  if (stamp != own.stamp || this->phase_ == TRAIN) {
    const float* weights = this->blobs_[0]->template cpu_data_as<float>();
    own.bias.clear();
    if (this->bias_term_) {
      const float* bias = this->blobs_[1]->template cpu_data_as<float>();
      own.bias.assign(bias, bias + this->num_output_);
    }
    if (pointwise.scale.empty()) {
      own.convolution->SetWeights(weights);
      // One copy is enough.
      if (const auto unpack = own.convolution->UnpackWeights();
          unpack && !this->blobs_[0]->shares_data()) {
        this->blobs_[0]->data_tensor().Replace(ElementType::FLOAT, unpack);
      }
    } else {
      vector<float> folded(weights, weights + this->blobs_[0]->count());
      Fold(pointwise, this->num_output_, &folded, &own.bias);
      own.convolution->SetWeights(folded.data());
    }
    own.stamp = stamp;
  }
  for (size_t i = 0; i < bottom.size(); ++i) {
    const float* x = ReadAs<float>(bottom[i]->data_tensor(), own.convolution->source());
    own.convolution->Forward(x, own.bias.data(),
                             OverwriteAs<float>(top[i]->data_tensor(), own.convolution->target()));
  }
  return true;
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::BackwardOneDnn(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  onednn::LinearMap* convolution = onednn_->alone.convolution.get();
  if (!convolution || !this->UsesOneDnn() || this->backward_type() != ElementType::FLOAT ||
      onednn_->alone.num != this->num_ || !SameShape(onednn_->alone.shape, this->shape_) ||
      this->phase_ != TRAIN) {
    return false;
  }
  const bool weights_wanted = this->param_propagate_down_[0];
  const bool bias_wanted = this->bias_term_ && this->param_propagate_down_[1];
  if (bias_wanted && !weights_wanted) return false;
  for (size_t i = 0; i < top.size(); ++i) {
    Tensor& dy = top[i]->diff_tensor();
    if (weights_wanted) {
      convolution->BackwardWeights(
          ReadAs<float>(bottom[i]->data_tensor(), convolution->weights_source()),
          ReadAs<float>(dy, convolution->weights_target()),
          this->blobs_[0]->template mutable_cpu_diff_as<float>(),
          bias_wanted ? this->blobs_[1]->template mutable_cpu_diff_as<float>() : nullptr);
    }
    if (propagate_down[i]) {
      convolution->BackwardData(
          ReadAs<float>(dy, convolution->data_target()),
          this->blobs_[0]->template cpu_data_as<float>(),
          OverwriteAs<float>(bottom[i]->diff_tensor(), convolution->data_source()));
    }
  }
  return true;
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_ = ConvolutionOutputExtents(this->geometry(), this->input_extents());
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  if (ForwardOneDnn(bottom, top)) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* weights = this->blobs_[0]->template cpu_data_as<T>();
    const T* bias = this->bias_term_ ? this->blobs_[1]->template cpu_data_as<T>() : nullptr;
    const auto forward = this->reference_engine() ? kernels::ReferenceConvolutionForward<T, T>
                                                  : kernels::ConvolutionForward<T, T>;
    for (size_t i = 0; i < bottom.size(); ++i) {
      forward(this->shape_, this->num_, bottom[i]->template cpu_data_as<T>(), weights, bias,
              top[i]->template overwrite_cpu_data_as<T>());
    }
  });
  if (this->fused_) onednn_->absorbed.Run(top);
}

template <typename Dtype>
template <typename T, typename D>
void ConvolutionLayer<Dtype>::BackwardOne(const Blob<Dtype>& top, bool propagate_down,
                                          Blob<Dtype>* bottom) {
  using G = AccumulatorType<D>;
  const D* dy = top.template cpu_diff_as<D>();
  this->template BiasGradient<D>(top);
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
    backward(this->shape_, this->num_, dy, this->blobs_[0]->template cpu_data_as<T>(), nullptr,
             bottom->template overwrite_cpu_diff_as<D>());
  }
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  if (BackwardOneDnn(top, propagate_down, bottom)) return;
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
