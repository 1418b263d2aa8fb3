#ifndef CAFFE_ROI_LAYER_HPP_
#define CAFFE_ROI_LAYER_HPP_

#include <vector>

#include "caffe/kernels/cuda/roi.hpp"
#include "caffe/kernels/roi_pooling.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// A row of a blob of regions (R, 5): the item of the batch and the corners in the image's
/// pixels.
struct Roi {
  int item = 0;
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

/// Cuts regions out of a feature map. Bottoms: the map (N, C, H, W); regions (R, 5). Top:
/// (R, C', pooled height, pooled width). A subclass says, in LayerSetUp and Reshape, what shape_
/// and the top's channels are, and where the bins of a region lie. Regions have no gradient: their
/// diff is left alone, even if one is asked for, as where layers with parameters propose them.
template <typename Dtype>
class RoiLayer : public Layer<Dtype> {
 public:
  explicit RoiLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }

 protected:
  /// The bins of one region on a map of shape_, whose coordinates are `scale` times the image's.
  virtual kernels::RoiBins BinsOf(const Roi& roi) const = 0;
  /// Of all regions. Throws Error for an item that is not there and for corners that are not
  /// numbers or too large.
  vector<kernels::RoiBins> Bins(const Blob<Dtype>& rois) const;

#ifndef CPU_ONLY
  /// Bins in device memory, good until the next call. The host computes them: regions are few, and
  /// come from layers that select them on the host.
  cuda::RoiBins GpuBins(const Blob<Dtype>& rois);
#endif

  kernels::RoiShape shape_;
  float scale_ = 1;
#ifndef CPU_ONLY

 private:
  struct GpuParts {
    Blob<int> begin, start;
    Blob<float> weight;
    cuda::RoiParts Set(const vector<kernels::RoiBins>& bins,
                       vector<kernels::Taps> kernels::RoiBins::*axis, int parts);
  };
  Blob<int> gpu_items_;
  GpuParts gpu_rows_, gpu_columns_;
#endif
};

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

#endif  // CAFFE_ROI_LAYER_HPP_
