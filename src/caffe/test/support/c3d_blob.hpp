#ifndef CAFFE_TEST_C3D_BLOB_HPP_
#define CAFFE_TEST_C3D_BLOB_HPP_

#include <string>
#include <vector>

#include "caffe/io/wire.hpp"

namespace caffe {

/// The field `number` of a message, encoded, with `content`.
inline std::string EncodedField(uint32_t number, const std::string& content) {
  std::string bytes;
  wire::AppendHeader(number, content.size(), &bytes);
  return bytes + content;
}

/// An encoded BlobProto of C3D 1.0: num, channels, length, height and width are the fields 1 to 5,
/// data and diff the fields 6 and 7.
inline std::string C3dBlob(const std::vector<int>& shape, const std::vector<float>& data) {
  std::string bytes;
  for (size_t i = 0; i < shape.size(); ++i) {
    wire::AppendTag(i + 1, wire::Type::VARINT, &bytes);
    wire::AppendVarint(shape[i], &bytes);
  }
  const std::string floats(reinterpret_cast<const char*>(data.data()), sizeof(float) * data.size());
  return bytes + EncodedField(6, floats) + EncodedField(7, floats);
}

}  // namespace caffe

#endif  // CAFFE_TEST_C3D_BLOB_HPP_
