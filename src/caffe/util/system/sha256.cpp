#include "caffe/util/system/sha256.hpp"

#include <algorithm>

namespace caffe {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t Rotated(uint32_t x, int right) { return x >> right | x << (32 - right); }

}  // namespace

void Sha256::AddBlock(const uint8_t* block) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) {
    const uint8_t* at = block + 4 * i;
    words[i] = uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t early = words[i - 15], late = words[i - 2];
    const uint32_t mixed_early = Rotated(early, 7) ^ Rotated(early, 18) ^ early >> 3;
    const uint32_t mixed_late = Rotated(late, 17) ^ Rotated(late, 19) ^ late >> 10;
    words[i] = words[i - 16] + mixed_early + words[i - 7] + mixed_late;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t first =
        h + (Rotated(e, 6) ^ Rotated(e, 11) ^ Rotated(e, 25)) + choice + kConstants[i] + words[i];
    const uint32_t second = (Rotated(a, 2) ^ Rotated(a, 13) ^ Rotated(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<uint32_t, 8> round = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += round[i];
}

void Sha256::Add(const void* data, size_t bytes) {
  const uint8_t* from = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t used = bytes_ % 64, taken = std::min(bytes, 64 - used);
    std::copy_n(from, taken, pending_.begin() + used);
    from += taken;
    bytes -= taken;
    bytes_ += taken;
    if (bytes_ % 64 == 0) AddBlock(pending_.data());
  }
}

std::string Sha256::Digest() const {
  Sha256 ended = *this;
  const uint8_t one = 0x80, zero = 0;
  ended.Add(&one, 1);
  while (ended.bytes_ % 64 != 56) ended.Add(&zero, 1);
  for (int shift = 56; shift >= 0; shift -= 8) {
    const uint8_t byte = static_cast<uint8_t>(bytes_ * 8 >> shift);
    ended.Add(&byte, 1);
  }
  std::string text;
  for (const uint32_t word : ended.state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace caffe
