#ifndef CAFFE_INFERENCE_REPORT_FORMAT_HPP_
#define CAFFE_INFERENCE_REPORT_FORMAT_HPP_

#include <string>

#include "caffe/element_type.hpp"

// How a report writes numbers.
namespace caffe::inference {

/// Three significant digits, without an exponent from 0.0001 on: "0.123", "1.23", "1234".
std::string Short(double value);
/// The class of the page's style sheet for what computes in a type: "fp32", "fp16", "bf16", "int8".
const char* LookOf(ElementType math);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_FORMAT_HPP_
