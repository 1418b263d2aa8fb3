#include "caffe/layers/multinomial_logistic_loss_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfMultinomialLogisticLoss(const LayerParameter&,
                                                      const std::vector<Shape>& bottoms) {
  ScoresPerItem(bottoms.at(0), bottoms.at(1));
  return {Shape()};
}

const bool multinomial_logistic_loss_registered =
    OperationTable::Add(Operation("MultinomialLogisticLoss")
                            .Shapes(TopShapesOfMultinomialLogisticLoss)
                            .BackwardReads(Operation::kBottomData)
                            .FloatBottoms({1})
                            .Loss());

/// Calls f(index) with that of each item's label's score.
template <typename Dtype, typename Function>
void ForEachLabel(const Blob<Dtype>& scores, const Blob<Dtype>& labels, Function&& f) {
  const int classes = scores.count(1);
  for (int item = 0; item < scores.shape(0); ++item) {
    f(item * classes + ReadLabel(labels.cpu_data()[item], item, classes, nullptr));
  }
}

}  // namespace

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfMultinomialLogisticLoss(this->layer_param_,
                                                     {bottom[0]->shape(), bottom[1]->shape()})[0]);
}

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top) {
  const Dtype* p = bottom[0]->cpu_data();
  double loss = 0;
  ForEachLabel(*bottom[0], *bottom[1],
               [&](int i) { loss -= std::log(std::max(p[i], Dtype(kLOG_THRESHOLD))); });
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(loss / bottom[0]->shape(0));
}

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                       const vector<bool>& propagate_down,
                                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype weight = top[0]->cpu_diff()[0] / bottom[0]->shape(0);
  const Dtype* p = bottom[0]->cpu_data();
  Dtype* dp = bottom[0]->mutable_cpu_diff();
  std::fill_n(dp, bottom[0]->count(), Dtype(0));
  ForEachLabel(*bottom[0], *bottom[1],
               [&](int i) { dp[i] = -weight / std::max(p[i], Dtype(kLOG_THRESHOLD)); });
}

INSTANTIATE_CLASS(MultinomialLogisticLossLayer);
REGISTER_LAYER_CLASS(MultinomialLogisticLoss);

}  // namespace caffe
