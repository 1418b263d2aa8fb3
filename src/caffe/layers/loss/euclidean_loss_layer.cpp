#include "caffe/layers/euclidean_loss_layer.hpp"

#include "caffe/kernels/blas.hpp"

namespace caffe {
namespace {

const bool euclidean_loss_registered = OperationTable::Add(Operation("EuclideanLoss")
                                                               .Shapes(DifferenceLossShapes)
                                                               .BackwardReads(Operation::kNothing)
                                                               .Loss());

}  // namespace

template <typename Dtype>
double EuclideanLossLayer<Dtype>::Penalty(size_t n, const Dtype* d, const Dtype*) const {
  return kernels::Sumsq(n, d) / 2;
}

template <typename Dtype>
void EuclideanLossLayer<Dtype>::Slope(size_t n, const Dtype* d, Dtype* slope) const {
  std::copy(d, d + n, slope);
}

INSTANTIATE_CLASS(EuclideanLossLayer);
REGISTER_LAYER_CLASS(EuclideanLoss);

}  // namespace caffe
