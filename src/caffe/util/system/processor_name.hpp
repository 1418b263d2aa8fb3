#ifndef CAFFE_UTIL_PROCESSOR_NAME_HPP_
#define CAFFE_UTIL_PROCESSOR_NAME_HPP_

#include <string>

namespace caffe {

/// What the processor calls itself ("AMD EPYC 9355"), as Linux knows it; "unknown" elsewhere.
std::string ProcessorName();

}  // namespace caffe

#endif  // CAFFE_UTIL_PROCESSOR_NAME_HPP_
