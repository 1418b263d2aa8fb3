#include "caffe/layers/reduction_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfReduction(const LayerParameter& layer,
                                        const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const int axis = CheckedAxis("reduction_param: axis", layer.reduction_param().axis(), bottom);
  return {Shape(bottom.begin(), bottom.begin() + axis)};
}

const bool reduction_registered = OperationTable::Add(Operation("Reduction")
                                                          .Shapes(TopShapesOfReduction)
                                                          .BackwardReads(Operation::kBottomData)
                                                          .Native()
                                                          .FloatTops({0}));

/// Calls f(row) for all rows of `length` elements, on several threads if there is enough to do.
template <typename Function>
void ForEachRow(size_t rows, size_t length, Function&& f) {
  const size_t grain = std::max<size_t>(1, (1 << 14) / std::max<size_t>(length, 1));
  kernels::ParallelFor(rows, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) f(row);
  });
}

}  // namespace

template <typename Dtype>
void ReductionLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const ReductionParameter& param = this->layer_param_.reduction_param();
  top[0]->Reshape(TopShapesOfReduction(this->layer_param_, {bottom[0]->shape()})[0]);
  num_ = top[0]->count();
  dim_ = bottom[0]->count(top[0]->num_axes());
  coeff_ = param.coeff();
  if (param.operation() == ReductionParameter_ReductionOp_MEAN) coeff_ /= dim_;
}

template <typename Dtype>
void ReductionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const auto operation = this->layer_param_.reduction_param().operation();
  Dtype* y = top[0]->template overwrite_cpu_data_as<Dtype>();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    ForEachRow(num_, dim_, [&](size_t row) {
      const T* first = x + row * dim_;
      const double sum =
          operation == ReductionParameter_ReductionOp_ASUM    ? kernels::Asum(dim_, first)
          : operation == ReductionParameter_ReductionOp_SUMSQ ? kernels::Sumsq(dim_, first)
                                                              : kernels::Sum(dim_, first);
      y[row] = static_cast<Dtype>(coeff_ * sum);
    });
  });
}

template <typename Dtype>
void ReductionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const auto operation = this->layer_param_.reduction_param().operation();
  const Dtype* dy = top[0]->cpu_diff();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const bool sum = operation == ReductionParameter_ReductionOp_SUM ||
                     operation == ReductionParameter_ReductionOp_MEAN;
    const T* x = sum ? nullptr : bottom[0]->template cpu_data_as<T>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    ForEachRow(num_, dim_, [&](size_t row) {
      const G slope = static_cast<G>(coeff_ * dy[row]);
      const size_t first = row * dim_;
      if (sum) {
        kernels::Set(dim_, slope, dx + first);
      } else if (operation == ReductionParameter_ReductionOp_SUMSQ) {
        kernels::Affine(dim_, 2 * slope, G(0), x + first, dx + first);
      } else {
        const D up(slope), down(-slope), flat(G(0));
        for (size_t i = first; i < first + dim_; ++i) {
          const G value = static_cast<G>(x[i]);
          dx[i] = value > 0 ? up : value < 0 ? down : flat;
        }
      }
    });
  });
}

INSTANTIATE_CLASS(ReductionLayer);
REGISTER_LAYER_CLASS(Reduction);

}  // namespace caffe
