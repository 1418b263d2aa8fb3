#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"

#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {
namespace {

const bool sigmoid_cross_entropy_loss_registered =
    OperationTable::Add(Operation("SigmoidCrossEntropyLoss")
                            .Shapes(DifferenceLossShapes)
                            .BackwardReads(Operation::kBottomData)
                            .FloatBottoms({1})
                            .Loss());

}  // namespace

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                     const vector<Blob<Dtype>*>& top) {
  LabelledLossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  if (param.has_normalization() || param.has_normalize()) return;
  this->normalization_ = LossParameter_NormalizationMode_BATCH_SIZE;
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(
      DifferenceLossShapes(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()})[0]);
  this->outer_num_ = bottom[0]->shape(0);
  this->inner_num_ = bottom[0]->count(1);
}

// -t log p - (1 - t) log(1 - p) = max(x, 0) - x t + log(1 + e^-|x|).
template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top) {
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* target = bottom[1]->cpu_data();
  double loss = 0;
  int valid = 0;
  for (int i = 0; i < bottom[0]->count(); ++i) {
    if (!Counts(target[i])) continue;
    ++valid;
    loss += std::max(x[i], Dtype(0)) - x[i] * target[i] + std::log1p(std::exp(-std::fabs(x[i])));
  }
  normalizer_ = this->get_normalizer(this->normalization_, valid);
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(loss / normalizer_);
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                       const vector<bool>& propagate_down,
                                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("targets", 1, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* target = bottom[1]->cpu_data();
  const Dtype weight = top[0]->cpu_diff()[0] / normalizer_;
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  for (int i = 0; i < bottom[0]->count(); ++i) {
    const Dtype p = 1 / (1 + std::exp(-x[i]));
    dx[i] = Counts(target[i]) ? weight * (p - target[i]) : Dtype(0);
  }
}

INSTANTIATE_CLASS(SigmoidCrossEntropyLossLayer);
REGISTER_LAYER_CLASS(SigmoidCrossEntropyLoss);

}  // namespace caffe
