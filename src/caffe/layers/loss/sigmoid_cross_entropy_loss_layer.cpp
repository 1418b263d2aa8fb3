#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"

#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {
namespace {

const bool registered = OperationTable::Add(Operation("SigmoidCrossEntropyLoss")
                                                .Shapes(DifferenceLossShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .FloatBottoms({1})
                                                .Loss());

}  // namespace

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                     const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  const bool stated = param.has_normalization() || param.has_normalize();
  normalization_ = stated ? NormalizationOf(param) : LossParameter_NormalizationMode_BATCH_SIZE;
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(
      DifferenceLossShapes(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()})[0]);
  outer_num_ = bottom[0]->shape(0);
  inner_num_ = bottom[0]->count(1);
}

template <typename Dtype>
Dtype SigmoidCrossEntropyLossLayer<Dtype>::get_normalizer(LossParameter_NormalizationMode mode,
                                                          int valid_count) {
  return this->GetNormalizer(mode, outer_num_, inner_num_, valid_count);
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
  normalizer_ = get_normalizer(normalization_, valid);
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
