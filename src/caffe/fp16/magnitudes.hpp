#ifndef CAFFE_FP16_MAGNITUDES_HPP_
#define CAFFE_FP16_MAGNITUDES_HPP_

#include <array>
#include <cstddef>
#include <cstdint>

namespace caffe {

/// FP16's range (IEEE 754 binary16).
constexpr double kLargestFloat16 = 65504;
constexpr double kSmallestNormalFloat16 = 1.0 / (1 << 14);

/// How the magnitudes of many floats are distributed: counts per octave, from which the share of
/// values that FP16 cannot hold is known exactly, also after a division by a power of two.
class Magnitudes {
 public:
  void Add(const float* values, size_t count);

  /// Values seen, and those of them that are 0, infinite, not a number.
  int64_t count() const { return count_; }
  int64_t zeros() const { return zeros_; }
  int64_t infinite() const { return infinite_; }
  int64_t not_a_number() const { return not_a_number_; }
  int64_t not_finite() const { return infinite_ + not_a_number_; }
  /// Magnitudes of the finite values; 0 if there is none (none but zeros).
  double largest() const { return largest_; }
  double smallest_nonzero() const { return smallest_; }

  /// Shares (0 to 1) of all values, each divided by 2^exponent first:
  /// above 65504 (infinities count);
  double ShareAbove(int exponent = 0) const;
  /// neither 0 nor normal in FP16: kept with fewer digits (below 2^-14) or lost;
  double ShareSubnormal(int exponent = 0) const;
  /// that become 0 though they are not (2^-25 and less, rounded to even).
  double ShareFlushed(int exponent = 0) const;

  /// The lower end of the octave in which the given share (0 to 1) of the nonzero finite values
  /// lies below; 0 if there are none.
  double Quantile(double share) const;

  /// The least exponent, 0 or more, so that largest() * headroom / 2^exponent is at most 65504.
  int ExponentFor(double headroom) const;

 private:
  static constexpr int kOctaves = 256;  // float's exponent field; infinities in the last
  double Share(int64_t count) const { return count_ ? double(count) / double(count_) : 0; }

  std::array<int64_t, kOctaves> octaves_{};  // values in [2^k, 2^(k+1)), k = index - 127
  std::array<int64_t, kOctaves> tops_{};     // those of them above 2^(k+1) * 65504 / 65536
  std::array<int64_t, kOctaves> powers_{};   // those of them that are 2^k
  int64_t count_ = 0, zeros_ = 0, infinite_ = 0, not_a_number_ = 0;
  float largest_ = 0, smallest_ = 0;
};

/// The least exponent, 0 or more, so that largest * headroom / 2^exponent is at most 65504.
int ExponentFor(double largest, double headroom);

}  // namespace caffe

#endif  // CAFFE_FP16_MAGNITUDES_HPP_
