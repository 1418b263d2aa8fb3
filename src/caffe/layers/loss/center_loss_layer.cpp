#include "caffe/layers/center_loss_layer.hpp"

#include <unordered_map>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

int FeatureAxis(const CenterLossParameter& param, const Shape& features) {
  const int axes = static_cast<int>(features.size());
  Require(param.axis() >= -axes && param.axis() < axes, Error::Field{"center_loss_param"},
          ": axis ", param.axis(), " is out of range for features of shape ",
          ShapeString(features));
  return param.axis() < 0 ? param.axis() + axes : param.axis();
}

std::vector<Shape> TopShapesOfCenterLoss(const LayerParameter& layer,
                                         const std::vector<Shape>& bottoms) {
  const Shape& features = bottoms.at(0);
  const int axis = FeatureAxis(layer.center_loss_param(), features);
  int64_t items = 1, labels = 1;
  for (int i = 0; i < axis; ++i) items *= features[i];
  for (int extent : bottoms.at(1)) labels *= extent;
  Require(items == labels, "there must be one label for each of the ", items, " features of shape ",
          ShapeString(features), "; the labels have shape ", ShapeString(bottoms[1]));
  return {Shape()};
}

const bool center_loss_registered = OperationTable::Add(Operation("CenterLoss")
                                                            .Shapes(TopShapesOfCenterLoss)
                                                            .BackwardReads(Operation::kBottomData)
                                                            .FloatBottoms({1})
                                                            .Loss());

}  // namespace

template <typename Dtype>
void CenterLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const CenterLossParameter& param = this->layer_param_.center_loss_param();
  N_ = param.num_output();
  Require(N_ > 0, Error::Field{"center_loss_param"},
          ": num_output, the number of classes, must be positive, got ", param.num_output());
  K_ = bottom[0]->count(FeatureAxis(param, bottom[0]->shape()));
  MakeOrCheckParameters<Dtype>({{{N_, K_}, param.center_filler()}}, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void CenterLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(
      TopShapesOfCenterLoss(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()})[0]);
  const int axis = FeatureAxis(this->layer_param_.center_loss_param(), bottom[0]->shape());
  Require(bottom[0]->count(axis) == K_, "features of shape ", ShapeString(bottom[0]->shape()),
          " have ", bottom[0]->count(axis), " values where the centers have ", K_);
  M_ = bottom[0]->count(0, axis);
  distance_.Reshape({M_, K_});
}

template <typename Dtype>
void CenterLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  const Dtype* centers = this->blobs_[0]->template cpu_data_as<Dtype>();
  Dtype* distance = distance_.mutable_cpu_data();
  for (int i = 0; i < M_; ++i) {
    const size_t label = ReadLabel(labels[i], i, N_, nullptr), at = size_t(i) * K_;
    kernels::Subtract(K_, x + at, centers + label * K_, distance + at);
  }
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(kernels::Sumsq(distance_.count(), distance) / 2 / M_);
}

template <typename Dtype>
void CenterLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  const Dtype* distance = distance_.cpu_data();
  if (this->param_propagate_down_[0]) {
    const Dtype* labels = bottom[1]->cpu_data();
    std::unordered_map<int, int> counts;  // of the labels that there are
    for (int i = 0; i < M_; ++i) ++counts[ReadLabel(labels[i], i, N_, nullptr)];
    Dtype* d_centers = this->blobs_[0]->mutable_cpu_diff();
    for (int i = 0; i < M_; ++i) {
      const int label = static_cast<int>(labels[i]);
      kernels::Axpy(K_, Dtype(-1) / (1 + counts[label]), distance + size_t(i) * K_,
                    d_centers + size_t(label) * K_);
    }
  }
  if (!propagate_down[0]) return;
  kernels::Affine(distance_.count(), top[0]->cpu_diff()[0] / M_, Dtype(0), distance,
                  bottom[0]->mutable_cpu_diff());
}

INSTANTIATE_CLASS(CenterLossLayer);
REGISTER_LAYER_CLASS(CenterLoss);

}  // namespace caffe
