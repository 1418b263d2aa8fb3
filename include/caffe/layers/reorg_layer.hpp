#ifndef CAFFE_REORG_LAYER_HPP_
#define CAFFE_REORG_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// YOLO v2's reorganisation of planes into channels: bottom (N, C, H, W), top (N, C s^2, H / s, W /
/// s) for stride s. As in Darknet, and so in every net trained with it, the input is read as if it
/// were (C / s^2, H s, W s): of those planes the s x s phases come one after another, (N, s, s, C /
/// s^2, H, W), and that is read as the top. So C, H and W have to be multiples of s^2, s and s.
///
/// With `reverse`, (N, C, H, W) becomes (N, C / s^2, H s, W s), the inverse of taking phases.
template <typename Dtype>
class ReorgLayer : public Layer<Dtype> {
 public:
  explicit ReorgLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Reorg"; }
  int ExactNumBottomBlobs() const override { return 1; }
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
  /// From the phases to the planes (`reverse`) or back, for a bottom of this shape.
  template <typename T>
  void Move(const Shape& bottom, bool reverse, const T* x, T* y) const;
#ifndef CPU_ONLY
  template <typename T>
  void MoveOnGpu(const Shape& bottom, bool reverse, const T* x, T* y) const;
#endif
};

}  // namespace caffe

#endif  // CAFFE_REORG_LAYER_HPP_
