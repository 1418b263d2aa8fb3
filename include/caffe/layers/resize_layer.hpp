#ifndef CAFFE_RESIZE_LAYER_HPP_
#define CAFFE_RESIZE_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

struct Resizing;

/// A layer whose top is a weighted sum of bottom 0 along its last two axes, height and width. A
/// second bottom only lends its extents.
template <typename Dtype>
class ResizeLayer : public Layer<Dtype> {
 public:
  explicit ResizeLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }
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
  /// Throws Error if the parameters do not fit the shapes.
  virtual Resizing ResizingOf(const vector<Shape>& bottoms) const = 0;

 private:
  std::shared_ptr<const Resizing> resizing_;
#ifndef CPU_ONLY
  struct GpuTables;
  const GpuTables& Tables();
  int PlanesOf(const Blob<Dtype>& bottom) const;

  std::shared_ptr<GpuTables> gpu_tables_;
#endif
};

}  // namespace caffe

#endif  // CAFFE_RESIZE_LAYER_HPP_
