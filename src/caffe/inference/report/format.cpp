#include "format.hpp"

#include <cmath>

#include "caffe/util/text/text_table.hpp"

namespace caffe::inference {

std::string Short(double value) {
  return std::abs(value) < 999.5 ? ThreeDigits(value) : Formatted("%.0f", value);
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
