#include "caffe/layers/loss_layer.hpp"

namespace caffe {

template <typename Dtype>
void LossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  if (this->layer_param_.loss_weight_size() == 0) this->layer_param_.add_loss_weight(Dtype(1));
}

template <typename Dtype>
void LossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  Require(bottom[0]->shape(0) == bottom[1]->shape(0),
          "predictions and labels differ in number: ", ShapeString(bottom[0]->shape()), " and ",
          ShapeString(bottom[1]->shape()));
  top[0]->Reshape(vector<int>());
}

template <typename Dtype>
Dtype LossLayer<Dtype>::GetNormalizer(LossParameter_NormalizationMode mode, int outer_num,
                                      int inner_num, int valid_count) const {
  Dtype normalizer = 1;
  switch (mode) {
    case LossParameter_NormalizationMode_FULL:
      normalizer = Dtype(outer_num) * inner_num;
      break;
    case LossParameter_NormalizationMode_VALID:
      normalizer = valid_count == -1 ? Dtype(outer_num) * inner_num : Dtype(valid_count);
      break;
    case LossParameter_NormalizationMode_BATCH_SIZE:
      normalizer = outer_num;
      break;
    case LossParameter_NormalizationMode_NONE:
      break;
    case LossParameter_NormalizationMode_PRE_FIXED:
      normalizer = this->layer_param_.loss_param().pre_fixed_normalizer();
      break;
  }
  return std::max(Dtype(1), normalizer);
}

LossParameter_NormalizationMode NormalizationOf(const LossParameter& param) {
  if (!param.has_normalization() && param.has_normalize()) {
    return param.normalize() ? LossParameter_NormalizationMode_VALID
                             : LossParameter_NormalizationMode_BATCH_SIZE;
  }
  return param.normalization();
}

int ClassAxis(const Shape& scores, const Shape& labels, int axis) {
  const int axes = static_cast<int>(scores.size());
  Require(axis >= -axes && axis < axes, "axis ", axis, " is out of range for scores of shape ",
          ShapeString(scores));
  if (axis < 0) axis += axes;
  int64_t predictions = 1, given = 1;
  for (int i = 0; i < axes; ++i) predictions *= i == axis ? 1 : scores[i];
  for (int extent : labels) given *= extent;
  Require(predictions == given, "there must be one label for each of the ", predictions,
          " predictions of shape ", ShapeString(scores), "; the labels have shape ",
          ShapeString(labels));
  return axis;
}

int ScoresPerItem(const Shape& scores, const Shape& labels) {
  int64_t given = 1, each = 1;
  for (int extent : labels) given *= extent;
  for (size_t i = 1; i < scores.size(); ++i) each *= scores[i];
  Require(!scores.empty() && given == scores[0],
          "there must be one label for each item of the scores of shape ", ShapeString(scores),
          "; the labels have shape ", ShapeString(labels));
  return static_cast<int>(each);
}

INSTANTIATE_CLASS(LossLayer);

}  // namespace caffe
