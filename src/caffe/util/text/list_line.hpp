#ifndef CAFFE_UTIL_TEXT_LIST_LINE_HPP_
#define CAFFE_UTIL_TEXT_LIST_LINE_HPP_

#include <optional>
#include <string>

namespace caffe {

// Lines of lists of images: a path, which may have spaces, white space, and a label or another
// path.

struct PathAndRest {
  std::string path, rest;
};

/// Splits a line, without white space at its end, at its last white space; not set if it has none.
std::optional<PathAndRest> SplitListLine(const std::string& line);

/// True if all of the text is a whole number that an int holds.
bool ParseWholeNumber(const std::string& text, int* number);

/// The same for a label of the list `source`, and as in Caffe of one with a fraction ("0.5") the
/// whole part: a warning is logged for the first such.
bool ParseLabel(const std::string& text, const std::string& source, int* label);

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_LIST_LINE_HPP_
