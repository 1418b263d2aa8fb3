#ifndef CAFFE_MULTI_STAGE_MEANFIELD_LAYER_HPP_
#define CAFFE_MULTI_STAGE_MEANFIELD_LAYER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// A conditional random field over all pairs of an image's pixels as a recurrent net (Zheng,
/// Jayasumana, Romera-Paredes, Vineet, Su, Du, Huang and Torr, "Conditional Random Fields as
/// Recurrent Neural Networks", 2015): num_iterations steps of mean-field inference, in each of
/// which
///
///     q = softmax(present scores)
///     scores = unary - C (S spatial(q) + B bilateral(q))
///
/// spatial and bilateral are Gaussian filters, normalized for each pixel: the first by distance in
/// the image (standard deviation theta_gamma, in pixels), the second by distance (theta_alpha) and
/// color (theta_beta, in units of the image's values). Both are approximations on a permutohedral
/// lattice.
///
/// Bottoms: unary scores (N, C, H, W); scores to begin with, of the same shape, usually the unary
/// ones; images (N, channels, H, W). Top: scores (N, C, H, W). Parameters, each (1, 1, C, C):
/// S, a diagonal of spatial_filter_weight, or of the C numbers of spatial_filter_weights_str; B,
/// likewise; C, minus the unit matrix (Potts' model). Gradients are those of the approximated
/// filters, and of all but the images.
///
/// The passes keep nothing: the backward pass computes the steps again.
template <typename Dtype>
class MultiStageMeanfieldLayer : public Layer<Dtype> {
 public:
  explicit MultiStageMeanfieldLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MultiStageMeanfield"; }
  int ExactNumBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  using Values = std::vector<Dtype>;  // (C, pixels)

  class Filter;

  Filter BilateralFilter(const Dtype* image, int channels) const;
  /// The sum of both filters' results, each times its parameter; keeps them if asked to.
  void Message(const Filter& bilateral, const Values& q, Values* message, Values* by_space,
               Values* by_color) const;
  /// One step from q to scores.
  void Step(const Filter& bilateral, const Dtype* unary, const Values& q, Dtype* scores) const;
  /// The gradient of q for that of the scores, and those of the parameters.
  void StepBackward(const Filter& bilateral, const Values& q, const Values& d_scores, Values* dq);

  int classes_ = 0, height_ = 0, width_ = 0;
  size_t pixels_ = 0;
  std::shared_ptr<const Filter> spatial_;  // of images of this height and width
};

}  // namespace caffe

#endif  // CAFFE_MULTI_STAGE_MEANFIELD_LAYER_HPP_
