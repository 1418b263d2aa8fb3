#ifndef CAFFE_UTIL_LETTERS_HPP_
#define CAFFE_UTIL_LETTERS_HPP_

#include <cctype>
#include <string>

namespace caffe {

inline std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_LETTERS_HPP_
