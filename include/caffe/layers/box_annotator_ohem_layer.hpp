#ifndef CAFFE_BOX_ANNOTATOR_OHEM_LAYER_HPP_
#define CAFFE_BOX_ANNOTATOR_OHEM_LAYER_HPP_

#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// Online hard example mining (Shrivastava, Gupta and Girshick 2016, as R-FCN does it): keeps the
/// roi_per_img regions of each image that lose most.
///
/// Bottoms: regions (R, 5, H, W), the first of each five being the image's number; what each one
/// loses (R, 1, H, W); labels (R, 1, H, W); weights of the boxes (R, C, H, W). Tops: labels and
/// weights, box_annotator_ohem_param.ignore_label and 0 for regions that are not kept. No
/// gradients.
template <typename Dtype>
class BoxAnnotatorOHEMLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit BoxAnnotatorOHEMLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BoxAnnotatorOHEM"; }
  int ExactNumBottomBlobs() const override { return 4; }
  int ExactNumTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
};

}  // namespace caffe

#endif  // CAFFE_BOX_ANNOTATOR_OHEM_LAYER_HPP_
