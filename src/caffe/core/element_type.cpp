#include "caffe/element_type.hpp"

namespace caffe {

const char* Name(ElementType type) {
  switch (type) {
    case ElementType::FLOAT:
      return "FLOAT";
    case ElementType::DOUBLE:
      return "DOUBLE";
    case ElementType::FLOAT16:
      return "FLOAT16";
    case ElementType::BFLOAT16:
      return "BFLOAT16";
    case ElementType::INT8:
      return "INT8";
    case ElementType::UINT8:
      return "UINT8";
    case ElementType::INT32:
      return "INT32";
    case ElementType::UINT32:
      return "UINT32";
  }
  return "unknown";
}

}  // namespace caffe
