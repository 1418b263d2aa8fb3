#include "caffe/util/text/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <utility>

#include "caffe/util/text/printable.hpp"

namespace caffe {
namespace {

/// A text as one line of a terminal shows it.
std::string InOneLine(const std::string& text) {
  std::string line;
  for (const char c : Printable(text)) {
    if (c == '\n' || c == '\t') {
      line += c == '\n' ? "\\x0a" : "\\x09";
    } else {
      line += c;
    }
  }
  return line;
}

/// Columns of a terminal that a character takes. wcwidth depends on the locale.
size_t ColumnsOf(uint32_t character) {
  struct Range {
    uint32_t first, last;
  };
  // Of Unicode's East Asian Width, where most characters are W or F.
  static constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                    {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                    {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  if (character >= 0x300 && character <= 0x36f) return 0;  // combining accents
  const auto holds = [&](const Range& range) {
    return range.first <= character && character <= range.last;
  };
  return std::any_of(std::begin(kWide), std::end(kWide), holds) ? 2 : 1;
}

/// Of valid UTF-8.
size_t ColumnsOf(const std::string& text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at]);
    const size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t character = bytes == 1 ? first : first & (0x7f >> bytes);
    for (size_t i = 1; i < bytes; ++i) character = character << 6 | (text[at + i] & 0x3f);
    columns += ColumnsOf(character);
    at += bytes;
  }
  return columns;
}

}  // namespace

void TextTable::Add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = InOneLine(cell);
  rows_.push_back(std::move(row));
}

void TextTable::Print(std::ostream& out) const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], ColumnsOf(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - ColumnsOf(row[i]), ' ');
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
