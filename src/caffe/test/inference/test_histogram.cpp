#include "caffe/inference/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

Histogram HistogramOf(const std::vector<float>& values) {
  Histogram histogram;
  histogram.Add(values.data(), values.size());
  return histogram;
}

void ExpectSame(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.bins(), b.bins());
  EXPECT_EQ(a.width(), b.width());
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.zeros(), b.zeros());
  EXPECT_EQ(a.negatives(), b.negatives());
  EXPECT_EQ(a.minimum(), b.minimum());
  EXPECT_EQ(a.maximum(), b.maximum());
}

std::vector<float> RandomValues(std::mt19937* random, size_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = (*random)() % 3 ? std::exp(3 * normal(*random)) * ((*random)() % 2 ? 1.f : -1.f) : 0;
  }
  return values;
}

TEST(Histogram, CountsExactlyWhatIsAsked) {
  const Histogram histogram = HistogramOf({0, -0.f, 3, -1, 2, 0.5f, -2});
  EXPECT_EQ(histogram.count(), 7);
  EXPECT_EQ(histogram.zeros(), 2);
  EXPECT_EQ(histogram.negatives(), 2);
  EXPECT_EQ(histogram.minimum(), -2);
  EXPECT_EQ(histogram.maximum(), 3);
  EXPECT_EQ(histogram.largest(), 3);
  EXPECT_FALSE(histogram.IsNonNegative());
  EXPECT_TRUE(HistogramOf({0, 1}).IsNonNegative());
}

TEST(Histogram, PutsMagnitudesInBinsAPowerOfTwoWideAndZerosInNone) {
  // 3 lies below 4: 4096 bins of 4 / 4096.
  const Histogram histogram = HistogramOf({3, -1, 1, 0, 0.0009f});
  EXPECT_EQ(histogram.width(), 4. / 4096);
  EXPECT_EQ(histogram.used_bins(), 3073);
  EXPECT_EQ(histogram.bins()[3072], 1);
  EXPECT_EQ(histogram.bins()[1024], 2);
  EXPECT_EQ(histogram.bins()[0], 1);
  EXPECT_EQ(std::accumulate(histogram.bins().begin(), histogram.bins().end(), int64_t(0)), 4);
}

TEST(Histogram, UsesMoreThanHalfOfTheBins) {
  for (float largest : {1.f, 1.999f, 2.f, 3.4e38f, 1e-20f, 65504.f}) {
    const Histogram histogram = HistogramOf({largest});
    EXPECT_GT(histogram.used_bins(), 2048) << largest;
    EXPECT_LE(histogram.used_bins(), Histogram::kBins) << largest;
    EXPECT_EQ(histogram.bins()[histogram.used_bins() - 1], 1) << largest;
  }
}

TEST(Histogram, DoublesItsRangeByMergingNeighbours) {
  Histogram histogram = HistogramOf({1, 1.f + 1.f / 2048, 1.999f});
  EXPECT_EQ(histogram.bins()[2048], 1);
  EXPECT_EQ(histogram.bins()[2049], 1);
  const float larger = 2;
  histogram.Add(&larger, 1);
  EXPECT_EQ(histogram.width(), 4. / 4096);
  EXPECT_EQ(histogram.bins()[1024], 2);
  EXPECT_EQ(histogram.bins()[2048], 1);
}

TEST(Histogram, DependsOnTheValuesNotOnTheirOrderOrParts) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<float> values = RandomValues(&random, 200000);
  const Histogram whole = HistogramOf(values);
  std::shuffle(values.begin(), values.end(), random);
  Histogram in_parts, merged;
  for (size_t start = 0; start < values.size();) {
    const size_t length = std::min<size_t>(random() % 30000, values.size() - start);
    in_parts.Add(values.data() + start, length);
    merged.Merge(HistogramOf({values.begin() + start, values.begin() + start + length}));
    start += length;
  }
  ExpectSame(in_parts, whole);
  ExpectSame(merged, whole);
}

TEST(Histogram, AgreesWithCountingOneByOneOnEveryInstructionSet) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<float> values = RandomValues(&random, 10001);
  const kernels::InstructionSet chosen = kernels::CpuInstructionSet();
  for (kernels::InstructionSet set : kernels::FloatInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    const Histogram histogram = HistogramOf(values);
    std::vector<int64_t> expected(Histogram::kBins, 0);
    for (float value : values) {
      if (value != 0) ++expected[int(std::fabs(double(value)) / histogram.width())];
    }
    EXPECT_EQ(histogram.bins(), expected) << kernels::Name(set);
  }
  kernels::SetCpuInstructionSet(chosen);
}

TEST(Histogram, MergesAnEmptyOneAndOneOfZeros) {
  Histogram histogram = HistogramOf({1, -2});
  histogram.Merge(Histogram());
  histogram.Merge(HistogramOf({0, 0}));
  ExpectSame(histogram, HistogramOf({1, -2, 0, 0}));
  Histogram zeros = HistogramOf({0, 0});
  EXPECT_TRUE(zeros.IsConstant());
  EXPECT_EQ(zeros.used_bins(), 0);
  zeros.Merge(HistogramOf({1, -2}));
  ExpectSame(zeros, HistogramOf({1, -2, 0, 0}));
}

TEST(Histogram, LeavesNanAndInfinityOutButCountsThem) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Histogram histogram = HistogramOf({NAN, 1, -infinity, infinity, 2, NAN, NAN, 0});
  EXPECT_EQ(histogram.not_a_number(), 3);
  EXPECT_EQ(histogram.infinite(), 2);
  EXPECT_EQ(histogram.nonzeros(), 2);
  EXPECT_EQ(histogram.minimum(), 0);
  EXPECT_EQ(histogram.maximum(), 2);
  EXPECT_EQ(std::accumulate(histogram.bins().begin(), histogram.bins().end(), int64_t(0)), 2);
}

TEST(Histogram, TakesTheSmallestAndTheLargestFloats) {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  Histogram histogram = HistogramOf({least});
  EXPECT_EQ(histogram.bins()[0], 1);
  histogram.Add(&most, 1);
  EXPECT_EQ(histogram.bins()[0], 1);
  EXPECT_EQ(histogram.bins()[4095], 1);
  EXPECT_EQ(histogram.largest(), most);
}

TEST(Histogram, TellsAConstantBlob) {
  EXPECT_TRUE(HistogramOf({2.5f, 2.5f}).IsConstant());
  EXPECT_FALSE(HistogramOf({2.5f, -2.5f}).IsConstant());
  EXPECT_FALSE(HistogramOf({0, 2.5f}).IsConstant());
}

}  // namespace
}  // namespace caffe
