#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/fixed_point.hpp"

// Outputs of layers with weights that are the same for every input. Nets that were trained with
// BatchNorm often have some, with tiny weights and a bias of 2^29 or more steps of their sums, for
// which their whole layer would need the slow path (RescaleAny).
namespace caffe::inference::cpu {

/// How an output's sums of products are rescaled: those of 0 and above, and those below.
struct OutputRow {
  int32_t bias = 0;
  kernels::Multiplier positive, negative;
};

/// The bounds of sums of products.
struct SumRange {
  int64_t least = 0, most = 0;
};
/// The bounds for weights and any bytes, signed or not.
SumRange SumsOf(size_t terms, const int8_t* weights);

/// The bounds of values, less their zero point.
struct ValueBounds {
  int32_t least = 0, most = 0;
};

/// The row or, if all these sums become one value, an equivalent one of smaller numbers.
OutputRow SimplifiedIfConstant(const OutputRow& row, const SumRange& sums,
                               kernels::Rounding rounding, const ValueBounds& bounds);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_
