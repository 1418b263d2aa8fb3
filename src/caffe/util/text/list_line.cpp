#include "caffe/util/text/list_line.hpp"

#include <cerrno>
#include <cstdlib>

#include "caffe/common.hpp"

namespace caffe {

std::optional<PathAndRest> SplitListLine(const std::string& line) {
  const size_t space = line.find_last_of(" \t");
  if (space == std::string::npos) return {};
  return PathAndRest{line.substr(0, line.find_last_not_of(" \t", space) + 1),
                     line.substr(space + 1)};
}

bool ParseWholeNumber(const std::string& text, int* number) {
  if (text.empty() || text.find_first_not_of("+-0123456789") != std::string::npos) return false;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);  // NOLINT(runtime/int)
  *number = static_cast<int>(value);
  return *end == '\0' && errno == 0 && *number == value;
}

bool ParseLabel(const std::string& text, const std::string& source, int* label) {
  const size_t point = text.find('.');
  if (point == std::string::npos) return ParseWholeNumber(text, label);
  const std::string whole = text.substr(0, point), fraction = text.substr(point + 1);
  // No digit in front of the point is a 0, if there is one behind it.
  const bool is_short = whole.find_first_of("0123456789") == std::string::npos;
  if (fraction.find_first_not_of("0123456789") != std::string::npos ||
      (is_short && fraction.empty()) || !ParseWholeNumber(is_short ? whole + "0" : whole, label)) {
    return false;
  }
  LOG_FIRST_N(WARNING, 1) << source << ": the label '" << text << "' is taken as " << *label
                          << ", as in Caffe, and others with a fraction are cut, too.";
  return true;
}

}  // namespace caffe
