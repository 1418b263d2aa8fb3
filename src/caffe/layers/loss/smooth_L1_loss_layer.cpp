#include "caffe/layers/smooth_L1_loss_layer.hpp"

#include "caffe/kernels/losses.hpp"

namespace caffe {
namespace {

const bool smooth_L1_loss_registered =
    OperationTable::Add(Operation("SmoothL1Loss")
                            .Shapes(DifferenceLossShapes)
                            .BackwardReads(Operation::kBottomData)
                            .Loss());

}  // namespace

template <typename Dtype>
void SmoothL1LossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  DifferenceLossLayer<Dtype>::LayerSetUp(bottom, top);
  const float sigma = this->layer_param_.smooth_l1_loss_param().sigma();
  Require(sigma > 0, Error::Field{"smooth_l1_loss_param"}, ": sigma must be positive, got ", sigma);
  sigma2_ = Dtype(sigma) * Dtype(sigma);
}

template <typename Dtype>
double SmoothL1LossLayer<Dtype>::Penalty(size_t n, const Dtype* d, const Dtype* weights) const {
  return kernels::SmoothL1(n, sigma2_, d, weights);
}

template <typename Dtype>
void SmoothL1LossLayer<Dtype>::Slope(size_t n, const Dtype* d, Dtype* slope) const {
  kernels::SmoothL1Gradient(n, sigma2_, d, slope);
}

INSTANTIATE_CLASS(SmoothL1LossLayer);
REGISTER_LAYER_CLASS(SmoothL1Loss);

}  // namespace caffe
