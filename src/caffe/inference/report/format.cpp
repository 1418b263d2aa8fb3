#include "format.hpp"

#include <cmath>
#include <cstdio>

#include "caffe/util/text/text_table.hpp"

namespace caffe::inference {

std::string Short(double value) {
  if (std::abs(value) < 999.5) return ThreeDigits(value);
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f", value);
  return text;
}

std::string BytesText(size_t bytes) {
  const double count = static_cast<double>(bytes);
  if (bytes < 1000) return Short(count) + " B";
  if (bytes < 1000 << 10) return Short(count / (1 << 10)) + " KB";
  return Short(count / (1 << 20)) + " MB";
}

const char* LookOf(ElementType math) {
  switch (math) {
    case ElementType::FLOAT16:
      return "fp16";
    case ElementType::BFLOAT16:
      return "bf16";
    case ElementType::INT8:
    case ElementType::UINT8:
      return "int8";
    default:
      return "fp32";
  }
}

}  // namespace caffe::inference
