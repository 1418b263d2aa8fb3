#ifndef CAFFE_INFERENCE_PRECISION_HPP_
#define CAFFE_INFERENCE_PRECISION_HPP_

#include <string>

#include "caffe/element_type.hpp"

namespace caffe::inference {

/// The type in which layers with weights compute and blobs between them are stored.
enum class Precision {
  FP32,
  FP16,  ///< sums in float
  BF16,  ///< the upper 16 bits of a float, sums in float
  INT8,  ///< 8-bit integers, 32-bit sums; needs calibration
  BEST   ///< the fastest for each layer within the accuracy limit
};

/// "fp32", "fp16", "bf16", "int8", "best".
const char* Name(Precision precision);
/// Parses a name in upper or lower case. Throws Error that lists the names.
Precision ParsePrecision(const std::string& name);
/// The type in which blobs of a precision are stored. Not for BEST.
ElementType StorageOf(Precision precision);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PRECISION_HPP_
