#include "caffe/fp16/magnitudes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace caffe {
namespace {

constexpr int kBias = 127;
constexpr int kMantissaBits = 23;
constexpr uint32_t kMantissa = (1u << kMantissaBits) - 1;
// 65504 = 2^15 * (1 + 1023/1024): what follows the leading one.
constexpr uint32_t kMantissaOfLargest = 1023u << (kMantissaBits - 10);

// The octave's index, kept inside the table: what lies beyond its ends counts there.
int IndexOf(int octave, int octaves) { return std::clamp(octave + kBias, 0, octaves); }

}  // namespace

void Magnitudes::Add(const float* values, size_t count) {
  count_ += static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits &= 0x7fffffff;
    const uint32_t mantissa = bits & kMantissa;
    const uint32_t octave = bits >> kMantissaBits;
    if (bits == 0) {
      ++zeros_;
      continue;
    }
    if (octave == 255 && mantissa != 0) {
      ++not_a_number_;
      continue;
    }
    ++octaves_[octave];
    tops_[octave] += mantissa > kMantissaOfLargest || octave == 255;
    powers_[octave] += mantissa == 0;
    if (octave == 255) {
      ++infinite_;
      continue;
    }
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof(magnitude));
    largest_ = std::max(largest_, magnitude);
    smallest_ = smallest_ == 0 ? magnitude : std::min(smallest_, magnitude);
  }
}

double Magnitudes::ShareAbove(int exponent) const {
  const int last = IndexOf(15 + exponent, kOctaves - 1);
  int64_t above = tops_[last];
  for (int k = last + 1; k < kOctaves; ++k) above += octaves_[k];
  return Share(above);
}

double Magnitudes::ShareSubnormal(int exponent) const {
  int64_t below = 0;
  for (int k = 0; k < IndexOf(-14 + exponent, kOctaves); ++k) below += octaves_[k];
  return Share(below);
}

double Magnitudes::ShareFlushed(int exponent) const {
  const int half = IndexOf(-25 + exponent, kOctaves);
  int64_t lost = half < kOctaves ? powers_[half] : 0;
  for (int k = 0; k < half; ++k) lost += octaves_[k];
  return Share(lost);
}

double Magnitudes::Quantile(double share) const {
  const int64_t finite = count_ - zeros_ - infinite_ - not_a_number_;
  int64_t below = 0;
  for (int k = 0; k + 1 < kOctaves; ++k) {
    below += octaves_[k];
    if (finite > 0 && double(below) > share * double(finite)) return std::ldexp(1.0, k - kBias);
  }
  return largest_;
}

int Magnitudes::ExponentFor(double headroom) const {
  return caffe::ExponentFor(largest_, headroom);
}

int ExponentFor(double largest, double headroom) {
  int exponent = 0;
  while (std::ldexp(largest * headroom, -exponent) > kLargestFloat16) ++exponent;
  return exponent;
}

}  // namespace caffe
