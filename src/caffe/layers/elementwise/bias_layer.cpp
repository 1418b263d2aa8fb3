#include "caffe/layers/bias_layer.hpp"

#include "caffe/kernels/convert.hpp"
#include "caffe/layers/channel_order.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfBias(const LayerParameter&, const std::vector<Shape>& bottoms) {
  return {bottoms.at(0)};
}

const bool bias_registered = OperationTable::Add(Operation("Bias")
                                                     .Affine()
                                                     .Shapes(TopShapesOfBias)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kNothing)
                                                     .Native()
                                                     .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void BiasLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>&) {
  if (bottom.size() > 1) return;
  const BiasParameter& param = this->layer_param_.bias_param();
  MakeOrCheckParameters<Dtype>(
      {{Broadcast::ParameterShape("bias", bottom[0]->shape(), param.axis(), param.num_axes()),
        param.filler()}},
      &this->blobs_);
  this->param_propagate_down_.resize(1, true);
}

template <typename Dtype>
void BiasLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const Broadcast bias("bias", bottom[0]->shape(), Bias(bottom).shape(),
                       this->layer_param_.bias_param().axis());
  outer_dim_ = bias.outer_dim;
  bias_dim_ = bias.dim;
  inner_dim_ = bias.inner_dim;
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void BiasLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const vector<F> ones(bias_dim_, F(1));
    const Layout layout = OrderedLayout<T>(*bottom[0], outer_dim_, bias_dim_);
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
    kernels::ChannelAffine(OrderIn(layout, outer_dim_, bias_dim_, inner_dim_), ones.data(),
                           Bias(bottom).template cpu_data_as<F>(), x,
                           OverwriteAs<T>(top[0]->data_tensor(), layout));
  });
}

template <typename Dtype>
void BiasLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  const bool own = bottom.size() == 1;
  const bool bias_wanted = own ? bool(this->param_propagate_down_[0]) : propagate_down[1];
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const Layout layout = OrderedLayout<T>(*top[0], outer_dim_, bias_dim_);
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    if (bias_wanted) {
      vector<double> sums(bias_dim_);
      kernels::ChannelSums<D, D>(OrderIn(layout, outer_dim_, bias_dim_, inner_dim_), dy, nullptr,
                                 sums.data(), nullptr);
      if (own) {
        G* d_bias = this->blobs_[0]->template mutable_cpu_diff_as<G>();
        for (int i = 0; i < bias_dim_; ++i) d_bias[i] += static_cast<G>(sums[i]);
      } else {
        std::copy(sums.begin(), sums.end(), bottom[1]->template overwrite_cpu_diff_as<D>());
      }
    }
    if (propagate_down[0] && bottom[0] != top[0]) {
      kernels::Convert(layout.extent(top[0]->count()), dy,
                       OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
    }
  });
}

INSTANTIATE_CLASS(BiasLayer);
REGISTER_LAYER_CLASS(Bias);

}  // namespace caffe
