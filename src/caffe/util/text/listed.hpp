#ifndef CAFFE_UTIL_LISTED_HPP_
#define CAFFE_UTIL_LISTED_HPP_

#include <algorithm>
#include <string>
#include <vector>

namespace caffe {

/// "a, b, c".
inline std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// "'a', 'b', 'c'", or, for more than `most`, "'a', 'b' and 3 more".
inline std::string ListedQuoted(const std::vector<std::string>& names, size_t most = -1) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  const size_t more = names.size() - std::min(names.size(), most);
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_LISTED_HPP_
