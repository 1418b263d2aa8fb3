#include "caffe/layers/label_specific_add_layer.hpp"

#include <algorithm>

namespace caffe {
namespace {

const bool label_specific_add_registered =
    OperationTable::Add(Operation("LabelSpecificAdd")
                            .Shapes(LabelMarginShapes)
                            .InPlace()
                            .BackwardReads(Operation::kNothing)
                            .Native()
                            .FloatBottoms({1})
                            .FloatTops({1})
                            .CpuOnly("it changes one number of each row"));

}  // namespace

template <typename Dtype>
void LabelSpecificAddLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                              const vector<Blob<Dtype>*>&) {
  const LabelSpecificAddParameter& p = param();
  const bool has_range = p.has_bias_base() && p.has_bias_min() && p.has_bias_max();
  Require(!has_range || p.bias_min() <= p.bias_max(), "label_specific_add_param: bias_min ",
          p.bias_min(), " and bias_max ", p.bias_max(), " are no range");
  schedule_ = MarginSchedule(p.bias_base(), p.bias_gamma(), p.bias_power(), p.iteration());
  bias_ = p.bias();
}

template <typename Dtype>
double LabelSpecificAddLayer<Dtype>::NextMargin() {
  const LabelSpecificAddParameter& p = param();
  if (!p.has_bias_base()) return bias_;
  bias_ = schedule_.Next(this->phase_ == TRAIN);
  if (p.has_bias_min()) bias_ = std::max<double>(bias_, p.bias_min());
  if (p.has_bias_max()) bias_ = std::min<double>(bias_, p.bias_max());
  return bias_;
}

template <typename Dtype>
auto LabelSpecificAddLayer<Dtype>::At(double score) const -> Changed {
  return {score > -bias_ ? score + bias_ : score, 1};
}

INSTANTIATE_CLASS(LabelSpecificAddLayer);
REGISTER_LAYER_CLASS(LabelSpecificAdd);

}  // namespace caffe
