#include "caffe/layers/conv_layer.hpp"

#include <optional>

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/layers/float_pieces.hpp"
#include "caffe/onednn/onednn.hpp"
#include "fused_followers.hpp"
#include "packed_convolution_runner.hpp"

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
                                                .Multiplies(Operation::Weights::CONVOLUTION)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Quantizable());

/// The weights with `pointwise`'s scale in them.
void Fold(const Pointwise& pointwise, int outputs, vector<float>* weights) {
  const size_t row = weights->size() / outputs;
  for (int o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < row; ++i) (*weights)[o * row + i] *= pointwise.scale[o];
  }
}

}  // namespace

/// oneDNN's convolution for the shapes of now, with its own order of the weights.
template <typename Dtype>
struct ConvolutionLayer<Dtype>::Primitive {
  std::unique_ptr<onednn::LinearMap> convolution;
  kernels::ConvolutionShape shape;  // what it was made for
  int num = -1;                     // images at a time
  kernels::Activation activation;
  uint64_t stamp = 0;  // of the weights it holds
  vector<float> bias;
  std::shared_ptr<SyncedMemory> weights;  // packed, in the layer's type; not in training
};

template <typename Dtype>
struct ConvolutionLayer<Dtype>::OneDnn {
  /// One with, one without the work of the fused followers.
  Primitive alone, fused;
  Primitive training;  // for FLOAT16
  PackedConvolutionRunner<Dtype> packed_alone, packed_fused;
  FusedFollowers<Dtype> followers;
};

template <typename Dtype>
ConvolutionLayer<Dtype>::ConvolutionLayer(const LayerParameter& param)
    : BaseConvolutionLayer<Dtype>(param), onednn_(new OneDnn) {}

template <typename Dtype>
ConvolutionLayer<Dtype>::~ConvolutionLayer() = default;

// Layers behind take axis 1 for the channels, which need not be that of the outputs.
template <typename Dtype>
int ConvolutionLayer<Dtype>::FuseFollowers(const vector<Layer<Dtype>*>& followers) {
  if (!(this->UsesOneDnn() || UsesPackedKernels()) || this->phase_ != TEST) return 0;
  if (this->channel_axis_ != 1) return 0;
  return onednn_->followers.Take(followers, this->forward_type(), this->num_output_);
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::UsesPackedKernels() const {
  return this->forward_type() == ElementType::FLOAT16 && this->phase_ == TEST &&
         this->engine_ == Engine::DEFAULT;
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::ForwardPacked(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top, bool fused) {
  if (!UsesPackedKernels()) return false;
  PackedConvolutionRunner<Dtype>& own = fused ? onednn_->packed_fused : onednn_->packed_alone;
  const bool rounds = this->forward_math() == ElementType::FLOAT16;
  if (!own.Prepare(this->shape_, this->num_, rounds, *bottom[0])) return false;
  own.SetWeights(this->blobs_, fused ? onednn_->followers.Stamp() : 1,
                 fused ? onednn_->followers.DescribeOnce(this->num_output_) : Pointwise());
  for (size_t i = 0; i < bottom.size(); ++i) own.Forward(*bottom[i], top[i]);
  return true;
}

// oneDNN computes in float. FLOAT16 images are widened a few at a time, so that what is wide stays
// in the cache.
template <typename Dtype>
int ConvolutionLayer<Dtype>::ImagesAtATime() const {
  if (this->forward_type() == ElementType::FLOAT) return this->num_;
  constexpr size_t kWideFloats = size_t(1) << 20;
  const size_t image = this->shape_.input_size() + this->shape_.output_size();
  if (this->num_ == 0 || image == 0) return this->num_;
  int images = std::min<int>(this->num_, std::max<size_t>(1, kWideFloats / image));
  while (this->num_ % images != 0) --images;
  return images;
}

/// `blob`'s values as float, for the time of a call: a FLOAT16 tensor gets no second form.
template <typename Dtype>
class FloatValues {
 public:
  FloatValues(const Blob<Dtype>& blob, ElementType type)
      : wide_(Context::Current().workspace(), type == ElementType::FLOAT ? 0 : blob.count()) {
    if (type == ElementType::FLOAT) {
      data_ = blob.template cpu_data_as<float>();
      return;
    }
    kernels::Convert(blob.count(), blob.template cpu_data_as<float16>(), wide_.get());
    data_ = wide_.get();
  }
  const float* data() const { return data_; }

 private:
  Workspace::Buffer<float> wide_;
  const float* data_;
};

// The weights and the bias of now, with the scale and shift of fused followers folded in.
template <typename Dtype>
void ConvolutionLayer<Dtype>::PackWeights(const Pointwise& pointwise, Primitive* own) {
  const ElementType type = this->forward_type();
  Blob<Dtype>& blob = *this->blobs_[0];
  own->bias.clear();
  if (this->bias_term_) {
    const FloatValues<Dtype> bias(*this->blobs_[1], type);
    own->bias.assign(bias.data(), bias.data() + this->num_output_);
  }
  const FloatValues<Dtype> plain(blob, type);
  if (this->phase_ == TRAIN) return own->convolution->SetWeights(plain.data());
  const float* weights = plain.data();
  vector<float> folded;
  if (!pointwise.scale.empty()) {
    folded.assign(weights, weights + blob.count());
    Fold(pointwise, this->num_output_, &folded);
    FoldBias(pointwise, &own->bias);
    weights = folded.data();
  }
  const onednn::LinearMap& convolution = *own->convolution;
  const size_t count = convolution.packed_size();
  own->weights = std::make_shared<SyncedMemory>(count * SizeOf(type));
  if (type == ElementType::FLOAT) {
    convolution.PackWeights(weights, static_cast<float*>(own->weights->overwrite_cpu_data()));
  } else {
    Workspace::Buffer<float> packed(Context::Current().workspace(), count);
    convolution.PackWeights(weights, packed.get());
    kernels::Convert(count, packed.get(),
                     static_cast<float16*>(own->weights->overwrite_cpu_data()));
  }
  if (!folded.empty() || blob.shares_data()) return;
  // One copy is enough.
  blob.data_tensor().Replace(type, [type, count, packed = own->weights, size = blob.count(),
                                    unpack = convolution.Unpacker()](void* to) {
    if (type == ElementType::FLOAT) {
      return unpack(static_cast<const float*>(packed->cpu_data()), static_cast<float*>(to));
    }
    Workspace& workspace = Context::Current().workspace();
    Workspace::Buffer<float> wide(workspace, count), weights(workspace, size);
    kernels::Convert(count, static_cast<const float16*>(packed->cpu_data()), wide.get());
    unpack(wide.get(), weights.get());
    kernels::Convert(size, weights.get(), static_cast<float16*>(to));
  });
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top, bool fused) {
  if (!this->UsesOneDnn()) return false;
  const bool half = this->forward_type() == ElementType::FLOAT16;
  const int images = ImagesAtATime();
  const Pointwise pointwise =
      fused ? onednn_->followers.DescribeOnce(this->num_output_) : Pointwise();
  Primitive& own = fused ? onednn_->fused : onednn_->alone;
  if (own.num != images || !SameShape(own.shape, this->shape_) ||
      !(own.activation == pointwise.activation)) {
    onednn::Convolution::Options options;
    options.bias = this->bias_term_ || !pointwise.scale.empty();
    options.training = this->phase_ == TRAIN;
    options.activation = pointwise.activation;
    options.keep_weights = this->phase_ == TRAIN;
    own.convolution = onednn::Convolution::Make(this->shape_, images, options);
    own.shape = this->shape_;
    own.num = images;
    own.activation = pointwise.activation;
    own.stamp = 0;
  }
  if (!own.convolution) return false;

  uint64_t stamp = fused ? onednn_->followers.Stamp() : 1;
  for (const auto& blob : this->blobs_) stamp = Mix(stamp, WriteStamp(*blob));
  if (stamp != own.stamp || this->phase_ == TRAIN) {
    PackWeights(pointwise, &own);
    own.stamp = stamp;
  }
  if (half) {
    const size_t count = own.convolution->packed_size();
    Workspace::Buffer<float> weights(Context::Current().workspace(), count);
    kernels::Convert(count, static_cast<const float16*>(own.weights->cpu_data()), weights.get());
    ForwardWidened(bottom, top, images, weights.get(), own.bias.data(), own.convolution.get());
    return true;
  }
  for (size_t i = 0; i < bottom.size(); ++i) {
    const float* x = ReadAs<float>(bottom[i]->data_tensor(), own.convolution->source());
    float* y = OverwriteAs<float>(top[i]->data_tensor(), own.convolution->target());
    if (this->phase_ == TRAIN) {
      own.convolution->Forward(x, own.bias.data(), y);
    } else {
      own.convolution->ForwardPacked(static_cast<const float*>(own.weights->cpu_data()), x,
                                     own.bias.data(), y);
    }
  }
  return true;
}

// A few images at a time; `weights` are packed.
template <typename Dtype>
void ConvolutionLayer<Dtype>::ForwardWidened(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top, int images,
                                             const float* weights, const float* bias,
                                             onednn::LinearMap* convolution) {
  const int pieces = this->num_ / images;
  for (size_t i = 0; i < bottom.size(); ++i) {
    FloatReader x(bottom[i]->data_tensor(), ElementType::FLOAT16, convolution->source(), pieces);
    FloatWriter y(top[i]->data_tensor(), ElementType::FLOAT16, convolution->target(), pieces);
    for (int piece = 0; piece < pieces; ++piece) {
      y.Write(piece,
              [&](float* to) { convolution->ForwardPacked(weights, x.Piece(piece), bias, to); });
    }
  }
}

// In training the weights are others in each pass, and the primitive is that of the backward pass.
template <typename Dtype>
bool ConvolutionLayer<Dtype>::TrainWidened(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  if (this->forward_type() != ElementType::FLOAT16 || this->phase_ != TRAIN) return false;
  int images = 0;
  onednn::LinearMap* convolution = TrainingMap(&images);
  if (!convolution || images == 0) return false;
  const FloatValues<Dtype> weights(*this->blobs_[0], ElementType::FLOAT16);
  Workspace::Buffer<float> packed(Context::Current().workspace(), convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.get());
  std::optional<FloatValues<Dtype>> bias;
  if (this->bias_term_) bias.emplace(*this->blobs_[1], ElementType::FLOAT16);
  ForwardWidened(bottom, top, images, packed.get(), bias ? bias->data() : nullptr, convolution);
  return true;
}

// What both passes of training run on: ForwardOneDnn's where all is float, else one for a few
// images at a time. Null where our own kernels have to do.
template <typename Dtype>
onednn::LinearMap* ConvolutionLayer<Dtype>::TrainingMap(int* images) {
  const auto fits = [](ElementType type) {
    return type == ElementType::FLOAT || type == ElementType::FLOAT16;
  };
  if (!onednn::Enabled() || !std::is_same<Dtype, float>::value || this->reference_engine() ||
      this->phase_ != TRAIN || !fits(this->forward_type()) || !fits(this->backward_type())) {
    return nullptr;
  }
  const bool wide =
      this->forward_type() == ElementType::FLOAT && this->backward_type() == ElementType::FLOAT;
  *images = wide ? this->num_ : ImagesAtATime();
  Primitive& own = wide ? onednn_->alone : onednn_->training;
  const bool made = own.num == *images && SameShape(own.shape, this->shape_);
  if (!made && !wide) {
    onednn::Convolution::Options options;
    options.bias = this->bias_term_;
    options.training = true;
    own.convolution = onednn::Convolution::Make(this->shape_, *images, options);
    own.shape = this->shape_;
    own.num = *images;
  }
  return made || !wide ? own.convolution.get() : nullptr;
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::BackwardOneDnn(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  const bool weights_wanted = this->param_propagate_down_[0];
  const bool bias_wanted = this->bias_term_ && this->param_propagate_down_[1];
  if (bias_wanted && !weights_wanted) return false;
  int images = 0;
  onednn::LinearMap* convolution = TrainingMap(&images);
  if (!convolution || images == 0) return false;
  const int pieces = this->num_ / images;
  const FloatValues<Dtype> weights(*this->blobs_[0], this->forward_type());
  for (size_t i = 0; i < top.size(); ++i) {
    Tensor& dy = top[i]->diff_tensor();
    if (weights_wanted) {
      FloatReader x(bottom[i]->data_tensor(), this->forward_type(), convolution->weights_source(),
                    pieces);
      FloatReader gradient(dy, this->backward_type(), convolution->weights_target(), pieces);
      float* weights_diff = this->blobs_[0]->template mutable_cpu_diff_as<float>();
      float* bias_diff =
          bias_wanted ? this->blobs_[1]->template mutable_cpu_diff_as<float>() : nullptr;
      for (int piece = 0; piece < pieces; ++piece) {
        convolution->BackwardWeights(x.Piece(piece), gradient.Piece(piece), weights_diff,
                                     bias_diff);
      }
    }
    if (propagate_down[i]) {
      FloatReader gradient(dy, this->backward_type(), convolution->data_target(), pieces);
      FloatWriter dx(bottom[i]->diff_tensor(), this->backward_type(), convolution->data_source(),
                     pieces);
      for (int piece = 0; piece < pieces; ++piece) {
        dx.Write(piece, [&](float* to) {
          convolution->BackwardData(gradient.Piece(piece), weights.data(), to);
        });
      }
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
  Run(bottom, top, /*fused=*/false);
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_fused(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  Run(bottom, top, /*fused=*/true);
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Run(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top, bool fused) {
  if (ForwardPacked(bottom, top, fused) || ForwardOneDnn(bottom, top, fused) ||
      TrainWidened(bottom, top)) {
    return;
  }
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
  if (fused) onednn_->followers.Run(top);
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

template <typename Dtype>
const char* ConvolutionLayer<Dtype>::forward_engine() const {
  const auto computes = [this](const Primitive& own) {
    return own.convolution && SameShape(own.shape, this->shape_);
  };
  const bool made = computes(onednn_->alone) || computes(onednn_->fused);
  return EngineName(made && this->UsesOneDnn(), this->reference_engine());
}

INSTANTIATE_CLASS(ConvolutionLayer);
REGISTER_LAYER_CLASS(Convolution);

}  // namespace caffe
