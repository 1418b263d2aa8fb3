#ifndef CAFFE_PRIOR_BOX_LAYER_HPP_
#define CAFFE_PRIOR_BOX_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The boxes that an SSD detector's predictions are relative to (Liu et al., "SSD: Single Shot
/// MultiBox Detector", section 2.2).
///
/// Bottoms: a feature map (N, C, H, W) and the image (N, C', H', W'), both for their shapes only.
/// Top: (1, 2, H * W * priors * 4); channel 0 has the corners xmin, ymin, xmax, ymax as fractions
/// of the image, channel 1 the variances. In each cell, for each min_size: a square of that side;
/// with max_size, one of side sqrt(min_size * max_size); a box of area min_size^2 for each
/// aspect_ratio other than 1 and, with `flip`, its inverse. As in the SSD fork, min_size and
/// max_size are cut to whole pixels. Instead, `width` and `height` may list the boxes of a cell.
template <typename Dtype>
class PriorBoxLayer : public Layer<Dtype> {
 public:
  explicit PriorBoxLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PriorBox"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// The top depends on shapes only: there is no gradient.
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

  struct Extent {
    float width, height;
  };
  vector<Extent> boxes_;               // of a cell, in pixels
  vector<float> offset_x_, offset_y_;  // of the boxes' centres in a cell
  vector<float> variance_;             // four
};

/// The same with boxes from `width` and `height`; OpenVINO's name.
template <typename Dtype>
class PriorBoxClusteredLayer : public PriorBoxLayer<Dtype> {
 public:
  explicit PriorBoxClusteredLayer(const LayerParameter& param) : PriorBoxLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PriorBoxClustered"; }
};

}  // namespace caffe

#endif  // CAFFE_PRIOR_BOX_LAYER_HPP_
