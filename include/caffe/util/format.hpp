#ifndef CAFFE_UTIL_FORMAT_HPP_
#define CAFFE_UTIL_FORMAT_HPP_

#include <iomanip>
#include <string>

#include "caffe/util/string_stream.hpp"

namespace caffe {

/// `n` in decimals, filled up with zeros to that many characters.
inline std::string format_int(int n, int numberOfLeadingZeros = 0) {
  StringWriter stream;
  stream << std::setw(numberOfLeadingZeros) << std::setfill('0') << n;
  return stream.str();
}

}  // namespace caffe

#endif  // CAFFE_UTIL_FORMAT_HPP_
