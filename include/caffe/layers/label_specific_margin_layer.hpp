#ifndef CAFFE_LABEL_SPECIFIC_MARGIN_LAYER_HPP_
#define CAFFE_LABEL_SPECIFIC_MARGIN_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/label_margin_layer.hpp"

namespace caffe {

/// An angular margin for the cosine of the label's class (happynear's fork of Caffe): cos(t)
/// becomes cos(t + m), m being, in degrees, the layer's only parameter (1). If
/// label_specific_margin_param.margin_base is given, m is, in pass i of the TRAIN phase,
/// margin_base + (1 + gamma * i)^power - 1; i counts from `iteration`. If margin_max is given, m is
/// at most that.
///
/// Bottoms and tops: LabelMarginLayer's. With margin_on_test the TEST phase has the margin, too.
/// Not offered: type SOFT, auto_tune, pass_bp, reset_margin.
template <typename Dtype>
class LabelSpecificMarginLayer : public LabelMarginLayer<Dtype> {
 public:
  explicit LabelSpecificMarginLayer(const LayerParameter& param) : LabelMarginLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "LabelSpecificMargin"; }
  std::string SaveState() override { return schedule_.State(); }
  void RestoreState(const std::string& state) override { schedule_.SetState(state); }

 protected:
  using typename LabelMarginLayer<Dtype>::Changed;
  Changed At(double score) const override;
  bool ChangesInTest() const override { return param().margin_on_test(); }
  double NextMargin() override;

 private:
  const LabelSpecificMarginParameter& param() const {
    return this->layer_param_.label_specific_margin_param();
  }

  double sin_ = 0, cos_ = 1;  // of the margin
  MarginSchedule schedule_;
};

}  // namespace caffe

#endif  // CAFFE_LABEL_SPECIFIC_MARGIN_LAYER_HPP_
