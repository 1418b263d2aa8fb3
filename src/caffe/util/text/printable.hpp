#ifndef CAFFE_UTIL_PRINTABLE_HPP_
#define CAFFE_UTIL_PRINTABLE_HPP_

#include <string>

namespace caffe {

/// A text from outside as a terminal may show it: control characters other than line feed and tab,
/// and bytes that are not UTF-8, become \xHH.
std::string Printable(const std::string& text);

}  // namespace caffe

#endif  // CAFFE_UTIL_PRINTABLE_HPP_
