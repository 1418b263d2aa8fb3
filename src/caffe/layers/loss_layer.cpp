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
          "predictions and labels differ in number: ", bottom[0]->shape_string(), " and ",
          bottom[1]->shape_string());
  top[0]->Reshape(vector<int>());
}

template <typename Dtype>
Dtype LossLayer<Dtype>::Normalizer(LossParameter_NormalizationMode mode, int valid, int outer,
                                   int inner) {
  Dtype normalizer = 1;
  switch (mode) {
    case LossParameter_NormalizationMode_FULL:
      normalizer = Dtype(outer) * inner;
      break;
    case LossParameter_NormalizationMode_VALID:
      normalizer = valid == -1 ? Dtype(outer) * inner : Dtype(valid);
      break;
    case LossParameter_NormalizationMode_BATCH_SIZE:
      normalizer = outer;
      break;
    default:  // NONE
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

INSTANTIATE_CLASS(LossLayer);

}  // namespace caffe
