#include "caffe/layers/labelled_loss_layer.hpp"

namespace caffe {

template <typename Dtype>
void LabelledLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  // The probabilities are a second top that is not a loss.
  if (top.size() > 1 && this->layer_param_.loss_weight_size() == 1) {
    this->layer_param_.add_loss_weight(Dtype(0));
  }
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  normalization_ = NormalizationOf(param);
}

template <typename Dtype>
void LabelledLossLayer<Dtype>::ReshapeAlong(int axis, const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  outer_num_ = bottom[0]->count(0, axis);
  inner_num_ = bottom[0]->count(axis + 1);
  if (top.size() > 1) top[1]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
Dtype LabelledLossLayer<Dtype>::get_normalizer(LossParameter_NormalizationMode mode,
                                               int valid_count) {
  return this->GetNormalizer(mode, outer_num_, inner_num_, valid_count);
}

template <typename Dtype>
int LabelledLossLayer<Dtype>::CountLabels(const Dtype* labels, int classes) const {
  int valid = 0;
  for (int i = 0; i < outer_num_ * inner_num_; ++i) valid += LabelAt(labels, i, classes) >= 0;
  return valid;
}

std::vector<Shape> LossAndProbabilities(const LayerParameter& layer, const Shape& scores) {
  std::vector<Shape> tops = {Shape()};
  if (layer.top_size() > 1) tops.push_back(scores);
  return tops;
}

INSTANTIATE_CLASS(LabelledLossLayer);

}  // namespace caffe
