#ifndef CAFFE_INFERENCE_QUANTIZE_TEXT_NUMBERS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_TEXT_NUMBERS_HPP_

#include <charconv>
#include <string>

#include "caffe/error.hpp"

// Numbers in text files, independent of the locale.
namespace caffe {

/// The shortest text that reads as the same number.
template <typename Number>
std::string ShortestText(Number value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

/// Throws Error with `what` and the text unless the whole text is one number that fits Number.
template <typename Number>
Number ParsedNumber(const std::string& text, const char* what) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  Require(result.ec == std::errc() && result.ptr == end && !text.empty(), what, " '", text,
          "' is not a number");
  return value;
}

/// Likewise of a whole number in hexadecimal digits.
inline uint64_t ParsedHex(const std::string& text, size_t most_digits, const char* what) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, 16);
  Require(
      result.ec == std::errc() && result.ptr == end && !text.empty() && text.size() <= most_digits,
      what, " '", text, "' is not a number of at most ", most_digits, " hexadecimal digits");
  return value;
}

inline std::string HexText(uint64_t value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value, 16).ptr);
}

}  // namespace caffe

#endif  // CAFFE_INFERENCE_QUANTIZE_TEXT_NUMBERS_HPP_
