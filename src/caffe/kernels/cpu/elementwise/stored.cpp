#include "stored.hpp"

#include "caffe/error.hpp"

namespace caffe::kernels {

Storage StorageOf(ElementType type) {
  switch (type) {
    case ElementType::FLOAT:
      return STORED_FLOAT;
    case ElementType::FLOAT16:
      return STORED_HALF;
    case ElementType::BFLOAT16:
      return STORED_BFLOAT16;
    default:
      Fail("a floating-point kernel does not take ", Name(type));
  }
}

}  // namespace caffe::kernels
