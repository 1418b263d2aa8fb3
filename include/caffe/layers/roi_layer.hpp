#ifndef CAFFE_ROI_LAYER_HPP_
#define CAFFE_ROI_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct RoiBins;
struct RoiShape;
}  // namespace kernels

namespace cuda {
struct RoiBins;
}

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
  /// The bins of all regions. Throws Error for an item that is not there and for corners that are
  /// not numbers or too large.
  vector<kernels::RoiBins> Bins(const Blob<Dtype>& rois) const;

#ifndef CPU_ONLY
  /// Bins in device memory, good until the next call. The host computes them: regions are few, and
  /// come from layers that select them on the host.
  cuda::RoiBins GpuBins(const Blob<Dtype>& rois);
#endif

  std::shared_ptr<const kernels::RoiShape> shape_;
  float scale_ = 1;
#ifndef CPU_ONLY

 private:
  struct GpuBlobs;
  std::shared_ptr<GpuBlobs> gpu_;
#endif
};

}  // namespace caffe

#endif  // CAFFE_ROI_LAYER_HPP_
