#ifndef CAFFE_CROP_LAYER_HPP_
#define CAFFE_CROP_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// Where the part that a Crop layer takes begins on each axis of `bottom`. Throws Error where it
/// does not lie within.
std::vector<int> CropOffsets(const CropParameter& param, const Shape& bottom,
                             const Shape& reference);

/// The part of bottom 0 that has the extents of bottom 1 on `axis` (2 by default) and all later
/// axes. It begins at `offset`: one for all these axes, or one for each; 0 if none is given. Bottom
/// 1 gives its shape only: its gradient is 0.
template <typename Dtype>
class CropLayer : public StridedLayer<Dtype> {
 public:
  explicit CropLayer(const LayerParameter& param) : StridedLayer<Dtype>(param, "Crop") {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Crop"; }
  int ExactNumBottomBlobs() const override { return 2; }

 protected:
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;

  vector<int> offsets_;  ///< one for each axis of bottom 0
};

}  // namespace caffe

#endif  // CAFFE_CROP_LAYER_HPP_
