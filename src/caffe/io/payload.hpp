#ifndef CAFFE_IO_PAYLOAD_HPP_
#define CAFFE_IO_PAYLOAD_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/error.hpp"

namespace caffe {

/// Calls f(T()) with the C++ type of `type`, one that weights can be converted from and to. Throws
/// Error for the integer types.
template <typename Function>
void DispatchReal(ElementType type, Function&& f) {
  if (type == ElementType::BFLOAT16) return f(bfloat16());
  Dispatch(type, f);
}

/// Converts `count` elements of From, `stride` bytes apart and not aligned, to contiguous ones.
template <typename From, typename To>
void ConvertElements(const uint8_t* from, size_t count, size_t stride, To* to) {
  for (size_t i = 0; i < count; ++i, from += stride) {
    From value;
    std::memcpy(&value, from, sizeof(value));
    if constexpr (std::is_arithmetic_v<From> || std::is_arithmetic_v<To>) {
      to[i] = static_cast<To>(value);
    } else {
      to[i] = static_cast<To>(static_cast<float>(value));  // float holds both half types exactly
    }
  }
}

/// The product of a shape's axes. Throws Error if an axis is negative or the product overflows.
inline int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t axis : shape) {
    Require(axis >= 0, "an axis of the shape is negative (", axis, ")");
    Require(axis == 0 || count <= std::numeric_limits<int64_t>::max() / axis,
            "the product of the shape's axes is larger than any memory");
    count *= axis;
  }
  return count;
}

}  // namespace caffe

#endif  // CAFFE_IO_PAYLOAD_HPP_
