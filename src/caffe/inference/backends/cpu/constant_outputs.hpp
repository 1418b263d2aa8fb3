#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/fixed_point.hpp"

// Outputs of layers with weights that are the same for every input. Nets that were trained with
// BatchNorm often have some, with next to no weights and a bias of 2^29 steps of their sums and
// more: sums that large take their whole layer the slow way (RescaleAny).
namespace caffe::inference::cpu {

/// What becomes of an output's sums of products, those of 0 and more and those below it.
struct OutputRow {
  int32_t bias = 0;
  kernels::Multiplier positive, negative;
};

/// Between which numbers sums of products lie.
struct SumRange {
  int64_t least = 0, most = 0;
};
/// Of weights and any bytes, signed or not.
SumRange SumsOf(size_t terms, const int8_t* weights);

/// What values, less their zero point, are clamped to.
struct ValueBounds {
  int32_t least = 0, most = 0;
};

/// The row, or one of smaller numbers that makes the same of all these sums: where they all become
/// one value.
OutputRow SimplifiedIfConstant(const OutputRow& row, const SumRange& sums,
                               kernels::Rounding rounding, const ValueBounds& bounds);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CONSTANT_OUTPUTS_HPP_
