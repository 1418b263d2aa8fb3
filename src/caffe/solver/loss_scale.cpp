#include "caffe/loss_scale.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"

namespace caffe {
namespace {

bool IsScale(double value) { return value > 0 && std::isfinite(value); }

}  // namespace

LossScale::LossScale(double start, bool dynamic) : value_(start), dynamic_(dynamic) {
  Require(IsScale(start), Error::Field{"global_grad_scale"}, " must be positive and finite, got ",
          start);
}

void LossScale::Record(bool finite_gradients) {
  if (!finite_gradients) {
    value_ = std::max(value_ / 2, std::min(value_, kSmallest));
    good_steps_ = 0;
  } else if (++good_steps_ == kGoodSteps) {
    value_ = std::min(value_ * 2, std::max(value_, kLargest));
    good_steps_ = 0;
  }
}

void LossScale::Resume(double value, int good_steps) {
  Require(IsScale(value) && good_steps >= 0 && good_steps < kGoodSteps,
          "the solver state's loss scale is damaged: ", value, " since ", good_steps, " steps");
  value_ = value;
  good_steps_ = good_steps;
}

}  // namespace caffe
