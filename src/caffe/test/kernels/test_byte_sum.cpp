// Sums of two bytes as kernels compute them while they write are those of AddIntegers' definition,
// for all pairs of bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "caffe/error.hpp"
#include "caffe/kernels/byte_sum.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::kernels {
namespace {

/// Bytes of a kind.
struct Kind {
  bool is_unsigned;
  int32_t least() const { return is_unsigned ? 0 : -128; }
  int32_t most() const { return is_unsigned ? 255 : 127; }
};

/// What a sum is of: scales of both terms and of the result.
struct Scales {
  double y, residual, result;
};

ByteSum SumOf(const Scales& scales, Rounding rounding) {
  const double whole = 2 * std::max(scales.y, scales.residual);
  ByteSum sum;
  sum.by = MultiplierOf(scales.y / whole);
  sum.residual_by = MultiplierOf(scales.residual / whole);
  sum.result.by = MultiplierOf(std::ldexp(whole / scales.result, -kSumShift));
  sum.result.rounding = rounding;
  return sum;
}

/// As the form's comment says.
int32_t Computed(const ByteSumForm& form, int32_t y, int32_t r, Kind result) {
  if (!form.is_linear) {
    const uint8_t byte = form.table[(y - form.least) * 256 + static_cast<uint8_t>(r)];
    return result.is_unsigned ? int32_t{byte} : int32_t{static_cast<int8_t>(byte)};
  }
  const int32_t low = form.low[0] * y + form.low[1] * r + form.low_start;
  const int32_t high = form.high[0] * y + form.high[1] * r + form.high_start;
  return std::clamp((high + (low >> 15)) >> form.shift, form.result_least, form.result_most);
}

void ExpectDefinition(const ByteSum& sum, int32_t least, int32_t most, Kind residual, Kind result,
                      const ByteSumForm& form) {
  for (int32_t y = least; y <= most; ++y) {
    for (int32_t r = residual.least(); r <= residual.most(); ++r) {
      ASSERT_EQ(Computed(form, y, r, result), sum.Of(y, r)) << y << " and " << r;
    }
  }
}

TEST(ByteSum, HasTheBytesOfItsDefinitionForAllPairs) {
  for (const unsigned seed : Seeds(200)) {
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto between = [&](int least, int most) { return DrawInt(least, most, &random); };
    const auto scale = [&] { return std::exp(between(-300, 300) / 100.); };
    const Kind kinds[] = {{between(0, 1) == 1}, {between(0, 1) == 1}, {between(0, 1) == 1}};
    const auto byte = [&](Kind kind) { return between(kind.least(), kind.most()); };
    ByteSum sum =
        SumOf({scale(), scale(), 5 * scale()}, between(0, 1) ? Rounding::DOUBLE : Rounding::SINGLE);
    sum.zero_point = byte(kinds[0]);
    sum.residual_zero_point = byte(kinds[1]);
    sum.result.zero_point = byte(kinds[2]);
    sum.result.least = between(0, 1) ? kinds[2].least() : sum.result.zero_point;
    sum.result.most = between(0, 1) ? kinds[2].most() : between(sum.result.least, kinds[2].most());
    if (between(0, 3) == 0) sum.by.value = -sum.by.value;
    const int32_t least = between(0, 1) ? kinds[0].least() : sum.zero_point;
    const FoundByteSum found(sum, least, kinds[0].most(), kinds[1].is_unsigned,
                             kinds[2].is_unsigned);
    ExpectDefinition(sum, least, kinds[0].most(), kinds[1], kinds[2], found.form());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ByteSum, IsLinearForNearlyAllScales) {
  std::mt19937 random(TestSeed());
  std::uniform_real_distribution<double> ratio(0.1, 1);
  int linear = 0;
  for (int i = 0; i < 100; ++i) {
    ByteSum sum =
        SumOf({1, ratio(random), 2 * ratio(random)}, i % 2 ? Rounding::DOUBLE : Rounding::SINGLE);
    sum.zero_point = sum.residual_zero_point = 100;
    linear += FoundByteSum(sum, 0, 255, true, true).form().is_linear;
  }
  // About one pair of scales in 10000 is not: four of a hundred in fewer than one run in 10^8.
  EXPECT_GE(linear, 97);
}

// Of a net; the multipliers' own products are on the wrong side of two pairs that are nearly
// halves.
TEST(ByteSum, IsLinearWithNumbersNextToTheMultipliersProducts) {
  ByteSum sum;
  sum.by = {1 << 30, 0};
  sum.residual_by = {2106899526, -1};
  sum.result.by = {1569840910, -19};
  sum.zero_point = sum.residual_zero_point = 151;
  sum.result.zero_point = 150;
  const FoundByteSum found(sum, 0, 255, true, true);
  EXPECT_TRUE(found.form().is_linear);
  ExpectDefinition(sum, 0, 255, {true}, {true}, found.form());
}

// A factor of a bit more than a half does both.
TEST(ByteSum, HasHalvesGoUpAndNegativeOnesDown) {
  const Kind bytes = {false};
  ByteSum sum = SumOf({1, 1, 2}, Rounding::DOUBLE);
  sum.result.least = bytes.least();
  sum.result.most = bytes.most();
  const FoundByteSum found(sum, bytes.least(), bytes.most(), false, false);
  EXPECT_TRUE(found.form().is_linear);
  EXPECT_EQ(Computed(found.form(), 2, 1, bytes), 2);
  EXPECT_EQ(Computed(found.form(), -2, -1, bytes), -2);
  ExpectDefinition(sum, bytes.least(), bytes.most(), bytes, bytes, found.form());
}

// Factors have 15 bits before the point.
TEST(ByteSum, IsATableWhereItsStepsAreFarAboveTheResults) {
  ByteSum sum = SumOf({1, 0.3, 1e-5}, Rounding::DOUBLE);
  sum.zero_point = sum.residual_zero_point = sum.result.zero_point = 100;
  const FoundByteSum found(sum, 0, 255, true, true);
  EXPECT_FALSE(found.form().is_linear);
  ExpectDefinition(sum, 0, 255, {true}, {true}, found.form());
}

TEST(ByteSum, RefusesARangeThatIsNotOneOfBytes) {
  const ByteSum sum = SumOf({1, 1, 2}, Rounding::DOUBLE);
  EXPECT_THROW(FoundByteSum(sum, -1, 200, true, true), Error);
  EXPECT_THROW(FoundByteSum(sum, 0, 256, true, true), Error);
  EXPECT_THROW(FoundByteSum(sum, 5, 4, true, true), Error);
}

}  // namespace
}  // namespace caffe::kernels
