// Sums, products, maxima and ReLUs of FLOAT16 against the same of floats, rounded: the same bits on
// every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/eltwise.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::kernels {
namespace {

using Halves = std::vector<float16>;
using WideNumbers = std::vector<float>;

class HalfArithmetic : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override { SetCpuInstructionSet(GetParam()); }
  void TearDown() override { SetCpuInstructionSet(before_); }

 private:
  const InstructionSet before_ = CpuInstructionSet();
};

/// Any of the 65,536 numbers, subnormals, infinities and NaNs too.
Halves RandomHalves(size_t n, std::mt19937* random) {
  Halves numbers(n);
  for (float16& x : numbers) {
    const uint16_t bits = static_cast<uint16_t>((*random)());
    std::memcpy(&x, &bits, sizeof(x));
  }
  return numbers;
}

WideNumbers WideHalves(const Halves& x) {
  WideNumbers wide(x.size());
  Convert(x.size(), x.data(), wide.data());
  return wide;
}

void ExpectRounded(const WideNumbers& expected, const Halves& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const float16 rounded(expected[i]);
    if (std::isnan(static_cast<float>(rounded))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(found[i]))) << i;
    } else {
      EXPECT_EQ(std::memcmp(&rounded, &found[i], sizeof(rounded)), 0)
          << i << ": " << static_cast<float>(found[i]) << " instead of " << expected[i];
    }
  }
}

TEST_P(HalfArithmetic, HasTheBitsOfFloatsThatAreRounded) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  for (const size_t n : {0, 1, 7, 8, 16, 33, 1000, 40000}) {
    const Halves x = RandomHalves(n, &random), z = RandomHalves(n, &random);
    const WideNumbers wide_x = WideHalves(x), wide_z = WideHalves(z);
    Halves y(n), in_place = x;
    WideNumbers expected(n);
    Add(n, x.data(), z.data(), y.data());
    Add(n, wide_x.data(), wide_z.data(), expected.data());
    ExpectRounded(expected, y);
    AddArrays<float16>(n, {in_place.data(), z.data()}, in_place.data());
    ExpectRounded(expected, in_place);
    Multiply(n, x.data(), z.data(), y.data());
    Multiply(n, wide_x.data(), wide_z.data(), expected.data());
    ExpectRounded(expected, y);
    MultiplyArrays<float16>(n, {x.data(), z.data()}, y.data());
    ExpectRounded(expected, y);
    MaximumOfArrays<float16>(n, {x.data(), z.data()}, y.data());
    MaximumOfArrays<float>(n, {wide_x.data(), wide_z.data()}, expected.data());
    ExpectRounded(expected, y);
    for (const double slope : {0., 0.3, -2.}) {
      Activation relu;
      relu.kind = Activation::RELU;
      relu.a = slope;
      in_place = x;
      Activate(relu, n, in_place.data(), in_place.data());
      Activate(relu, n, wide_x.data(), expected.data());
      ExpectRounded(expected, in_place);
      ActivateGradient(relu, n, x.data(), z.data(), y.data());
      ActivateGradient(relu, n, wide_x.data(), wide_z.data(), expected.data());
      ExpectRounded(expected, y);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, HalfArithmetic, ::testing::ValuesIn(FloatInstructionSets()),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace
}  // namespace caffe::kernels
