#include "caffe/util/text/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace caffe {

void TextTable::Print(std::ostream& out) const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < left_ ? row[i] + space : space + row[i]);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

std::string Formatted(const char* format, ...) {
  char text[400];  // the largest double has 309 digits
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  return text;
}

std::string ThreeDigits(double value) { return Formatted("%.3g", value); }

std::string BytesText(size_t bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  // From 999.5 on three digits are 1e+03.
  for (; amount >= 999.5 && unit < 3; ++unit) amount /= 1024;
  const std::string digits =
      amount < 999.5 ? ThreeDigits(amount) : std::to_string(std::llround(amount));
  return digits + " " + units[unit];
}

std::string PercentText(double share) {
  if (share == 0) return "0";
  return share < 0.0001 ? "<0.01 %" : Formatted("%.2f %%", 100 * share);
}

}  // namespace caffe
