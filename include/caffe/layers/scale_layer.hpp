#ifndef CAFFE_SCALE_LAYER_HPP_
#define CAFFE_SCALE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

// Programs take it from here, as from Caffe's header.
#include "caffe/layers/bias_layer.hpp"

namespace caffe {

/// y = scale * x + bias, the scale being broadcast: it covers the axes of x from `axis` on, as many
/// as it has itself. The scale is a parameter of the shape of `num_axes` axes of x (-1: all from
/// `axis` on, 0: one number), or bottom 1. The bias is a parameter of the same shape, with
/// bias_term. May be in place.
template <typename Dtype>
class ScaleLayer : public Layer<Dtype> {
 public:
  explicit ScaleLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Scale"; }
  bool DescribePointwise(Pointwise* description) override;
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

  /// True if the scale is a parameter with a number for each channel (axis 1).
  bool ScalesChannels() const;
  /// Null without bias.
  Blob<Dtype>* bias() const {
    return bias_param_id_ < 0 ? nullptr : this->blobs_[bias_param_id_].get();
  }
  /// In place and in the TRAIN phase: what Backward takes for the input of a Forward that another
  /// layer did. Shared, not copied.
  void SetInput(const Blob<Dtype>& x);

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  /// In place, x as it was: the gradient of the scale needs it. With keeps_for_backward().
  Blob<Dtype> temp_;
  int axis_ = 1;
  int outer_dim_ = 0, scale_dim_ = 0, inner_dim_ = 0;
  int bias_param_id_ = -1;  ///< the bias among the parameters, -1 if there is none

 private:
  bool own_scale() const { return this->blobs_.size() == (bias_param_id_ < 0 ? 1u : 2u); }
  /// Whether Backward computes the scale's gradient. Throws Error where it would have to and
  /// cannot.
  bool WantsScaleGradient(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down) const;
  Blob<Dtype>& Scale(const vector<Blob<Dtype>*>& bottom) {
    return bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  }
};

}  // namespace caffe

#endif  // CAFFE_SCALE_LAYER_HPP_
