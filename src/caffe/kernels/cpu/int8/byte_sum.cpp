#include "caffe/kernels/byte_sum.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "caffe/error.hpp"

namespace caffe::kernels {
namespace {

constexpr int kLowBits = 15;
constexpr int kBytes = 256;
// More fractional bits gain nothing, and with these a sum's start value fits 32 bits.
constexpr int kMaxBits = 36;

/// i as a byte of a kind.
int32_t ByteOf(int i, bool is_unsigned) { return is_unsigned ? i : static_cast<int8_t>(i); }

// Tried as additions to both numbers: too small to move a sum by 2^-15 of a step, but enough to
// separate sums that AddIntegers rounds differently.
constexpr int kNudges[] = {0, 32, -32, 64, -64};

/// How many fractional bits both numbers can have in 31 bits.
int BitsOf(double a, double b) {
  const double largest = std::max(std::fabs(a), std::fabs(b));
  int bits = kMaxBits;
  while (std::ldexp(largest, bits) > (1 << 30) - 65) --bits;
  return bits;
}

/// The numbers C for which floor((f + C) / 2^bits), clamped, is the required byte.
struct Offsets {
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();

  void Narrow(int64_t f, int64_t byte, const IntegerResult& result, int bits) {
    const int64_t one = int64_t{1} << bits;
    if (byte > result.least) least = std::max(least, byte * one - f);
    if (byte < result.most) most = std::min(most, (byte + 1) * one - 1 - f);
  }
  bool empty() const { return least > most; }
  int64_t Middle() const {
    const bool has_least = least > std::numeric_limits<int64_t>::min();
    const bool has_most = most < std::numeric_limits<int64_t>::max();
    if (has_least && has_most) return least + (most - least) / 2;
    return has_least ? least : has_most ? most : 0;
  }
};

void SetLinear(int64_t a, int64_t b, int64_t offset, ByteSumForm* form) {
  constexpr int64_t kLow = (1 << kLowBits) - 1;
  form->high[0] = static_cast<int16_t>(a >> kLowBits);
  form->high[1] = static_cast<int16_t>(b >> kLowBits);
  form->low[0] = static_cast<int16_t>(a & kLow);
  form->low[1] = static_cast<int16_t>(b & kLow);
  form->high_start = static_cast<int32_t>(offset >> kLowBits);
  form->low_start = static_cast<int32_t>(offset & kLow);
}

}  // namespace

FoundByteSum::FoundByteSum(const ByteSum& sum, int32_t least, int32_t most,
                           bool residual_is_unsigned, bool result_is_unsigned) {
  Require(least <= most && (least >= 0 ? most <= 255 : least >= -128 && most <= 127), "from ",
          least, " to ", most, " are no bytes");
  form_.least = least;
  form_.most = most;
  form_.result_least = sum.result.least;
  form_.result_most = sum.result.most;
  FillTable(sum, residual_is_unsigned, result_is_unsigned);
  form_.is_linear = FindLinear(sum, residual_is_unsigned, result_is_unsigned);
  if (form_.is_linear) table_ = {};
  form_.table = form_.is_linear ? nullptr : table_.data();
}

void FoundByteSum::FillTable(const ByteSum& sum, bool residual_is_unsigned,
                             bool result_is_unsigned) {
  const size_t rows = form_.most - form_.least + 1;
  std::vector<uint8_t> y, r;
  for (size_t i = 0; i < rows * kBytes; ++i) {
    y.push_back(static_cast<uint8_t>(form_.least + static_cast<int>(i / kBytes)));
    r.push_back(static_cast<uint8_t>(i % kBytes));
  }
  table_.resize(y.size());
  const std::vector<IntegerOperand> operands = {
      {y.data(), form_.least >= 0, sum.zero_point},
      {r.data(), residual_is_unsigned, sum.residual_zero_point}};
  const std::vector<Multiplier> by = {sum.by, sum.residual_by};
  if (result_is_unsigned) {
    AddIntegers(y.size(), operands, by, sum.result, table_.data());
  } else {
    AddIntegers(y.size(), operands, by, sum.result, reinterpret_cast<int8_t*>(table_.data()));
  }
}

bool FoundByteSum::FindLinear(const ByteSum& sum, bool residual_is_unsigned,
                              bool result_is_unsigned) {
  const double whole = std::ldexp(RealOf(sum.result.by), kSumShift);
  const double reals[2] = {RealOf(sum.by) * whole, RealOf(sum.residual_by) * whole};
  const int bits = BitsOf(reals[0], reals[1]);
  if (bits < kLowBits) return false;
  form_.shift = bits - kLowBits;
  const auto offset_for = [&](int64_t a, int64_t b) -> std::optional<int64_t> {
    Offsets offsets;
    const uint8_t* byte = table_.data();
    for (int32_t y = form_.least; y <= form_.most; ++y) {
      for (int r = 0; r < kBytes; ++r, ++byte) {
        const int64_t f = a * y + b * ByteOf(r, residual_is_unsigned);
        offsets.Narrow(f, ByteOf(*byte, result_is_unsigned), sum.result, bits);
      }
      if (offsets.empty()) return {};
    }
    return offsets.Middle();
  };
  for (const int nudge : kNudges) {
    for (const int other_nudge : kNudges) {
      const int64_t a = std::llround(std::ldexp(reals[0], bits)) + nudge;
      const int64_t b = std::llround(std::ldexp(reals[1], bits)) + other_nudge;
      if (const auto offset = offset_for(a, b)) {
        SetLinear(a, b, *offset, &form_);
        return true;
      }
    }
  }
  return false;
}

}  // namespace caffe::kernels
