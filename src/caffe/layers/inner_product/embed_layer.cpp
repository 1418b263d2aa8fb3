#include "caffe/layers/embed_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfEmbed(const LayerParameter& layer,
                                    const std::vector<Shape>& bottoms) {
  const EmbedParameter& param = layer.embed_param();
  Require(param.num_output() > 0 && param.num_output() <= INT_MAX,
          "embed_param: num_output must be positive, got ", param.num_output());
  Require(param.input_dim() > 0 && param.input_dim() <= INT_MAX,
          "embed_param: input_dim, the number of different indices, must be positive, got ",
          param.input_dim());
  Shape top = bottoms.at(0);
  top.push_back(static_cast<int>(param.num_output()));
  return {top};
}

const bool embed_registered = OperationTable::Add(Operation("Embed")
                                                      .Shapes(TopShapesOfEmbed)
                                                      .BackwardReads(Operation::kBottomData)
                                                      .Native()
                                                      .FloatBottoms({0}));

}  // namespace

template <typename Dtype>
void EmbedLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>&) {
  const EmbedParameter& param = this->layer_param_.embed_param();
  TopShapesOfEmbed(this->layer_param_, {bottom[0]->shape()});
  N_ = param.num_output();
  K_ = param.input_dim();
  bias_term_ = param.bias_term();
  std::vector<ParameterBlob> parameters = {{{K_, N_}, param.weight_filler()}};
  if (bias_term_) parameters.push_back({{N_}, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void EmbedLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  M_ = bottom[0]->count();
  top[0]->Reshape(TopShapesOfEmbed(this->layer_param_, {bottom[0]->shape()})[0]);
}

template <typename Dtype>
size_t EmbedLayer<Dtype>::Index(const Dtype* indices, int i) const {
  const Dtype index = indices[i];
  Require(index >= 0 && index < K_ && index == std::floor(index), "Embed: index ", index,
          " at place ", i, " is not a whole number in [0, input_dim = ", K_, ")");
  return static_cast<size_t>(index);
}

template <typename Dtype>
void EmbedLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const Dtype* indices = bottom[0]->cpu_data();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* weights = this->blobs_[0]->template cpu_data_as<T>();
    const T* bias = bias_term_ ? this->blobs_[1]->template cpu_data_as<T>() : nullptr;
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    for (int i = 0; i < M_; ++i, y += N_) {
      const T* row = weights + Index(indices, i) * N_;
      if (bias) {
        kernels::Add(N_, row, bias, y);
      } else {
        std::copy_n(row, N_, y);
      }
    }
  });
}

template <typename Dtype>
void EmbedLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[0], "Embed has no gradient for its indices");
  const bool weights_wanted = this->param_propagate_down_[0];
  const bool bias_wanted = bias_term_ && this->param_propagate_down_[1];
  const Dtype* indices = bottom[0]->cpu_data();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    if (weights_wanted) {
      G* d_weights = this->blobs_[0]->template mutable_cpu_diff_as<G>();
      for (int i = 0; i < M_; ++i) {
        kernels::Axpy(N_, G(1), dy + size_t(i) * N_, d_weights + Index(indices, i) * N_);
      }
    }
    if (bias_wanted) {
      G* d_bias = this->blobs_[1]->template mutable_cpu_diff_as<G>();
      for (int i = 0; i < M_; ++i) kernels::Axpy(N_, G(1), dy + size_t(i) * N_, d_bias);
    }
  });
}

INSTANTIATE_CLASS(EmbedLayer);
REGISTER_LAYER_CLASS(Embed);

}  // namespace caffe
