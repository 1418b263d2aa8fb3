#ifndef CAFFE_INFERENCE_REPORT_FORMAT_HPP_
#define CAFFE_INFERENCE_REPORT_FORMAT_HPP_

#include <cstddef>
#include <string>

#include "caffe/element_type.hpp"

// How a report writes numbers.
namespace caffe::inference {

/// Three significant digits, without an exponent from 0.0001 on: "0.123", "1.23", "1234".
std::string Short(double value);
/// "512 B", "1.23 KB", "45.6 MB"; 1 KB is 1024 bytes.
std::string BytesText(size_t bytes);
/// The class of the page's style sheet for what computes in a type: "fp32", "fp16", "bf16", "int8".
const char* LookOf(ElementType math);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_FORMAT_HPP_
