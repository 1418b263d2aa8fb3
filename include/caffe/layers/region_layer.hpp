#ifndef CAFFE_REGION_LAYER_HPP_
#define CAFFE_REGION_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// What layers that choose regions, or targets for them, have in common. What they choose is taken
/// as given (Ren et al. 2015, "Faster R-CNN", section 3.2: approximate joint training), so the
/// bottoms' gradients are 0.
template <typename Dtype>
class RegionLayer : public Layer<Dtype> {
 public:
  /// The tops have the shapes that the row of type `operation` says.
  RegionLayer(const LayerParameter& param, const char* operation)
      : Layer<Dtype>(param), operation_(operation) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  const char* const operation_;
};

/// Throws Error unless true boxes are rows of corners and class.
void CheckTrueBoxes(const Shape& truths);

}  // namespace caffe

#endif  // CAFFE_REGION_LAYER_HPP_
