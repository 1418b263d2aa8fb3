#ifndef CAFFE_TYPE_HPP_
#define CAFFE_TYPE_HPP_

// NVCaffe's functions on the schema's enum Type. The library itself uses ElementType
// (element_type.hpp), which knows more types.

#include <cstddef>

#include "caffe/element_type.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace payload {

/// The ElementType of the schema's Type. Throws Error for BOOL.
ElementType FromProto(Type type);
/// Throws Error for a type that the schema cannot name.
Type ToProto(ElementType type);

}  // namespace payload

/// The Type of the C++ type T: tp<float>() is FLOAT. Throws Error where the schema has none.
template <typename T>
Type tp() {
  return payload::ToProto(kElementType<T>);
}

/// Bytes of one element. Throws Error for BOOL, of which no tensor is made.
inline std::size_t tsize(Type type) { return SizeOf(payload::FromProto(type)); }

/// True if `type` is the Type of T.
template <typename T>
bool is_type(Type type) {
  return type == tp<T>();
}

}  // namespace caffe

#endif  // CAFFE_TYPE_HPP_
