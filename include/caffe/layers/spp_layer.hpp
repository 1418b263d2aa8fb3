#ifndef CAFFE_SPP_LAYER_HPP_
#define CAFFE_SPP_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace cuda {
struct Pyramid;
}

/// Spatial pyramid pooling: He, Zhang, Ren and Sun 2014. Bottom (N, C, H, W). Level l of
/// pyramid_height levels pools 2^l x 2^l windows (MAX or AVE) that cover the image; the levels of
/// one image stand one behind another: top (N, C * (1 + 4 + 16 + ...)), or (N, C, 1, 1) for one
/// level. Throws Error if the image is too small for the levels.
template <typename Dtype>
class SPPLayer : public Layer<Dtype> {
 public:
  explicit SPPLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SPP"; }
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
  cuda::Pyramid GpuPyramid(const Blob<Dtype>& bottom) const;
#endif
};

}  // namespace caffe

#endif  // CAFFE_SPP_LAYER_HPP_
