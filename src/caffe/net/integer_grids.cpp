#include "caffe/net/integer_grids.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"

namespace caffe {

void CheckQuantizedTraining(const QuantizedTrainingParameter& param) {
  const auto bits = [](const char* field, unsigned value) {
    Require(value >= 2 && value <= 8, "quantized_training: ", field, " must lie from 2 to 8, got ",
            value);
  };
  const auto iterations = [](const char* field, int value) {
    Require(value >= 0, "quantized_training: ", field,
            " is a number of iterations and must not be negative, got ", value);
  };
  bits("weight_bits", param.weight_bits());
  bits("activation_bits", param.activation_bits());
  iterations("start_iter", param.start_iter());
  iterations("activation_delay", param.activation_delay());
  iterations("freeze_batch_norm_iter", param.freeze_batch_norm_iter());
  Require(param.ema_decay() >= 0 && param.ema_decay() < 1, "quantized_training: ema_decay must be ",
          "at least 0 and less than 1, such as 0.999, got ", param.ema_decay());
}

kernels::IntegerGrid BlobGrid(const QuantizedTrainingParameter& param, double minimum,
                              double maximum) {
  const int bits = static_cast<int>(param.activation_bits());
  if (param.scheme() != QuantizedTrainingParameter_Scheme_SYMMETRIC) {
    return kernels::AffineGrid(minimum, maximum, 0, (1 << bits) - 1);
  }
  const bool is_unsigned = minimum >= 0;
  return kernels::SymmetricGrid(std::max(std::abs(minimum), std::abs(maximum)),
                                (1 << (is_unsigned ? bits : bits - 1)) - 1, is_unsigned);
}

kernels::IntegerGrid WeightGrid(const QuantizedTrainingParameter& param, double minimum,
                                double maximum) {
  const int bits = static_cast<int>(param.weight_bits());
  if (HasOneWeightGrid(param)) {
    return kernels::AffineGrid(minimum, maximum, 1, (1 << bits) - 1);
  }
  return kernels::SymmetricGrid(std::max(std::abs(minimum), std::abs(maximum)),
                                (1 << (bits - 1)) - 1, /*is_unsigned=*/false);
}

}  // namespace caffe
