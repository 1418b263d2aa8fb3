#ifndef CAFFE_IO_LITTLE_ENDIAN_HPP_
#define CAFFE_IO_LITTLE_ENDIAN_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe {

/// The number that `count` bytes are, up to 8, the least significant one first.
inline uint64_t LittleEndian(const void* bytes, size_t count) {
  uint64_t value = 0;
  while (count-- > 0) value = value << 8 | static_cast<const uint8_t*>(bytes)[count];
  return value;
}

}  // namespace caffe

#endif  // CAFFE_IO_LITTLE_ENDIAN_HPP_
