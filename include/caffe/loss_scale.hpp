#ifndef CAFFE_LOSS_SCALE_HPP_
#define CAFFE_LOSS_SCALE_HPP_

namespace caffe {

/// What losses are multiplied by before the backward pass, so that gradients of activations neither
/// vanish nor overflow in FLOAT16 (Micikevicius et al., "Mixed Precision Training", 2018).
///
/// Fixed: NetParameter.global_grad_scale for ever. Dynamic (global_grad_scale_adaptive): it begins
/// there, or at 65536 where the net states none, is halved by each step whose gradients are not all
/// finite, and doubled after kGoodSteps steps in a row that are.
class LossScale {
 public:
  static constexpr int kGoodSteps = 1000;
  static constexpr double kSmallest = 1. / (1 << 24), kLargest = 1 << 24;
  static constexpr double kDynamicStart = 65536;

  LossScale() = default;
  /// Throws Error unless `start` is positive and finite.
  LossScale(double start, bool dynamic);

  double value() const { return value_; }
  bool dynamic() const { return dynamic_; }
  /// Steps with finite gradients since the scale last changed.
  int good_steps() const { return good_steps_; }

  /// Takes notice of a step of a dynamic scale; the scale of the next one may be another.
  void Record(bool finite_gradients);
  /// Goes on where a run stopped that had this scale. Throws Error for values that no run has.
  void Resume(double value, int good_steps);

 private:
  double value_ = 1;
  bool dynamic_ = false;
  int good_steps_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_LOSS_SCALE_HPP_
