#include "caffe/layers/l1_loss_layer.hpp"

#include "caffe/kernels/blas.hpp"

namespace caffe {
namespace {

const bool l1_loss_registered = OperationTable::Add(
    Operation("L1Loss").Shapes(DifferenceLossShapes).BackwardReads(Operation::kNothing).Loss());

}  // namespace

template <typename Dtype>
double L1LossLayer<Dtype>::Penalty(size_t n, const Dtype* d, const Dtype*) const {
  return kernels::Asum(n, d);
}

template <typename Dtype>
void L1LossLayer<Dtype>::Slope(size_t n, const Dtype* d, Dtype* slope) const {
  for (size_t i = 0; i < n; ++i) slope[i] = caffe_sign(d[i]);
}

INSTANTIATE_CLASS(L1LossLayer);
REGISTER_LAYER_CLASS(L1Loss);

}  // namespace caffe
