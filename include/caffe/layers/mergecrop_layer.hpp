#ifndef CAFFE_MERGECROP_LAYER_HPP_
#define CAFFE_MERGECROP_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Bottom 0, and behind its channels those of bottom 1, cut to the spatial extents of bottom 0
/// around its middle: what joins the two arms of a U-Net. Bottoms (N, C, spatial axes), the second
/// one at least as large as the first. `forward` and `backward` are given once per bottom or not at
/// all: where forward is false the top has 0 instead, where backward is false the gradient is 0. By
/// default bottom 1 has no gradient.
template <typename Dtype>
class MergeCropLayer : public Layer<Dtype> {
 public:
  explicit MergeCropLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MergeCrop"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

 private:
  /// The window of bottom number `which` that is in the top: its shape, and where it begins in the
  /// bottom and in the top.
  struct Window {
    Window(const vector<Blob<Dtype>*>& bottom, int which);
    Shape shape;
    vector<int> in_bottom, in_top;
  };

  bool forward_[2] = {true, true};
  bool backward_[2] = {true, false};
};

}  // namespace caffe

#endif  // CAFFE_MERGECROP_LAYER_HPP_
