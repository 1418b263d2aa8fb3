#include "caffe/layers/eltwise_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/eltwise.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfEltwise(const LayerParameter&, const std::vector<Shape>& bottoms) {
  for (size_t i = 1; i < bottoms.size(); ++i) {
    Require(bottoms[i] == bottoms[0], "Eltwise needs bottoms of one shape: bottom 0 is ",
            ShapeString(bottoms[0]), ", bottom ", i, " is ", ShapeString(bottoms[i]));
  }
  return {bottoms.at(0)};
}

const bool eltwise_registered = OperationTable::Add(Operation("Eltwise")
                                                        .Shapes(TopShapesOfEltwise)
                                                        .BackwardReads(Operation::kBottomData)
                                                        .Native()
                                                        .Quantizable());

template <typename T, typename Dtype>
std::vector<const T*> DataOf(const vector<Blob<Dtype>*>& blobs, const Layout& layout) {
  std::vector<const T*> data;
  for (const Blob<Dtype>* blob : blobs) data.push_back(ReadAs<T>(blob->data_tensor(), layout));
  return data;
}

}  // namespace

template <typename Dtype>
void EltwiseLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>&) {
  const EltwiseParameter& param = this->layer_param_.eltwise_param();
  op_ = param.operation();
  const int given = param.coeff_size();
  Require(given == 0 || given == static_cast<int>(bottom.size()), Error::Field{"eltwise_param"},
          ": coeff is given ", given, " times for ", bottom.size(), " bottoms",
          Error::Remedy{"give it once per bottom, or not at all"});
  Require(given == 0 || op_ == EltwiseParameter_EltwiseOp_SUM, Error::Field{"eltwise_param"},
          ": coeff is for operation SUM only");
  coeffs_.assign(bottom.size(), Dtype(1));
  for (int i = 0; i < given; ++i) coeffs_[i] = param.coeff(i);
}

template <typename Dtype>
void EltwiseLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfEltwise(this->layer_param_, ShapesOf(bottom))[0]);
}

namespace {

onednn::Elementwise::Operation NameOf(EltwiseParameter_EltwiseOp operation) {
  return operation == EltwiseParameter_EltwiseOp_PROD  ? onednn::Elementwise::PRODUCT
         : operation == EltwiseParameter_EltwiseOp_SUM ? onednn::Elementwise::SUM
                                                       : onednn::Elementwise::MAXIMUM;
}

/// Measured by benchmarks/engines.
bool OneDnnIsFaster(EltwiseParameter_EltwiseOp operation) {
  return operation == EltwiseParameter_EltwiseOp_MAX;
}

}  // namespace

template <typename Dtype>
bool EltwiseLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), OneDnnIsFaster(op_))) return false;
  const Layout layout = CommonLayoutFor<float>(bottom);
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Elementwise>>();
  onednn::Elementwise* primitive = onednn_->Get(bottom[0]->shape(), layout, [&] {
    const std::vector<float> coefficients(coeffs_.begin(), coeffs_.end());
    return onednn::Elementwise::Make(NameOf(op_), coefficients, top->count(), layout);
  });
  if (!primitive) return false;
  primitive->Forward(DataOf<float>(bottom, layout), OverwriteAs<float>(top->data_tensor(), layout));
  return true;
}

template <typename Dtype>
void EltwiseLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  by_onednn_ = ForwardOneDnn(bottom, top[0]);
  if (by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    // Each operation gives 0 for zeros, so the padding of a blocked layout may take part.
    const Layout layout = CommonLayoutFor<T>(bottom);
    const size_t count = layout.extent(top[0]->count());
    const std::vector<const T*> x = DataOf<T>(bottom, layout);
    T* y = OverwriteAs<T>(top[0]->data_tensor(), layout);
    switch (op_) {
      case EltwiseParameter_EltwiseOp_PROD:
        return kernels::MultiplyArrays(count, x, y);
      case EltwiseParameter_EltwiseOp_SUM:
        if (bottom.size() == 2 && coeffs_[0] == 1 && coeffs_[1] == 1) {
          return kernels::AddArrays(count, x, y);
        }
        return kernels::AddWeightedArrays(count, x, std::vector<F>(coeffs_.begin(), coeffs_.end()),
                                          y);
      case EltwiseParameter_EltwiseOp_MAX:
        return kernels::MaximumOfArrays(count, x, y);
    }
  });
}

// The gradient of a product is computed again from the other bottoms, so that a zero in x_i is no
// trouble (stable_prod_grad: false, division by x_i, gives the same where it is defined). Maxima
// and products are in the order of the values, sums in that of the gradient.
template <typename Dtype>
void EltwiseLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using F = AccumulatorType<D>;
    const bool sum = op_ == EltwiseParameter_EltwiseOp_SUM;
    const Layout layout =
        sum ? GradientLayout<T, D>(*top[0], top[0]->diff_tensor()) : StoredLayout<T>(*top[0]);
    const size_t count = layout.extent(top[0]->count());
    std::vector<const T*> x;
    if (!sum) x = DataOf<T>(bottom, layout);
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      D* dx = OverwriteAs<D>(bottom[i]->diff_tensor(), layout);
      if (sum) {
        kernels::Affine(count, F(coeffs_[i]), F(0), dy, dx);
      } else if (op_ == EltwiseParameter_EltwiseOp_PROD) {
        kernels::MultiplyGradient(count, x, i, dy, dx);
      } else {
        kernels::MaximumGradient(count, x, i, dy, dx);
      }
    }
  });
}

INSTANTIATE_CLASS(EltwiseLayer);
REGISTER_LAYER_CLASS(Eltwise);

}  // namespace caffe
