#ifndef CAFFE_RESIZE_LAYER_HPP_
#define CAFFE_RESIZE_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/kernels/resize.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// How a bottom of these extents is resized: height and width.
struct Resizing {
  kernels::ResizeAxis h, w;
};

/// The top shapes of a resizing layer, for the operation table.
inline std::vector<Shape> ResizedShapes(const Shape& bottom, const Resizing& resizing) {
  Shape top = bottom;
  top[top.size() - 2] = resizing.h.output();
  top[top.size() - 1] = resizing.w.output();
  return {top};
}

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
  Resizing resizing_;
#ifndef CPU_ONLY
  struct GpuTables;
  const GpuTables& Tables();
  int PlanesOf(const Blob<Dtype>& bottom) const;

  std::shared_ptr<GpuTables> gpu_tables_;
#endif
};

/// The height and width that are wanted of a top for this bottom, whose last two axes they replace.
/// Throws Error that names `parameter` unless both are at least 1 and an int counts the top's
/// elements.
struct ResizedExtents {
  ResizedExtents(const char* parameter, const Shape& bottom, double height, double width);
  int height, width;
};

}  // namespace caffe

#endif  // CAFFE_RESIZE_LAYER_HPP_
