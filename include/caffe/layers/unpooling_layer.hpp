#ifndef CAFFE_UNPOOLING_LAYER_HPP_
#define CAFFE_UNPOOLING_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Undoes a max pooling (Noh, Hong, Han, "Learning Deconvolution Network for Semantic
/// Segmentation", 2015): types UnPooling and Unpooling, which take the pooling's own pooling_param.
///
/// Bottoms: values (N, C, H, W); the mask that Pooling writes to its second top, of the same shape:
/// the position h * width + w in a plane of the output where each value goes, the rest is 0; if
/// given, a blob of 4 axes as high and wide as the output. Top (N, C, height, width); without the
/// third bottom the smallest size that such a pooling makes H x W of: (H - 1) stride + kernel - 2
/// pad. Where windows overlapped, the last of those that share a position wins. A position outside
/// is an Error in Forward. The mask and the third bottom have no gradient: if one is asked for, as
/// of a pooling behind layers with parameters, their diffs are left alone.
template <typename Dtype>
class UnPoolingLayer : public Layer<Dtype> {
 public:
  explicit UnPoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// As the prototxt spells it: UnPooling or Unpooling.
  const char* type() const override { return this->layer_param_.type().c_str(); }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
};

}  // namespace caffe

#endif  // CAFFE_UNPOOLING_LAYER_HPP_
