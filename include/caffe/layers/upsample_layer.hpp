#ifndef CAFFE_UPSAMPLE_LAYER_HPP_
#define CAFFE_UPSAMPLE_LAYER_HPP_

#include <vector>

#include "caffe/layers/resize_layer.hpp"

namespace caffe {

/// Enlarges by whole factors, in the two forms that forks of Caffe have under this name.
///
/// One bottom (YOLO nets): each element is repeated scale x scale times. Bottom (N, C, H, W), top
/// (N, C, H scale, W scale); or scale_h and scale_w.
///
/// Two bottoms (SegNet, ENet): undoes a max pooling. The second is the mask that Pooling writes to
/// its second top: the position h * width + w in the plane of the output where each element goes;
/// the rest is 0. Top (N, C, upsample_h, upsample_w), or (N, C, H scale_h - pad_out_h, ...), where
/// pad_out says that the pooling rounded its size up. Where windows overlapped, the last of those
/// that share a position wins. A position outside is an Error in Forward.
template <typename Dtype>
class UpsampleLayer : public ResizeLayer<Dtype> {
 public:
  explicit UpsampleLayer(const LayerParameter& param) : ResizeLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Upsample"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  Resizing ResizingOf(const vector<Shape>& bottoms) const override;
};

}  // namespace caffe

#endif  // CAFFE_UPSAMPLE_LAYER_HPP_
