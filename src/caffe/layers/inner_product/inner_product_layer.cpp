#include "caffe/layers/inner_product_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "linear_map_runner.hpp"
#include "packed_inner_product_runner.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const InnerProductParameter& param = layer.inner_product_param();
  const Shape& bottom = bottoms.at(0);
  const int axes = static_cast<int>(bottom.size());
  Require(param.axis() >= -axes && param.axis() < axes, "inner_product_param: axis ", param.axis(),
          " is out of range for a bottom of shape ", ShapeString(bottom));
  Shape top(bottom.begin(),
            bottom.begin() + (param.axis() < 0 ? param.axis() + axes : param.axis()));
  top.push_back(param.num_output());
  return {top};
}

const bool registered = OperationTable::Add(Operation("InnerProduct")
                                                .Multiplies(Operation::Weights::INNER_PRODUCT)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Quantizable());

/// Measured by benchmarks/engines: few rows go once through the weights as Caffe stores them, many
/// are 1.2 to 10 times as fast in oneDNN.
bool OneDnnIsFaster(int rows) { return rows > 16; }

}  // namespace

template <typename Dtype>
void InnerProductLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>&) {
  const InnerProductParameter& param = this->layer_param_.inner_product_param();
  N_ = param.num_output();
  Require(N_ > 0, "inner_product_param: num_output must be positive, got ", N_);
  bias_term_ = param.bias_term();
  transpose_ = param.transpose();
  K_ = bottom[0]->count(bottom[0]->CanonicalAxisIndex(param.axis()));
  std::vector<ParameterBlob> parameters = {
      {transpose_ ? Shape{K_, N_} : Shape{N_, K_}, param.weight_filler()}};
  if (bias_term_) parameters.push_back({{N_}, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int axis = bottom[0]->CanonicalAxisIndex(this->layer_param_.inner_product_param().axis());
  Require(bottom[0]->count(axis) == K_, "the bottom of shape ", bottom[0]->shape_string(), " has ",
          bottom[0]->count(axis), " inputs per row where the weights are for ", K_);
  M_ = bottom[0]->count(0, axis);
  top[0]->Reshape(TopShapes(this->layer_param_, {bottom[0]->shape()})[0]);
}

template <typename Dtype>
bool InnerProductLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const bool training = this->phase_ == TRAIN;
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), OneDnnIsFaster(M_))) return false;
  const int axis = bottom[0]->CanonicalAxisIndex(this->layer_param_.inner_product_param().axis());
  // Blocks of channels are inputs in another order, which the packed weights follow.
  const Layout layout =
      axis == 1 ? BlockedLayoutFor<float>(bottom[0]->data_tensor(), bottom[0]->shape()) : Layout();
  if (!onednn_) onednn_ = std::make_shared<LinearMapRunner<Dtype>>();
  const bool made = onednn_->Prepare(bottom[0]->shape(), layout, [&] {
    onednn::LinearMap::Options options;
    options.bias = bias_term_;
    options.training = training;
    return onednn::InnerProduct::Make(M_, K_, N_, transpose_, layout, options);
  });
  if (made) onednn_->Forward(this->blobs_, bottom, top);
  return made;
}

template <typename Dtype>
bool InnerProductLayer<Dtype>::UsesPackedWeights() const {
  return this->forward_type() == ElementType::FLOAT16 && this->phase_ == TEST &&
         engine_ == Engine::DEFAULT && !transpose_;
}

template <typename Dtype>
bool InnerProductLayer<Dtype>::ForwardPacked(const Blob<Dtype>& bottom, Blob<Dtype>* top,
                                             bool fused) {
  if (!UsesPackedWeights() || M_ == 0 || K_ == 0) return false;
  if (!packed_) packed_ = std::make_shared<PackedInnerProductRunner<Dtype>>();
  if (!packed_->Prepare(K_, N_)) return false;
  packed_->Forward(this->blobs_, M_,
                   fused ? followers_->DescribeOnce(N_).activation : kernels::Activation(), bottom,
                   top);
  return true;
}

template <typename Dtype>
int InnerProductLayer<Dtype>::FuseFollowers(const vector<Layer<Dtype>*>& followers) {
  if (!UsesPackedWeights()) return 0;
  followers_ = std::make_shared<FusedFollowers<Dtype>>();
  const int taken = followers_->Take(followers, this->forward_type(), N_);
  return followers_->Describe(N_).scale.empty() ? taken : 0;
}

template <typename Dtype>
void InnerProductLayer<Dtype>::ForwardReference(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* bias = bias_term_ ? this->blobs_[1]->template cpu_data_as<T>() : nullptr;
    kernels::ReferenceInnerProduct(M_, N_, K_, transpose_, bottom.template cpu_data_as<T>(),
                                   this->blobs_[0]->template cpu_data_as<T>(), bias,
                                   top->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void InnerProductLayer<Dtype>::BackwardReference(const Blob<Dtype>& top, bool propagate_down,
                                                 Blob<Dtype>* bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const auto gradient = [&](int i) {
      const bool wanted = (i == 0 || bias_term_) && this->param_propagate_down_[i];
      return wanted ? this->blobs_[i]->template mutable_cpu_diff_as<AccumulatorType<D>>() : nullptr;
    };
    const D* dy = top.template cpu_diff_as<D>();
    kernels::ReferenceInnerProductBackwardWeights(
        M_, N_, K_, transpose_, bottom->template cpu_data_as<T>(), dy, gradient(0), gradient(1));
    if (!propagate_down) return;
    kernels::ReferenceInnerProductBackwardData(M_, N_, K_, transpose_, dy,
                                               this->blobs_[0]->template cpu_data_as<T>(),
                                               bottom->template overwrite_cpu_diff_as<D>());
  });
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  Run(bottom, top, /*fused=*/false);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Forward_fused(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  Run(bottom, top, /*fused=*/true);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Run(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top, bool fused) {
  if (engine_ == Engine::REFERENCE) return ForwardReference(*bottom[0], top[0]);
  by_onednn_ = ForwardOneDnn(bottom, top);
  if (by_onednn_ || ForwardPacked(*bottom[0], top[0], fused)) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* x = bottom[0]->template cpu_data_as<T>();
    const T* weights = this->blobs_[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    if (bias_term_) {
      const T* bias = this->blobs_[1]->template cpu_data_as<T>();
      for (int m = 0; m < M_; ++m) std::copy(bias, bias + N_, y + size_t(m) * N_);
    }
    const F beta = bias_term_ ? 1 : 0;
    if (M_ == 1) {
      kernels::Gemv(transpose_, transpose_ ? K_ : N_, transpose_ ? N_ : K_, F(1), weights, x, beta,
                    y);
    } else {
      kernels::Gemm(false, !transpose_, M_, N_, K_, F(1), x, weights, beta, y);
    }
  });
  if (fused) followers_->Run(top);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  if (engine_ == Engine::REFERENCE) {
    return BackwardReference(*top[0], propagate_down[0], bottom[0]);
  }
  const bool weights_wanted = this->param_propagate_down_[0];
  const bool bias_wanted = bias_term_ && this->param_propagate_down_[1];
  if (by_onednn_ && this->phase_ == TRAIN && (weights_wanted || !bias_wanted)) {
    onednn_->Backward(this->blobs_, weights_wanted, bias_wanted, top, propagate_down, bottom);
    return;
  }
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    if (this->param_propagate_down_[0]) {
      const T* x = bottom[0]->template cpu_data_as<T>();
      G* d_weights = this->blobs_[0]->template mutable_cpu_diff_as<G>();
      if (transpose_) {
        kernels::Gemm(true, false, K_, N_, M_, G(1), x, dy, G(1), d_weights);
      } else {
        kernels::Gemm(true, false, N_, K_, M_, G(1), dy, x, G(1), d_weights);
      }
    }
    if (bias_term_ && this->param_propagate_down_[1]) {
      G* d_bias = this->blobs_[1]->template mutable_cpu_diff_as<G>();
      for (int m = 0; m < M_; ++m) kernels::Axpy(N_, G(1), dy + size_t(m) * N_, d_bias);
    }
    if (propagate_down[0]) {
      kernels::Gemm(false, transpose_, M_, K_, N_, G(1), dy,
                    this->blobs_[0]->template cpu_data_as<T>(), G(0),
                    bottom[0]->template overwrite_cpu_diff_as<D>());
    }
  });
}

INSTANTIATE_CLASS(InnerProductLayer);
REGISTER_LAYER_CLASS(InnerProduct);

}  // namespace caffe
