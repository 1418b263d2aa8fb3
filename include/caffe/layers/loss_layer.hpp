#ifndef CAFFE_LOSS_LAYER_HPP_
#define CAFFE_LOSS_LAYER_HPP_

#include <cmath>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The least value whose logarithm a loss takes.
const float kLOG_THRESHOLD = 1e-20;

/// A layer that compares predictions (bottom 0) with labels (bottom 1) and makes one number, with
/// loss weight 1 unless the layer says otherwise. Labels get no gradient.
template <typename Dtype>
class LossLayer : public Layer<Dtype> {
 public:
  explicit LossLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumBottomBlobs() const override { return 2; }
  /// A net may leave the top out.
  bool AutoTopBlobs() const override { return true; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 1; }

 protected:
  /// What a loss that is a sum is divided by: all outer_num x inner_num predictions (FULL), those
  /// that are counted (VALID; -1: all), the outer ones (BATCH_SIZE), 1 (NONE), or
  /// loss_param.pre_fixed_normalizer (PRE_FIXED); at least 1.
  Dtype GetNormalizer(LossParameter_NormalizationMode mode, int outer_num, int inner_num,
                      int valid_count) const;
#ifndef CPU_ONLY
  /// The divisor for a loss kernel of the GPU: `normalizer`, what is divided by in that mode if all
  /// are counted, or a negative number where only the kernel can count.
  static double GpuDivisor(LossParameter_NormalizationMode mode, Dtype normalizer) {
    return mode == LossParameter_NormalizationMode_VALID ? -1. : double(normalizer);
  }
#endif
  /// Throws Error if a gradient is asked for bottom `index`, the `what` of the layer.
  void NoGradientFor(const char* what, size_t index, const vector<bool>& propagate_down) const {
    Require(propagate_down.size() <= index || !propagate_down[index], this->type(),
            " has no gradient for its ", what);
  }
};

/// loss_param.normalization, or what the older `normalize` means.
LossParameter_NormalizationMode NormalizationOf(const LossParameter& param);

/// `axis`, the one of the classes, as a number in [0, axes of scores). Throws Error if there is no
/// such axis, or not one label for each position of the others.
int ClassAxis(const Shape& scores, const Shape& labels, int axis);

/// The number of scores of each of the shape(0) items. Throws Error if there is not one label for
/// each of them.
int ScoresPerItem(const Shape& scores, const Shape& labels);

/// The label `value`, number `index` of its blob, as a whole number; `ignored`, if not null, is a
/// label that counts for nothing and becomes -1. Throws Error for one outside [0, classes).
template <typename Dtype>
int ReadLabel(Dtype value, int index, int classes, const int* ignored) {
  const bool is_int = std::fabs(value) < Dtype(2147483648.);  // false for a NaN
  const int label = is_int ? static_cast<int>(value) : -1;
  if (is_int && ignored && label == *ignored) return -1;
  if (!is_int || label < 0 || label >= classes) {
    Fail("label number ", index, " is ", value, ": with ", classes, " classes valid are 0 to ",
         classes - 1, ignored ? Join(" and ignore_label, ", *ignored) : "");
  }
  return label;
}

}  // namespace caffe

#endif  // CAFFE_LOSS_LAYER_HPP_
