#include "caffe/inference/backends/cpu/constant_outputs.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "caffe/test/support/integer_nodes.hpp"
#include "gtest/gtest.h"

namespace caffe::inference::cpu {
namespace {

class ConstantOutputs : public SeededTest {
 protected:
  kernels::Multiplier MultiplierAtRandom() {
    if (Number(0, 9) == 0) return {};
    return {Number(1 << 30, INT32_MAX), -Number(0, 31)};
  }
  /// What sums of either end, and some between them, become.
  std::vector<int32_t> ValuesOf(const OutputRow& row, const SumRange& sums,
                                kernels::Rounding rounding, const ValueBounds& bounds) {
    kernels::Rescaling by;
    by.bias = &row.bias;
    by.multipliers = &row.positive.value;
    by.shifts = &row.positive.shift;
    by.negative_multipliers = &row.negative.value;
    by.negative_shifts = &row.negative.shift;
    by.rounding = rounding;
    by.least = bounds.least;
    by.most = bounds.most;
    std::vector<int32_t> values;
    constexpr int64_t kParts = 20;
    for (int64_t i = 0; i <= kParts; ++i) {
      const int64_t sum = sums.least + (sums.most - sums.least) * i / kParts;
      values.push_back(kernels::Rescaled(by, 0, static_cast<int32_t>(sum)));
    }
    return values;
  }
};

TEST_F(ConstantOutputs, KeepAllTheirValues) {
  int simplified = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(Seed());
    const int largest = 1 << Number(0, 7);
    std::vector<int8_t> weights(Number(1, 30));
    for (int8_t& w : weights)
      w = static_cast<int8_t>(std::clamp(Number(-largest, largest), -127, 127));
    if (Number(0, 2) == 0) std::fill(weights.begin(), weights.end(), int8_t{0});
    const SumRange sums = SumsOf(weights.size(), weights.data());
    OutputRow row;
    row.bias = Number(0, 1) ? Number(-(1 << 30), 1 << 30) : Number(-(1 << 20), 1 << 20);
    row.positive = MultiplierAtRandom();
    row.negative = Number(0, 1) ? row.positive : MultiplierAtRandom();
    const auto rounding = Number(0, 1) ? kernels::Rounding::DOUBLE : kernels::Rounding::SINGLE;
    const int zero_point = Number(0, 255);
    const ValueBounds bounds = {-zero_point, 255 - zero_point};
    const OutputRow made = SimplifiedIfConstant(row, sums, rounding, bounds);
    ASSERT_EQ(ValuesOf(row, sums, rounding, bounds), ValuesOf(made, sums, rounding, bounds));
    simplified += made.bias != row.bias;
    EXPECT_TRUE(made.bias == row.bias || std::abs(made.bias) <= 1 << 28);
  }
  EXPECT_GT(simplified, 300);
}

// A bias of 2^29 steps that is 3 of the output's.
TEST_F(ConstantOutputs, GetSmallNumbers) {
  const int8_t weights[] = {1, 0, -1};
  const SumRange sums = SumsOf(3, weights);
  EXPECT_EQ(sums.least, -128 - 255);
  EXPECT_EQ(sums.most, 255 + 128);
  const kernels::Multiplier by = {3 << 29, -27};
  const OutputRow row =
      SimplifiedIfConstant({1 << 29, by, by}, sums, kernels::Rounding::DOUBLE, {0, 255});
  EXPECT_EQ(row.bias, 3 * 1024);
}

TEST_F(ConstantOutputs, StayWhereTheyDependOnTheSum) {
  const int8_t weights[] = {100};
  const kernels::Multiplier by = {1 << 30, -5};
  const OutputRow row =
      SimplifiedIfConstant({7, by, by}, SumsOf(1, weights), kernels::Rounding::SINGLE, {-128, 127});
  EXPECT_EQ(row.bias, 7);
  EXPECT_EQ(row.positive.shift, -5);
}

}  // namespace
}  // namespace caffe::inference::cpu
