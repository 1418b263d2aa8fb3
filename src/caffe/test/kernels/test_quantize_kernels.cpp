// The loops between floats and 8-bit integers, on every instruction set, against double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Function>
void OnAllInstructionSets(Function&& f) {
  const kernels::InstructionSet chosen = kernels::CpuInstructionSet();
  for (kernels::InstructionSet set : kernels::SupportedInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    SCOPED_TRACE(kernels::Name(set));
    f();
  }
  kernels::SetCpuInstructionSet(chosen);
}

template <typename Q>
std::vector<int> Quantized(float factor, const std::vector<float>& x) {
  std::vector<Q> y(x.size());
  kernels::Quantize(x.size(), factor, x.data(), y.data());
  return std::vector<int>(y.begin(), y.end());
}

TEST(Quantize, RoundsHalvesToEven) {
  OnAllInstructionSets([] {
    const std::vector<float> x = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, 126.5f};
    EXPECT_EQ(Quantized<int8_t>(1, x), (std::vector<int>{0, 2, 2, 0, -2, -2, 0, 126}));
    EXPECT_EQ(Quantized<uint8_t>(1, {0.5f, 1.5f, 254.5f}), (std::vector<int>{0, 2, 254}));
  });
}

TEST(Quantize, SaturatesSymmetricallyAndMakesNanZero) {
  OnAllInstructionSets([] {
    const std::vector<float> x = {128, -128, 1e30f, -1e30f, kInfinity, -kInfinity, NAN, -0.f};
    EXPECT_EQ(Quantized<int8_t>(1, x), (std::vector<int>{127, -127, 127, -127, 127, -127, 0, 0}));
    EXPECT_EQ(Quantized<uint8_t>(2, x), (std::vector<int>{255, 0, 255, 0, 255, 0, 0, 0}));
  });
}

template <typename Q>
void ExpectAsInDouble(int least, int most) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  OnAllInstructionSets([&] {
    for (int run = 0; run < 50; ++run) {
      std::vector<float> x(random() % 3000);
      const float scale = std::ldexp(1 + float(random() % 1000) / 1000, int(random() % 40) - 20);
      for (float& value : x) {
        value = scale * (float(random() % 100000) / 200 - 250) * (random() % 50 ? 1.f : 100.f);
      }
      const std::vector<int> y = Quantized<Q>(1 / scale, x);
      std::vector<float> back(x.size()), at_once(x.size());
      const std::vector<Q> integers(y.begin(), y.end());
      kernels::Dequantize(x.size(), scale, integers.data(), back.data());
      kernels::FakeQuantize<Q>(x.size(), scale, x.data(), at_once.data());
      EXPECT_EQ(at_once, back);
      for (size_t i = 0; i < x.size(); ++i) {
        const double product = static_cast<float>(double(x[i]) * double(1 / scale));
        const double rounded = std::min<double>(most, std::max<double>(least, nearbyint(product)));
        ASSERT_EQ(y[i], rounded) << x[i] << " / " << scale;
        ASSERT_EQ(back[i], static_cast<float>(double(scale) * y[i]));
      }
    }
  });
}

TEST(Quantize, AgreesWithDoubleForInt8) { ExpectAsInDouble<int8_t>(-127, 127); }
TEST(Quantize, AgreesWithDoubleForUint8) { ExpectAsInDouble<uint8_t>(0, 255); }

TEST(Quantize, EachChannelHasAFactorOfItsOwn) {
  // Two groups, one row each of three channels with two elements: six channels.
  const std::vector<float> x = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, -2};
  const std::vector<float> factors = {1, 2, 3, 4, 5, 6};
  std::vector<int8_t> y(x.size());
  kernels::QuantizeChannels(2, 1, 3, 2, factors.data(), x.data(), y.data());
  EXPECT_EQ(y, (std::vector<int8_t>{1, 2, 2, 4, 3, 6, 4, 8, 5, 10, 6, -12}));
  std::vector<float> back(x.size());
  kernels::DequantizeChannels(2, 1, 3, 2, factors.data(), y.data(), back.data());
  EXPECT_EQ(back[11], -72);
  // One group with three rows of two channels: the elements of a column belong together.
  kernels::QuantizeChannels(1, 6, 2, 1, factors.data(), x.data(), y.data());
  EXPECT_EQ(y, (std::vector<int8_t>{1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 1, -4}));
}

TEST(LargestPerChannel, TakesTheMagnitudeAndSeesWhatIsNotFinite) {
  const std::vector<float> x = {1, -5, 2, 0, 3, -1, 0, 0};
  std::vector<float> largest(2);
  // (1, 2, 2, 2): two rows of two channels with two elements.
  EXPECT_TRUE(kernels::LargestPerChannel(1, 2, 2, 2, x.data(), largest.data()));
  EXPECT_EQ(largest, (std::vector<float>{5, 2}));
  std::vector<float> by_group(4);
  EXPECT_TRUE(kernels::LargestPerChannel(2, 1, 2, 2, x.data(), by_group.data()));
  EXPECT_EQ(by_group, (std::vector<float>{5, 2, 3, 0}));
  const std::vector<float> bad = {1, NAN, kInfinity, 2};
  EXPECT_FALSE(kernels::LargestPerChannel(1, 1, 2, 2, bad.data(), largest.data()));
  EXPECT_EQ(largest, (std::vector<float>{1, 2}));
}

TEST(Summarize, CountsZerosSignsAndWhatIsNotFinite) {
  OnAllInstructionSets([] {
    const kernels::ValueSummary summary = kernels::Summarize(
        9, std::vector<float>{0, -0.f, -3, 2, NAN, kInfinity, -kInfinity, 1e-40f, -1e-40f}.data());
    EXPECT_EQ(summary.zeros, 2u);
    EXPECT_EQ(summary.negatives, 3u);
    EXPECT_EQ(summary.infinite, 2u);
    EXPECT_EQ(summary.not_a_number, 1u);
    EXPECT_EQ(summary.least, -3);
    EXPECT_EQ(summary.most, 2);
    EXPECT_EQ(summary.largest, 3);
    const kernels::ValueSummary none = kernels::Summarize(1, std::vector<float>{NAN}.data());
    EXPECT_EQ(none.least, 0);
    EXPECT_EQ(none.most, 0);
    EXPECT_EQ(kernels::Summarize(0, nullptr).largest, 0);
    EXPECT_EQ(kernels::Summarize(1, std::vector<float>{-7}.data()).most, -7);
  });
}

TEST(MagnitudeBins, AreCutOffProducts) {
  OnAllInstructionSets([] {
    std::vector<float> x(100);
    for (int i = 0; i < 100; ++i) x[i] = (i % 2 ? -1.f : 1.f) * float(i) / 4;
    std::vector<int32_t> bins(100);
    kernels::MagnitudeBins(100, 2, x.data(), bins.data());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(bins[i], i / 2);
  });
}

}  // namespace
}  // namespace caffe
