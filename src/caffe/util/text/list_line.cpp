#include "caffe/util/text/list_line.hpp"

#include <cerrno>
#include <cstdlib>

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

}  // namespace caffe
