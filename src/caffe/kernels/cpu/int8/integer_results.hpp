#ifndef CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_
#define CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_

#include "caffe/kernels/integer_elementwise.hpp"
#include "integer_loops.hpp"

namespace caffe::kernels {

/// IntegerResult::Of for IntegerLoops::finish; the multiplier is not negative.
SumEnd EndOf(const IntegerResult& result);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INTEGER_RESULTS_HPP_
