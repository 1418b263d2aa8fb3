#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"

#include "caffe/kernels/losses.hpp"
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

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top) {
  const Dtype ignored = Dtype(this->ignore_label_);
  const kernels::LossSum sum =
      kernels::SigmoidCrossEntropy(bottom[0]->count(), bottom[0]->cpu_data(), bottom[1]->cpu_data(),
                                   this->has_ignore_label_ ? &ignored : nullptr);
  normalizer_ = this->get_normalizer(this->normalization_, static_cast<int>(sum.counted));
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(sum.loss / normalizer_);
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                       const vector<bool>& propagate_down,
                                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("targets", 1, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype ignored = Dtype(this->ignore_label_);
  kernels::SigmoidCrossEntropyGradient(
      bottom[0]->count(), Dtype(top[0]->cpu_diff()[0] / normalizer_), bottom[0]->cpu_data(),
      bottom[1]->cpu_data(), this->has_ignore_label_ ? &ignored : nullptr,
      bottom[0]->mutable_cpu_diff());
}

INSTANTIATE_CLASS(SigmoidCrossEntropyLossLayer);
REGISTER_LAYER_CLASS(SigmoidCrossEntropyLoss);

}  // namespace caffe
