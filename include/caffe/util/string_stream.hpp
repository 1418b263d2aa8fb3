#ifndef CAFFE_UTIL_STRING_STREAM_HPP_
#define CAFFE_UTIL_STRING_STREAM_HPP_

#include <sstream>
#include <string>

namespace caffe {

/// String streams that let std::bad_alloc out. The standard's catch it, and go on without what
/// there was no memory for: a text with a hole, a list without its end.
class StringWriter : public std::ostringstream {
 public:
  StringWriter() { exceptions(std::ios::badbit); }
};

class StringReader : public std::istringstream {
 public:
  explicit StringReader(const std::string& text) : std::istringstream(text) {
    exceptions(std::ios::badbit);
  }
};

}  // namespace caffe

#endif  // CAFFE_UTIL_STRING_STREAM_HPP_
