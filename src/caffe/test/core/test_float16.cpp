#include "caffe/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/slow_tests.hpp"

namespace caffe {
namespace {

using kernels::InstructionSet;

/// Rounds to a float type of `mantissa` bits whose least exponent is `least` and whose greatest
/// is `greatest`, by the book: scale so that one unit in the last place is 1, round, scale back.
double RoundByTheBook(double x, int mantissa, int least, int greatest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), least);
  const double unit = std::ldexp(1., exponent - mantissa);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) >= std::ldexp(2., greatest) ? std::copysign(INFINITY, x) : rounded;
}

double HalfByTheBook(double x) { return RoundByTheBook(x, 10, -14, 15); }

uint16_t Bits(float16 x) { return x.bits; }

float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(Float16, KnownValues) {
  EXPECT_EQ(Bits(float16(0.f)), 0x0000);
  EXPECT_EQ(Bits(float16(-0.f)), 0x8000);
  EXPECT_EQ(Bits(float16(1.f)), 0x3c00);
  EXPECT_EQ(Bits(float16(-2.f)), 0xc000);
  EXPECT_EQ(Bits(float16(65504.f)), 0x7bff);
  EXPECT_EQ(Bits(float16(65519.996f)), 0x7bff);
  EXPECT_EQ(Bits(float16(65520.f)), 0x7c00) << "the first that overflows";
  EXPECT_EQ(Bits(float16(std::ldexp(1.f, -24))), 0x0001) << "the least subnormal";
  EXPECT_EQ(Bits(float16(std::ldexp(1.f, -25))), 0x0000) << "a tie goes to even";
  EXPECT_EQ(Bits(float16(std::nextafter(std::ldexp(1.f, -25), 1.f))), 0x0001);
  EXPECT_EQ(Bits(float16(std::ldexp(3.f, -25))), 0x0002);
  EXPECT_EQ(Bits(float16(INFINITY)), 0x7c00);
  EXPECT_EQ(Bits(float16(-INFINITY)), 0xfc00);
}

TEST(Float16, NansStayNansAndBecomeQuiet) {
  for (uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu}) {
    const uint16_t half = Bits(float16(FloatOfBits(bits)));
    EXPECT_EQ(half & 0x7e00, 0x7e00) << std::hex << bits;
    EXPECT_EQ(half >> 15, bits >> 31);
  }
}

// A long integer or a double that lies just above a tie between two FP16 values must not be rounded
// to the tie first.
TEST(Float16, EveryArithmeticTypeRoundsOnce) {
  EXPECT_EQ(Bits(float16(2049)), Bits(float16(2048))) << "a tie";
  EXPECT_EQ(Bits(float16(1. + std::ldexp(1., -11) + std::ldexp(1., -40))), 0x3c01);
  EXPECT_EQ(Bits(float16(1. + std::ldexp(1., -11))), 0x3c00);
  EXPECT_EQ(Bits(float16((int64_t(1) << 40))), 0x7c00);
  const int64_t above_a_tie = (int64_t(1) << 62) + (int64_t(1) << 54) + 1;
  EXPECT_EQ(bfloat16(above_a_tie).bits, bfloat16(double(int64_t(1) << 62)).bits + 1);
  EXPECT_EQ(Bits(float16(uint64_t(33))), Bits(float16(33.f)));
  EXPECT_EQ(Bits(float16(int8_t(-3))), Bits(float16(-3.f)));
  EXPECT_EQ(Bits(float16(true)), Bits(float16(1.f)));
}

TEST(Float16, ArithmeticIsFloatsRounded) {
  float16 x = float16(1.5f);
  x += float16(0.25f);
  EXPECT_EQ(float(x), 1.75f);
  EXPECT_EQ(float(float16(60000.f) + float16(60000.f)), INFINITY);
  EXPECT_EQ(float(float16(3.f) * float16(0.5f)), 1.5f);
  EXPECT_EQ(float(float16(1.f) / float16(4.f)), 0.25f);
  EXPECT_EQ(float(-float16(2.f)), -2.f);
  EXPECT_TRUE(float16(0.f) == float16(-0.f));
  EXPECT_TRUE(float16(1.f) < float16(2.f));
  const float16 nan = float16(NAN);
  EXPECT_FALSE(nan == nan);
  EXPECT_TRUE(isnan(nan));
  EXPECT_TRUE(isinf(float16(1e6f)));
}

TEST(Float16, HasLimits) {
  using Limits = std::numeric_limits<float16>;
  EXPECT_EQ(float(Limits::max()), 65504.f);
  EXPECT_EQ(float(Limits::lowest()), -65504.f);
  EXPECT_EQ(float(Limits::min()), std::ldexp(1.f, -14));
  EXPECT_EQ(float(Limits::denorm_min()), std::ldexp(1.f, -24));
  EXPECT_EQ(float(Limits::epsilon()), std::ldexp(1.f, -10));
  EXPECT_EQ(float(std::numeric_limits<bfloat16>::epsilon()), std::ldexp(1.f, -7));
}

TEST(Float16, WidensEveryValueExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float16 half = float16::FromBits(static_cast<uint16_t>(bits));
    const int exponent = (bits >> 10) & 0x1f;
    const double mantissa = bits & 0x3ff;
    double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 0x1f) expected = mantissa == 0 ? INFINITY : NAN;
    if (bits & 0x8000) expected = -expected;
    const float actual = float(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << std::hex << bits;
    } else {
      EXPECT_EQ(actual, static_cast<float>(expected)) << std::hex << bits;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << std::hex << bits;
      EXPECT_EQ(float16(actual).bits, bits) << "and back";
    }
  }
}

// All 2^32 floats, in blocks: the scalar conversion against arithmetic by the book, and every
// instruction set's bulk conversion against the scalar one.
class AllFloats : public ::testing::TestWithParam<bool> {};

TEST_P(AllFloats, RoundToNearestEvenInEveryImplementation) {
  SLOW_TEST();
  constexpr uint32_t kBlockSize = 1 << 14;
  constexpr size_t kBlocks = size_t(1) << 18;
  const std::vector<InstructionSet> sets = kernels::FloatInstructionSets();
  const InstructionSet chosen = kernels::CpuInstructionSet();
  std::vector<uint32_t> wrong(sets.size() + 1, 0);
  std::unique_ptr<kernels::FlushDenormals> flush;
  if (GetParam()) flush.reset(new kernels::FlushDenormals());
  for (size_t set = 0; set < sets.size(); ++set) {
    kernels::SetCpuInstructionSet(sets[set]);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t block = 0; block < kBlocks; ++block) {
      std::vector<float> values(kBlockSize);
      std::vector<float16> fp16(kBlockSize);
      for (uint32_t i = 0; i < kBlockSize; ++i) {
        const uint32_t bits = static_cast<uint32_t>(block) * kBlockSize + i;
        std::memcpy(&values[i], &bits, sizeof(bits));
      }
      kernels::Convert(kBlockSize, values.data(), fp16.data());
      uint32_t wrong_here = 0;
      for (uint32_t i = 0; i < kBlockSize; ++i) {
        wrong_here += fp16[i].bits != float16(values[i]).bits;
      }
      if (wrong_here) {
#pragma omp atomic
        wrong[set] += wrong_here;
      }
    }
    EXPECT_EQ(wrong[set], 0u) << kernels::Name(sets[set]);
  }
  kernels::SetCpuInstructionSet(chosen);
}

INSTANTIATE_TEST_SUITE_P(Float16, AllFloats, ::testing::Values(false, true), [](const auto& mode) {
  return mode.param ? "FlushingDenormals" : "KeepingDenormals";
});

// The rounding of a finite float depends on sign, exponent, the bits that stay and the bits that
// go: the scalar conversion is checked against arithmetic by the book for all 2^32.
TEST(Float16, TheScalarConversionAgreesWithArithmeticByTheBook) {
  SLOW_TEST();
  uint32_t wrong = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : wrong)
  for (uint32_t top = 0; top < 0x10000; ++top) {
    const float first = FloatOfBits(top << 16);
    if (std::isnan(first)) continue;
    // Where the result cannot change inside the block, its ends settle it.
    const float last = FloatOfBits((top << 16) | 0xffff);
    const bool constant = HalfByTheBook(first) == HalfByTheBook(last);
    for (uint32_t low = 0; low < 0x10000; ++low) {
      const float x = FloatOfBits((top << 16) | low);
      const float16 half = float16(x);
      if (constant) {
        wrong += half.bits != float16(first).bits && !std::isnan(x);
      } else if (std::isfinite(x)) {
        wrong += static_cast<double>(float(half)) != HalfByTheBook(x);
        wrong += (half.bits >> 15) != (top >> 15);
      }
    }
    wrong += static_cast<double>(float(float16(first))) != HalfByTheBook(first);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t top = 0; top < 0x10000; ++top) {
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float x = FloatOfBits((top << 16) | low);
      const float rounded = float(bfloat16(x));
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(rounded));
      } else {
        EXPECT_EQ(static_cast<double>(rounded), RoundByTheBook(x, 7, -126, 127))
            << std::hex << top << " " << low;
      }
    }
  }
}

TEST(BFloat16, ConversionsOfArraysAreTheScalarOnesOnEveryInstructionSet) {
  const kernels::InstructionSet chosen = kernels::CpuInstructionSet();
  for (const kernels::InstructionSet set : kernels::FloatInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      std::vector<float> x(0x10000), back(x.size());
      std::vector<bfloat16> y(x.size());
      for (uint32_t top = 0; top < x.size(); ++top) x[top] = FloatOfBits((top << 16) | low);
      kernels::Convert(x.size(), x.data(), y.data());
      kernels::Convert(y.size(), y.data(), back.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i].bits, bfloat16(x[i]).bits) << kernels::Name(set) << " " << i << " " << low;
        const uint32_t wide = uint32_t(y[i].bits) << 16;
        ASSERT_EQ(std::memcmp(&wide, &back[i], sizeof(wide)), 0) << kernels::Name(set) << " " << i;
      }
    }
  }
  kernels::SetCpuInstructionSet(chosen);
}

TEST(Convert, EveryPairOfTypes) {
  const float values[] = {0, 1, -2.5, 127.4, 200, -300, 3e9f};
  constexpr size_t n = 7;
  int8_t bytes[n];
  kernels::Convert(n, ElementType::FLOAT, values, 1, 0, ElementType::INT8, bytes, 2, 1);
  EXPECT_EQ(std::vector<int>(bytes, bytes + n), (std::vector<int>{1, 1, 0, 65, 101, -128, 127}));
  uint8_t unsigned_bytes[n];
  kernels::Convert(n, ElementType::FLOAT, values, 1, 0, ElementType::UINT8, unsigned_bytes, 1, 0);
  EXPECT_EQ(std::vector<int>(unsigned_bytes, unsigned_bytes + n),
            (std::vector<int>{0, 1, 0, 127, 200, 0, 255}));
  int integers[n];
  kernels::Convert(n, ElementType::FLOAT, values, 1, 0, ElementType::INT32, integers, 1, 0);
  EXPECT_EQ(integers[2], -2) << "half to even";
  EXPECT_EQ(integers[6], std::numeric_limits<int>::max());
  float back[n];
  kernels::Convert(n, ElementType::INT8, bytes, 2, 1, ElementType::FLOAT, back, 1, 0);
  EXPECT_EQ(back[3], 128.f);
  const float nan = NAN;
  kernels::Convert(1, ElementType::FLOAT, &nan, 1, 0, ElementType::INT8, bytes, 1, 5);
  EXPECT_EQ(bytes[0], 5);
}

}  // namespace
}  // namespace caffe
