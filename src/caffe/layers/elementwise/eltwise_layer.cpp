#include "caffe/layers/eltwise_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
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

/// Which of the bottoms x has the largest element k. Of equals the first wins, but the second one
/// over the first: as in Caffe, whose nets were trained so.
template <typename T>
size_t LargestOf(const std::vector<const T*>& x, size_t k) {
  size_t best = x[0][k] > x[1][k] ? 0 : 1;
  for (size_t i = 2; i < x.size(); ++i) {
    if (x[i][k] > x[best][k]) best = i;
  }
  return best;
}

template <typename T, typename Dtype>
std::vector<const T*> DataOf(const vector<Blob<Dtype>*>& blobs) {
  std::vector<const T*> data;
  for (const Blob<Dtype>* blob : blobs) data.push_back(blob->template cpu_data_as<T>());
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
  const Layout layout = LayoutFor<float>(bottom[0]->data_tensor(), bottom[0]->shape());
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Elementwise>>();
  onednn::Elementwise* primitive = onednn_->Get(bottom[0]->shape(), layout, [&] {
    const std::vector<float> coefficients(coeffs_.begin(), coeffs_.end());
    return onednn::Elementwise::Make(NameOf(op_), coefficients, top->count(), layout);
  });
  if (!primitive) return false;
  std::vector<const float*> x;
  for (const Blob<Dtype>* blob : bottom) x.push_back(ReadAs<float>(blob->data_tensor(), layout));
  primitive->Forward(x, OverwriteAs<float>(top->data_tensor(), layout));
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
    const Layout layout = LayoutFor<T>(bottom[0]->data_tensor(), bottom[0]->shape());
    const size_t count = layout.extent(top[0]->count());
    // Products of more than two 16-bit bottoms are kept in float until the end.
    Workspace::Buffer<F> product(Context::Current().workspace(), bottom.size() > 2 ? count : 0);
    std::vector<const T*> x;
    for (const Blob<Dtype>* blob : bottom) x.push_back(ReadAs<T>(blob->data_tensor(), layout));
    T* y = OverwriteAs<T>(top[0]->data_tensor(), layout);
    switch (op_) {
      case EltwiseParameter_EltwiseOp_PROD:
        if (bottom.size() == 2) {
          kernels::Multiply(count, x[0], x[1], y);
          return;
        }
        kernels::Multiply(count, x[0], x[1], product.get());
        for (size_t i = 2; i + 1 < bottom.size(); ++i) {
          kernels::Multiply(count, product.get(), x[i], product.get());
        }
        kernels::Multiply(count, product.get(), x[bottom.size() - 1], y);
        return;
      case EltwiseParameter_EltwiseOp_SUM:
        if (bottom.size() == 2 && coeffs_[0] == 1 && coeffs_[1] == 1) {
          kernels::Add(count, x[0], x[1], y);
          return;
        }
        {
          Workspace::Buffer<F> total(Context::Current().workspace(), count);
          kernels::Affine(count, F(coeffs_[0]), F(0), x[0], total.get());
          for (size_t i = 1; i < bottom.size(); ++i) {
            kernels::Axpy(count, F(coeffs_[i]), x[i], total.get());
          }
          kernels::Affine(count, F(1), F(0), total.get(), y);
        }
        return;
      case EltwiseParameter_EltwiseOp_MAX:
        for (size_t k = 0; k < count; ++k) y[k] = x[LargestOf(x, k)][k];
        return;
    }
  });
}

// dx_i = dy times the product of the other bottoms; recomputed, so that a zero in x_i is no
// trouble (stable_prod_grad: false, division by x_i, gives the same where it is defined).
template <typename Dtype>
template <typename T, typename D>
void EltwiseLayer<Dtype>::BackwardProduct(const Blob<Dtype>& top,
                                          const vector<Blob<Dtype>*>& bottom, size_t i) {
  using F = AccumulatorType<D>;
  const size_t count = top.count();
  Workspace::Buffer<F> product(Context::Current().workspace(), count);
  kernels::Affine(count, F(1), F(0), top.template cpu_diff_as<D>(), product.get());
  for (size_t j = 0; j < bottom.size(); ++j) {
    if (j != i) {
      kernels::Multiply(count, product.get(), bottom[j]->template cpu_data_as<T>(), product.get());
    }
  }
  kernels::Affine(count, F(1), F(0), product.get(), bottom[i]->template overwrite_cpu_diff_as<D>());
}

template <typename Dtype>
void EltwiseLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  const size_t count = top[0]->count();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    if (op_ == EltwiseParameter_EltwiseOp_SUM) {
      const Layout layout = LayoutFor<D>(top[0]->diff_tensor(), top[0]->shape());
      for (size_t i = 0; i < bottom.size(); ++i) {
        if (!propagate_down[i]) continue;
        kernels::Affine(layout.extent(count), AccumulatorType<D>(coeffs_[i]), AccumulatorType<D>(0),
                        ReadAs<D>(top[0]->diff_tensor(), layout),
                        OverwriteAs<D>(bottom[i]->diff_tensor(), layout));
      }
      return;
    }
    const D* dy = top[0]->template cpu_diff_as<D>();
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      if (op_ == EltwiseParameter_EltwiseOp_PROD) {
        this->template BackwardProduct<T, D>(*top[0], bottom, i);
        continue;
      }
      D* dx = bottom[i]->template overwrite_cpu_diff_as<D>();
      const std::vector<const T*> x = DataOf<T>(bottom);
      for (size_t k = 0; k < count; ++k) dx[k] = LargestOf(x, k) == i ? dy[k] : D(0.f);
    }
  });
}

INSTANTIATE_CLASS(EltwiseLayer);
REGISTER_LAYER_CLASS(Eltwise);

}  // namespace caffe
