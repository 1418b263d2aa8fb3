#ifndef CAFFE_LABEL_SPECIFIC_ADD_LAYER_HPP_
#define CAFFE_LABEL_SPECIFIC_ADD_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/label_margin_layer.hpp"

namespace caffe {

/// An additive margin for the cosine of the label's class (Wang, Cheng, Liu and Liu, "Additive
/// Margin Softmax for Face Verification", 2018): s becomes s + bias where s > -bias, bias being
/// label_specific_add_param.bias, -0.35 for instance. If bias_base is given, the bias of pass i of
/// the TRAIN phase is bias_base + (1 + bias_gamma * i)^bias_power - 1, at least bias_min and at
/// most bias_max where these are given; i counts from `iteration`.
///
/// Bottoms and tops: LabelMarginLayer's. May be in place. The gradient is that of top 0. With
/// transform_test the TEST phase has the margin, too.
template <typename Dtype>
class LabelSpecificAddLayer : public LabelMarginLayer<Dtype> {
 public:
  explicit LabelSpecificAddLayer(const LayerParameter& param) : LabelMarginLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "LabelSpecificAdd"; }
  std::string SaveState() override { return schedule_.State(); }
  void RestoreState(const std::string& state) override { schedule_.SetState(state); }

 protected:
  using typename LabelMarginLayer<Dtype>::Changed;
  Changed At(double score) const override;
  bool HasUnitSlope() const override { return true; }
  bool ChangesInTest() const override { return param().transform_test(); }
  double NextMargin() override;

 private:
  const LabelSpecificAddParameter& param() const {
    return this->layer_param_.label_specific_add_param();
  }

  double bias_ = 0;
  MarginSchedule schedule_;
};

}  // namespace caffe

#endif  // CAFFE_LABEL_SPECIFIC_ADD_LAYER_HPP_
