#ifndef CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
#define CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// Interleaves the channels (axis 1) of `group` groups: first the first of each, then the second of
/// each, and so on (ShuffleNet: Zhang et al. 2017). Bottom and top (N, C, ...), C a multiple of
/// group.
template <typename Dtype>
class ShuffleChannelLayer : public StridedLayer<Dtype> {
 public:
  explicit ShuffleChannelLayer(const LayerParameter& param)
      : StridedLayer<Dtype>(param, "ShuffleChannel") {}
  const char* type() const override { return "ShuffleChannel"; }

 protected:
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;
};

}  // namespace caffe

#endif  // CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
