#include "caffe/layers/relu_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/core/pointwise.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter& layer) {
  return {kernels::Activation::RELU, layer.relu_param().negative_slope()};
}

const bool registered = OperationTable::Add(Operation("ReLU")
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Homogeneous()
                                                .Quantizable());

}  // namespace

namespace {

/// Measured by benchmarks/engines: ours are.
constexpr bool kOneDnnIsFaster = false;

}  // namespace

template <typename Dtype>
onednn::Activation* ReLULayer<Dtype>::OneDnn(const Blob<Dtype>& bottom) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), kOneDnnIsFaster)) return nullptr;
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Activation>>();
  return onednn_->Get(bottom.shape(), layout, [&] {
    return onednn::Activation::MakeRelu(this->layer_param_.relu_param().negative_slope(),
                                        bottom.count(), layout, this->phase_ == TRAIN);
  });
}

template <typename Dtype>
void ReLULayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  active_ = OneDnn(*bottom[0]);
  if (active_) {
    const float* x = ReadAs<float>(bottom[0]->data_tensor(), onednn_->layout());
    active_->Forward(x, OverwriteAs<float>(top[0]->data_tensor(), onednn_->layout()));
    return;
  }
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    MapAsStored<T>(*bottom[0], top[0],
                   [&](size_t n, const T* x, T* y) { kernels::Relu<T>(n, slope, x, y); });
  });
}

// In place, x is y here: the sign of y is that of x as long as the slope is not negative.
template <typename Dtype>
void ReLULayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (active_ && this->phase_ == TRAIN) {
    const Layout& layout = onednn_->layout();
    const float* dy = ReadAs<float>(top[0]->diff_tensor(), layout);
    active_->Backward(ReadAs<float>(bottom[0]->data_tensor(), layout), dy,
                      OverwriteAs<float>(bottom[0]->diff_tensor(), layout));
    return;
  }
  const float slope = this->layer_param_.relu_param().negative_slope();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = LayoutFor<D>(top[0]->diff_tensor(), top[0]->shape());
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout);
    kernels::ReluGradient<T, D>(layout.extent(bottom[0]->count()), slope, x, dy,
                                OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
  });
}

template <typename Dtype>
bool ReLULayer<Dtype>::DescribePointwise(Pointwise* description) {
  description->activation = FunctionOf(this->layer_param_);
  return true;
}

INSTANTIATE_CLASS(ReLULayer);
REGISTER_LAYER_CLASS(ReLU);

}  // namespace caffe
