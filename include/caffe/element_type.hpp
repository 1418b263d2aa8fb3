#ifndef CAFFE_ELEMENT_TYPE_HPP_
#define CAFFE_ELEMENT_TYPE_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/float16.hpp"

namespace caffe {

/// The type of one element of a tensor. Apart from the schema's `Type` (caffe.proto), which names
/// only what prototxt files can say.
enum class ElementType : uint8_t { FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT8, UINT8, INT32, UINT32 };

/// Bytes of one element.
constexpr size_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::DOUBLE:
      return 8;
    case ElementType::FLOAT:
    case ElementType::INT32:
    case ElementType::UINT32:
      return 4;
    case ElementType::FLOAT16:
    case ElementType::BFLOAT16:
      return 2;
    default:
      return 1;
  }
}

/// "FLOAT", "FLOAT16", ...: the spelling of prototxt files.
const char* Name(ElementType type);

/// True for FLOAT16 and BFLOAT16, whose scalars and sums are kept in float.
constexpr bool IsHalfWidth(ElementType type) {
  return type == ElementType::FLOAT16 || type == ElementType::BFLOAT16;
}

namespace detail {
template <typename T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<float> {
  static constexpr ElementType value = ElementType::FLOAT;
};
template <>
struct ElementTypeOf<double> {
  static constexpr ElementType value = ElementType::DOUBLE;
};
template <>
struct ElementTypeOf<float16> {
  static constexpr ElementType value = ElementType::FLOAT16;
};
template <>
struct ElementTypeOf<bfloat16> {
  static constexpr ElementType value = ElementType::BFLOAT16;
};
template <>
struct ElementTypeOf<int8_t> {
  static constexpr ElementType value = ElementType::INT8;
};
template <>
struct ElementTypeOf<uint8_t> {
  static constexpr ElementType value = ElementType::UINT8;
};
template <>
struct ElementTypeOf<int> {
  static constexpr ElementType value = ElementType::INT32;
};
template <>
struct ElementTypeOf<unsigned int> {
  static constexpr ElementType value = ElementType::UINT32;
};
}  // namespace detail

/// The ElementType of the C++ type T.
template <typename T>
constexpr ElementType kElementType = detail::ElementTypeOf<T>::value;

/// The type in which sums and scalars over T are kept: double for double, else float.
template <typename T>
struct Accumulator {
  using type = float;
};
template <>
struct Accumulator<double> {
  using type = double;
};
template <typename T>
using AccumulatorType = typename Accumulator<T>::type;

/// Calls f(T()) with the C++ type of `type`, one of FLOAT, DOUBLE, FLOAT16: the types in which
/// layers compute. Throws Error for any other.
///
///     Dispatch(forward_type(), [&](auto tag) { using T = decltype(tag); ... });
template <typename Function>
void Dispatch(ElementType type, Function&& f) {
  switch (type) {
    case ElementType::FLOAT:
      return f(float());
    case ElementType::DOUBLE:
      return f(double());
    case ElementType::FLOAT16:
      return f(float16());
    default:
      Fail("layers store FLOAT, DOUBLE or FLOAT16, not ", Name(type));
  }
}

/// Calls f(T(), D()) with the C++ types of activations and of their gradients. FLOAT and FLOAT16
/// come in every pair; a DOUBLE together with another type makes both DOUBLE (the tensor converts).
template <typename Function>
void Dispatch(ElementType data, ElementType diff, Function&& f) {
  if (data == ElementType::DOUBLE || diff == ElementType::DOUBLE) return f(double(), double());
  Dispatch(data, [&](auto data_tag) {
    Dispatch(diff, [&](auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      if constexpr (kElementType<T> != ElementType::DOUBLE &&
                    kElementType<D> != ElementType::DOUBLE) {
        f(T(), D());
      }
    });
  });
}

}  // namespace caffe

#endif  // CAFFE_ELEMENT_TYPE_HPP_
