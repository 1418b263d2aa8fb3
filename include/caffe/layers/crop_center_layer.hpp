#ifndef CAFFE_CROP_CENTER_LAYER_HPP_
#define CAFFE_CROP_CENTER_LAYER_HPP_

#include <vector>

#include "caffe/layers/crop_layer.hpp"

namespace caffe {

/// The middle of the bottom: crop_center_param.crop_size, one number for each axis, says how many
/// elements are cut off at each end of that axis. From waifu2x-caffe, whose nets crop what they add
/// to outputs of convolutions without padding.
template <typename Dtype>
class CropCenterLayer : public CropLayer<Dtype> {
 public:
  explicit CropCenterLayer(const LayerParameter& param) : CropLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "CropCenter"; }
  int ExactNumBottomBlobs() const override { return 1; }
};

}  // namespace caffe

#endif  // CAFFE_CROP_CENTER_LAYER_HPP_
