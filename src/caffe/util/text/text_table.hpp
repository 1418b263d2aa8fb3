#ifndef CAFFE_UTIL_TEXT_TABLE_HPP_
#define CAFFE_UTIL_TEXT_TABLE_HPP_

#include <ostream>
#include <string>
#include <vector>

namespace caffe {

/// Rows of text in columns as wide as their widest cell, two spaces apart, where a terminal shows
/// UTF-8. Control characters, and bytes that are not UTF-8, become \xHH (Printable).
class TextTable {
 public:
  /// The first `left` columns are aligned to the left, the others to the right.
  TextTable(std::vector<std::string> header, size_t left) : left_(left) { Add(std::move(header)); }
  void Add(std::vector<std::string> row);
  void Print(std::ostream& out) const;

 private:
  const size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

/// What printf would write, up to 399 characters: for texts of a few numbers.
__attribute__((format(printf, 1, 2))) std::string Formatted(const char* format, ...);
/// Three significant digits.
std::string ThreeDigits(double value);
/// "512 B", "1.5 KB", "102 MB", "7.25 GB": three significant digits, never an exponent; 1 KB is
/// 1024 bytes, and what would be 1000 of a unit is less than 1 of the next one.
std::string BytesText(size_t bytes);
/// A share (0 to 1) as a percentage of two digits; what is not 0 never looks like it.
std::string PercentText(double share);

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_TABLE_HPP_
