#ifndef CAFFE_KERNELS_CPU_STORED_HPP_
#define CAFFE_KERNELS_CPU_STORED_HPP_

#include <stddef.h>

#include <type_traits>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// How numbers are stored whose arithmetic is in float; an index into tables of functions.
enum Storage { STORED_FLOAT, STORED_HALF, STORED_BFLOAT16, STORAGES };

/// The Storage of T: float, float16 or bfloat16.
template <typename T>
constexpr Storage StorageOf() {
  static_assert(std::is_same<T, float>::value || std::is_same<T, float16>::value ||
                    std::is_same<T, bfloat16>::value,
                "float, float16 or bfloat16");
  return std::is_same<T, float>::value     ? STORED_FLOAT
         : std::is_same<T, float16>::value ? STORED_HALF
                                           : STORED_BFLOAT16;
}

/// The Storage of FLOAT, FLOAT16 or BFLOAT16. Throws Error for other types.
Storage StorageOf(ElementType type);

inline size_t SizeOf(Storage storage) { return storage == STORED_FLOAT ? 4 : 2; }

/// An array of such numbers.
struct Stored {
  const void* data;
  Storage storage;
  const void* at(size_t offset) const {
    return static_cast<const char*>(data) + offset * SizeOf(storage);
  }
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_STORED_HPP_
