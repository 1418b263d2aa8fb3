#ifndef CAFFE_LAYERS_SOURCE_STATE_HPP_
#define CAFFE_LAYERS_SOURCE_STATE_HPP_

#include <cstdint>
#include <string>

#include "caffe/error.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {

/// The position of a data layer as one text, for resumed runs: texts of any contents one after
/// another, each as "<length>:<text>".
class StateWriter {
 public:
  void Put(const std::string& text) { text_ += Join(text.size(), ":", text); }
  void Put(uint64_t number) { Put(std::to_string(number)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads what StateWriter wrote. Throws Error where the text is none.
class StateReader {
 public:
  explicit StateReader(const std::string& text) : text_(text) {}

  std::string Text() {
    const size_t colon = text_.find(':', position_);
    const std::string digits =
        colon == std::string::npos ? "" : text_.substr(position_, colon - position_);
    const bool number = !digits.empty() && digits.size() < 10 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
    Require(number && colon + 1 + std::stoul(digits) <= text_.size(),
            "the stored position cannot be read");
    const size_t length = std::stoul(digits);
    position_ = colon + 1 + length;
    return text_.substr(colon + 1, length);
  }
  uint64_t Number() {
    StringReader stream(Text());
    uint64_t number = 0;
    Require(static_cast<bool>(stream >> number), "the stored position cannot be read");
    return number;
  }
  bool at_end() const { return position_ >= text_.size(); }

 private:
  const std::string text_;
  size_t position_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_SOURCE_STATE_HPP_
