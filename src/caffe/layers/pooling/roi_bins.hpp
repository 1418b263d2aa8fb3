#ifndef CAFFE_LAYERS_POOLING_ROI_BINS_HPP_
#define CAFFE_LAYERS_POOLING_ROI_BINS_HPP_

#include "caffe/blob.hpp"
#include "caffe/kernels/roi_pooling.hpp"

// What layers that derive from RoiLayer have in common.
namespace caffe {

/// Checks both bottoms and the parameters that all have; `param` is the message's name.
kernels::RoiShape ReadRoiShape(const Shape& map, const Shape& rois, const char* param,
                               int64_t pooled_height, int64_t pooled_width, float spatial_scale);

/// The extents of a top of `channels` channels.
inline Shape RoiTopShape(const kernels::RoiShape& shape, const Shape& rois, size_t channels) {
  return {rois[0], static_cast<int>(channels), shape.pooled_height, shape.pooled_width};
}

/// Positions [begin, end) as far as they are in [0, extent), all of the same weight: 1 in sum.
kernels::Taps EvenTaps(float begin, float end, int extent);

}  // namespace caffe

#endif  // CAFFE_LAYERS_POOLING_ROI_BINS_HPP_
