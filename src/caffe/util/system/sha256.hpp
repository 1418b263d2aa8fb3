#ifndef CAFFE_UTIL_SHA256_HPP_
#define CAFFE_UTIL_SHA256_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace caffe {

/// The Secure Hash Algorithm with 256 bits, FIPS 180-4.
class Sha256 {
 public:
  void Add(const void* data, size_t bytes);
  /// The hash of all that was added, in 64 hexadecimal digits.
  std::string Digest() const;

 private:
  void AddBlock(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};  // what is not a whole block yet
  uint64_t bytes_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_SHA256_HPP_
