#ifndef CAFFE_PERMUTE_LAYER_HPP_
#define CAFFE_PERMUTE_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// The bottom with its axes in another order: axis i of the top is axis order[i] of the bottom;
/// axes that `order` leaves out follow in their own order.
template <typename Dtype>
class PermuteLayer : public StridedLayer<Dtype> {
 public:
  explicit PermuteLayer(const LayerParameter& param) : StridedLayer<Dtype>(param, "Permute") {}
  const char* type() const override { return "Permute"; }

 protected:
  PermuteLayer(const LayerParameter& param, const char* operation)
      : StridedLayer<Dtype>(param, operation) {}
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;

  /// Which axis of a bottom of this shape each axis of the top is; checked.
  virtual vector<int> Order(const Shape& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_PERMUTE_LAYER_HPP_
