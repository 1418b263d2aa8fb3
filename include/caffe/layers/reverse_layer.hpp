#ifndef CAFFE_REVERSE_LAYER_HPP_
#define CAFFE_REVERSE_LAYER_HPP_

#include <vector>

#include "caffe/layers/strided_layer.hpp"

namespace caffe {

/// The bottom backwards along `axis` (0, time, by default; negative ones count from the end), as
/// nets that read a sequence from both ends need it.
template <typename Dtype>
class ReverseLayer : public StridedLayer<Dtype> {
 public:
  explicit ReverseLayer(const LayerParameter& param) : StridedLayer<Dtype>(param, "Reverse") {}
  const char* type() const override { return "Reverse"; }

 protected:
  ReverseLayer(const LayerParameter& param, const char* operation)
      : StridedLayer<Dtype>(param, operation) {}
  vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const override;

  /// The axes of a bottom of this shape that are reversed; checked.
  virtual vector<int> Axes(const Shape& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_REVERSE_LAYER_HPP_
