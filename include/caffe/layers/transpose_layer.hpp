#ifndef CAFFE_TRANSPOSE_LAYER_HPP_
#define CAFFE_TRANSPOSE_LAYER_HPP_

#include <vector>

#include "caffe/layers/permute_layer.hpp"

namespace caffe {

/// Permute under the name that recurrent nets of CRNN's kind know: axis i of the top is axis dim[i]
/// of the bottom, dim being given for every axis.
template <typename Dtype>
class TransposeLayer : public PermuteLayer<Dtype> {
 public:
  explicit TransposeLayer(const LayerParameter& param) : PermuteLayer<Dtype>(param, "Transpose") {}
  const char* type() const override { return "Transpose"; }

 protected:
  vector<int> Order(const Shape& bottom) const override;
};

}  // namespace caffe

#endif  // CAFFE_TRANSPOSE_LAYER_HPP_
