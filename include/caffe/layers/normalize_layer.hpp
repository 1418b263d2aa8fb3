#ifndef CAFFE_NORMALIZE_LAYER_HPP_
#define CAFFE_NORMALIZE_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct NormShape;
}

/// y = scale * x / sqrt(sum of x^2 + eps), for bottoms (N, C, ...). The sum goes over the channels
/// at each place, or over the whole image with across_spatial. The scale is a parameter, one number
/// (channel_shared) or one a channel, 1 without scale_filler: Liu, Rabinovich and Berg, ParseNet,
/// 2015, as SSD uses it (norm_param).
///
/// With normalize_param instead it is NormFace's layer of the same name: over the channels at each
/// place, without a scale, eps being 1e-6; with fix_gradient the norm counts as a constant in
/// gradients. A second top with the norms, and so bp_norm, is refused.
template <typename Dtype>
class NormalizeLayer : public Layer<Dtype> {
 public:
  explicit NormalizeLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Normalize"; }
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

  bool across_spatial_ = true, channel_shared_ = true;
  double eps_ = 1e-10;

 private:
  vector<double> Scales() const;  // one a channel

  bool has_scale_ = true;
  std::shared_ptr<kernels::NormShape> shape_;
};

}  // namespace caffe

#endif  // CAFFE_NORMALIZE_LAYER_HPP_
