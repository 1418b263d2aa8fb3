#ifndef CAFFE_MARGIN_INNER_PRODUCT_LAYER_HPP_
#define CAFFE_MARGIN_INNER_PRODUCT_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// InnerProduct without bias, with weights of length 1 and an angular margin for the label's class
/// (Liu, Wen, Yu, Li, Raj and Song, "SphereFace", 2017): with theta the angle of x and w[label],
///
///     y[label] = |x| (lambda cos(theta) + psi(theta)) / (1 + lambda),
///     psi(theta) = (-1)^k cos(m theta) - 2 k  for theta in [k pi / m, (k + 1) pi / m],
///
/// m being 1 to 4 as margin_inner_product_param.type is SINGLE, DOUBLE, TRIPLE or QUADRUPLE.
/// lambda = max(base (1 + gamma * i)^-power, lambda_min); i, at first `iteration`, counts forward
/// passes.
///
/// Bottoms: x (M..., K...) split at `axis`, labels (M). Tops: y (M..., num_output); with a second
/// one, lambda. Parameter: the weights (num_output, K), which are scaled to length 1 in every
/// forward pass of the TRAIN phase. Labels have no gradient: their diff is left alone.
///
/// As in SphereFace the gradients are not quite y's: that of the weights is that of x w, and in
/// that of x the margin's part, a w - b x, is divided by sqrt(a^2 + b^2).
template <typename Dtype>
class MarginInnerProductLayer : public Layer<Dtype> {
 public:
  explicit MarginInnerProductLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MarginInnerProduct"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 1; }
  /// The number of forward passes.
  std::string SaveState() override { return std::to_string(iter_); }
  void RestoreState(const std::string& state) override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int M_ = 0, K_ = 0, N_ = 0;
  int margin_ = 1;  ///< m
  int iter_ = 0;
  Dtype lambda_ = 0;

 private:
  /// Counts the pass and sets lambda_ for it.
  void NextLambda();

  Blob<Dtype> weights_;  // of length 1
  Blob<Dtype> norm_;     // (M): |x|
};

}  // namespace caffe

#endif  // CAFFE_MARGIN_INNER_PRODUCT_LAYER_HPP_
