#ifndef CAFFE_UTIL_SPLIT_HPP_
#define CAFFE_UTIL_SPLIT_HPP_

#include <string>
#include <vector>

#include "caffe/util/string_stream.hpp"

namespace caffe {

/// The parts before, between and behind separators, empty ones, too, but for a last empty one.
inline std::vector<std::string> SplitAt(char separator, const std::string& text) {
  std::vector<std::string> parts;
  StringReader stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// The parts between commas, without empty ones.
inline std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& part : SplitAt(',', text)) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_SPLIT_HPP_
