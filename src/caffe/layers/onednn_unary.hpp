#ifndef CAFFE_LAYERS_ONEDNN_UNARY_HPP_
#define CAFFE_LAYERS_ONEDNN_UNARY_HPP_

#include "caffe/blob.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe::onednn {

/// oneDNN's primitive of a layer with one bottom and one top of its shape: made for the shape and
/// the layout of the bottom, it computes both passes in that layout.
template <typename Primitive>
class Unary {
 public:
  /// Computes the top with the primitive that make() returns for the bottom in `layout`. False, and
  /// nothing is computed, where that is null.
  template <typename Dtype, typename Make>
  bool Forward(const Blob<Dtype>& bottom, const Layout& layout, Blob<Dtype>* top, Make&& make) {
    primitive_ = primitives_.Get(bottom.shape(), layout, make);
    if (!primitive_) return false;
    const float* x = ReadAs<float>(bottom.data_tensor(), layout);
    primitive_->Forward(x, OverwriteAs<float>(top->data_tensor(), layout));
    return true;
  }

  /// The bottom's gradient, after Forward in training; `argument` is the blob that the derivative
  /// is computed from.
  template <typename Dtype>
  void Backward(const Blob<Dtype>& argument, const Blob<Dtype>& top, Blob<Dtype>* bottom) {
    const Layout& layout = primitives_.layout();
    const float* dy = ReadAs<float>(top.diff_tensor(), layout);
    primitive_->Backward(ReadAs<float>(argument.data_tensor(), layout), dy,
                         OverwriteAs<float>(bottom->diff_tensor(), layout));
  }

 private:
  ForShape<Primitive> primitives_;
  Primitive* primitive_ = nullptr;  // of the latest forward pass
};

}  // namespace caffe::onednn

#endif  // CAFFE_LAYERS_ONEDNN_UNARY_HPP_
