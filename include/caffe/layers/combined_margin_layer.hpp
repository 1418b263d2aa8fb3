#ifndef CAFFE_COMBINED_MARGIN_LAYER_HPP_
#define CAFFE_COMBINED_MARGIN_LAYER_HPP_

#include <vector>

#include "caffe/layers/label_margin_layer.hpp"

namespace caffe {

/// The margins of SphereFace, ArcFace and CosFace in one (Deng, Guo, Xue and Zafeiriou, "ArcFace",
/// 2019, equation 4): the cosine of the label's class, cos(t), becomes cos(m1 t + m2) - m3, m2
/// being in radians. combined_margin_param has 1, 0 and 0 for them if it says nothing.
///
/// Bottoms and top: LabelMarginLayer's. With transform_test the TEST
/// phase has the margins, too.
template <typename Dtype>
class CombinedMarginLayer : public LabelMarginLayer<Dtype> {
 public:
  explicit CombinedMarginLayer(const LayerParameter& param) : LabelMarginLayer<Dtype>(param) {}
  const char* type() const override { return "CombinedMargin"; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  using typename LabelMarginLayer<Dtype>::Changed;
  Changed At(double score) const override;
  bool ChangesInTest() const override {
    return this->layer_param_.combined_margin_param().transform_test();
  }
  double NextMargin() override { return 0; }
};

}  // namespace caffe

#endif  // CAFFE_COMBINED_MARGIN_LAYER_HPP_
