#ifndef CAFFE_INFERENCE_PRECISION_HPP_
#define CAFFE_INFERENCE_PRECISION_HPP_

#include <string>

#include "caffe/element_type.hpp"

namespace caffe::inference {

/// The type in which layers with weights compute, and blobs between them lie.
enum class Precision {
  FP32,
  FP16,  ///< halves, sums in float
  BF16,  ///< the upper half of a float, sums in float
  INT8,  ///< 8-bit integers, 32-bit sums; needs calibration
  BEST   ///< for each layer the fastest, as far as the accuracy allows
};

/// "fp32", "fp16", "bf16", "int8", "best".
const char* Name(Precision precision);
/// The precision of that name, upper case or lower. Throws Error that lists the names.
Precision ParsePrecision(const std::string& name);
/// What blobs of that precision are stored in; INT8 for INT8. Not for BEST.
ElementType StorageOf(Precision precision);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PRECISION_HPP_
