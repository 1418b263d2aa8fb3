#ifndef CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_
#define CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_

#include <cstdint>

#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/integer_normalization.hpp"
#include "integer_loops.hpp"

namespace caffe {
namespace kernels {

/// IntegerResult::Of for IntegerLoops::finish; the multiplier is not negative.
SumEnd EndOf(const IntegerResult& result);

/// What is rescaled of q and the sum of squares a.
inline int32_t Divided(int32_t q, const int32_t* table, uint64_t a) {
  return static_cast<int32_t>((int64_t{q} * Interpolated(table, a) + (1 << 7)) >> 8);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_
