// How thresholds are chosen; of entropy calibration every decision that the publication leaves
// open.
#include "caffe/inference/quantize/thresholds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

using Counts = std::vector<int64_t>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

Histogram Of(const std::vector<float>& values) {
  Histogram histogram;
  histogram.Add(values.data(), values.size());
  return histogram;
}

std::vector<float> Repeated(float value, int count) { return std::vector<float>(count, value); }

std::vector<float> operator+(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<float> Normal(int count) {
  std::mt19937 random(TestSeed());
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// The definition, step by step: P with the outliers in its last bin, Q, both normalized, the sum.
double DivergenceByDefinition(const Counts& bins, int kept, int levels) {
  std::vector<double> p(bins.begin(), bins.begin() + kept);
  p[kept - 1] += std::accumulate(bins.begin() + kept, bins.end(), 0.);
  std::vector<double> q(kept, 0);
  for (int level = 0; level < levels; ++level) {
    double count = 0, filled = 0;
    for (int j = 0; j < kept; ++j) {
      if (int64_t(j) * levels / kept != level) continue;
      count += double(bins[j]);
      filled += bins[j] > 0;
    }
    for (int j = 0; j < kept; ++j) {
      if (int64_t(j) * levels / kept == level && bins[j] > 0) q[j] = count / filled;
    }
  }
  const double p_sum = std::accumulate(p.begin(), p.end(), 0.);
  const double q_sum = std::accumulate(q.begin(), q.end(), 0.);
  const int64_t within = std::accumulate(bins.begin(), bins.begin() + kept, int64_t(0));
  if (within < std::accumulate(bins.begin() + kept, bins.end(), int64_t(0))) return kInfinite;
  double divergence = 0;
  for (int j = 0; j < kept; ++j) {
    if (p[j] > 0 && q[j] == 0) return kInfinite;
    if (p[j] > 0) divergence += p[j] / p_sum * std::log(p[j] / p_sum / (q[j] / q_sum));
  }
  return divergence;
}

// ------------------------------------------------------------------ entropy

const Counts kPublished = {1, 0, 2, 3, 5, 3, 1, 7};

TEST(Entropy, GivesTheNumbersOfThePublishedExample) {
  // 1 + 0 + 2 + 3 = 6 over three filled bins, 5 + 3 + 1 + 7 = 16 over four.
  EXPECT_EQ(QuantizedDistribution(kPublished, 8, 2), (std::vector<double>{2, 0, 2, 2, 4, 4, 4, 4}));
  // (1 ln 1/2 + 2 ln 1 + 3 ln 3/2 + 5 ln 5/4 + 3 ln 3/4 + 1 ln 1/4 + 7 ln 7/4) / 22
  EXPECT_NEAR(EntropyDivergences(kPublished, 2)[8 - 2], 0.150315, 1e-6);
}

TEST(Entropy, AgreesWithItsDefinitionForEveryCandidate) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 30; ++run) {
    Counts bins(1 + random() % 300);
    for (int64_t& count : bins) count = random() % 3 ? random() % (run % 2 ? 10 : 100000) : 0;
    bins.back() += 1;
    const int levels = 1 + random() % 40;
    const std::vector<double> divergences = EntropyDivergences(bins, levels);
    const int first = std::min<int>(levels, bins.size());
    ASSERT_EQ(divergences.size(), bins.size() - first + 1);
    for (size_t i = 0; i < divergences.size(); ++i) {
      const int kept = first + int(i);
      const double expected = DivergenceByDefinition(bins, kept, std::min(levels, kept));
      if (std::isinf(expected) || std::isnan(expected)) {
        EXPECT_TRUE(std::isinf(divergences[i])) << kept;
      } else {
        EXPECT_NEAR(divergences[i], expected, 1e-9) << kept;
      }
    }
  }
}

TEST(Entropy, ZerosAreExactAndDoNotCount) {
  const std::vector<float> values = Normal(20000);
  const double without = EntropyThreshold(Of(values), false);
  EXPECT_EQ(EntropyThreshold(Of(values + Repeated(0, 1000000)), false), without);
  // Had they been in bin 0, all else would have looked like a tail to be cut off.
  EXPECT_NE(EntropyThreshold(Of(values + Repeated(1e-6f, 1000000)), false), without);
}

TEST(Entropy, SmallValuesThatAreNotZeroStayInBinZero) {
  const Histogram histogram = Of({1e-6f, 1e-6f, 1});
  EXPECT_EQ(histogram.bins()[0], 2);
}

TEST(Entropy, OutliersCountInTheLastKeptBinOfTheReferenceOnly) {
  // Keeping 2 of 3: P = {4, 2 + 2}, Q = {4, 2}.
  EXPECT_NEAR(EntropyDivergences({4, 2, 2}, 2)[0],
              0.5 * std::log(0.5 / (4. / 6)) + 0.5 * std::log(0.5 / (2. / 6)), 1e-12);
}

TEST(Entropy, ACandidateWhoseLastBinIsEmptyLosesItsOutliersAndIsNotTaken) {
  const std::vector<double> divergences = EntropyDivergences({5, 5, 0, 5, 0, 1}, 2);
  EXPECT_EQ(divergences[3 - 2], kInfinite);
  EXPECT_EQ(divergences[5 - 2], kInfinite);
  EXPECT_LT(divergences[4 - 2], kInfinite);
  // Without outliers behind, an empty last bin loses nothing.
  EXPECT_EQ(EntropyDivergences({5, 5, 0}, 2)[3 - 2], 0);
}

TEST(Entropy, ACandidateThatKeepsLessThanItClipsIsNotTaken) {
  EXPECT_EQ(EntropyDivergences({0, 4, 5, 0}, 2)[2 - 2], kInfinite);
  EXPECT_LT(EntropyDivergences({0, 5, 5, 0}, 2)[2 - 2], kInfinite);
  // exp(x): the few least values alone would be a distribution of one bin, as it is quantized.
  std::vector<float> values = Normal(20000);
  for (float& value : values) value = std::exp(std::min(std::max(0.3f * value, -1.f), 1.f));
  for (const bool is_unsigned : {false, true}) {
    EXPECT_GT(EntropyThreshold(Of(values), is_unsigned), 2);
  }
}

TEST(Entropy, EmptyBinsStayEmptyAndNothingIsSmoothed) {
  EXPECT_EQ(QuantizedDistribution({6, 0, 0, 2, 0, 0}, 6, 2),
            (std::vector<double>{6, 0, 0, 2, 0, 0}));
  // The same for twice the data: there is no constant that would weigh less.
  Counts twice = kPublished;
  for (int64_t& count : twice) count *= 1000;
  const std::vector<double> once = EntropyDivergences(kPublished, 2);
  for (size_t i = 0; i < once.size(); ++i) {
    if (std::isinf(once[i])) continue;
    EXPECT_NEAR(EntropyDivergences(twice, 2)[i], once[i], 1e-12);
  }
}

TEST(Entropy, UnevenLevelsDifferByAtMostOneBin) {
  // 5 bins to 3 levels: {0, 1}, {2, 3}, {4}, since floor(j * 3 / 5) = 0 0 1 1 2.
  EXPECT_EQ(QuantizedDistribution({1, 3, 5, 7, 9}, 5, 3), (std::vector<double>{2, 2, 6, 6, 9}));
  // 7 bins to 3 levels: 0 0 0 1 1 2 2.
  EXPECT_EQ(QuantizedDistribution({1, 2, 3, 4, 6, 7, 9}, 7, 3),
            (std::vector<double>{2, 2, 2, 5, 5, 8, 8}));
}

TEST(Entropy, KeepingEverythingIsACandidate) {
  EXPECT_EQ(EntropyDivergences(kPublished, 2).size(), 8u - 2 + 1);
  // Neighbours in a level are equal: nothing is lost by keeping all.
  EXPECT_EQ(ChooseByEntropy({5, 5, 3, 3, 9, 9, 1, 1}, 4), 8);
}

TEST(Entropy, TheThresholdIsTheUpperEdgeOfTheLastKeptBin) {
  const Histogram histogram = Of(Normal(50000) + Repeated(30, 2));
  const Counts bins(histogram.bins().begin(), histogram.bins().begin() + histogram.used_bins());
  const int kept = ChooseByEntropy(bins, kInt8Levels);
  ASSERT_LT(kept, histogram.used_bins());
  EXPECT_EQ(EntropyThreshold(histogram, false), kept * histogram.width());
}

TEST(Entropy, KeepingAllGivesTheLargestMagnitudeItself) {
  const Histogram histogram = Of({1.3f, 0.7f});
  EXPECT_EQ(EntropyThreshold(histogram, false), 1.3f);
}

TEST(Entropy, OfEqualDivergencesTheLargerThresholdIsTaken) {
  // Everything in the first bins: candidates without outliers are all the same.
  EXPECT_EQ(ChooseByEntropy({7, 7, 0, 0, 0, 0}, 2), 6);
}

TEST(Entropy, FewBinsAreKeptAsTheyAre) {
  EXPECT_EQ(ChooseByEntropy({1, 2, 3}, 128), 3);
  EXPECT_EQ(EntropyDivergences({1, 2, 3}, 128), std::vector<double>{0});
  EXPECT_EQ(EntropyThreshold(Of({0, 0}), false), 0);
}

TEST(Entropy, ASingleValueIsKept) {
  EXPECT_EQ(EntropyThreshold(Of(Repeated(-2.5f, 100)), false), 2.5);
}

TEST(Entropy, CutsALongTailOff) {
  // A normal distribution and some values far outside.
  const std::vector<float> values = Normal(100000);
  const double threshold = EntropyThreshold(Of(values + Repeated(40, 3)), false);
  EXPECT_GT(threshold, 2.5);
  EXPECT_LT(threshold, 10);
}

TEST(Entropy, AnUnsignedBlobHasTwiceAsManyLevels) {
  std::vector<float> values = Normal(50000);
  for (float& value : values) value = std::fabs(value);
  const Histogram histogram = Of(values + Repeated(30, 2));
  const std::vector<int64_t> bins(histogram.bins().begin(),
                                  histogram.bins().begin() + histogram.used_bins());
  EXPECT_EQ(EntropyThreshold(histogram, true), ChooseByEntropy(bins, 256) * histogram.width());
  EXPECT_EQ(EntropyThreshold(histogram, false), ChooseByEntropy(bins, 128) * histogram.width());
}

// ------------------------------------------------------------------ the others

TEST(MinMax, IsTheLargestMagnitude) {
  EXPECT_EQ(MinMaxThreshold(Of({1, -3.25f, 2})), 3.25);
  EXPECT_EQ(MinMaxThreshold(Of({0})), 0);
}

TEST(Percentile, LeavesTheGivenShareOfAllValuesBelow) {
  // 100 values, the k-th in the middle of bin 41 k: magnitudes about 41 k / 4096.
  std::vector<float> values;
  for (int k = 1; k <= 99; ++k) values.push_back((k % 2 ? 1.f : -1.f) * (41 * k + 0.5f) / 4096);
  values.push_back(0);
  const Histogram histogram = Of(values);
  ASSERT_EQ(histogram.width(), 1. / 4096);
  // 90 of 100: the zero and 89 others; the 89th fills its bin up to the upper edge.
  EXPECT_DOUBLE_EQ(PercentileThreshold(histogram, 90), (41 * 89 + 1.) / 4096);
  EXPECT_EQ(PercentileThreshold(histogram, 100), histogram.largest());
}

TEST(Percentile, TakesValuesToBeSpreadEvenlyInABin) {
  // Ten values in bin 2049 of 4096: half of them lie below its middle.
  const Histogram histogram = Of(Repeated(2049.9f / 4096, 10));
  EXPECT_DOUBLE_EQ(PercentileThreshold(histogram, 50), 2049.5 / 4096);
  EXPECT_FLOAT_EQ(PercentileThreshold(histogram, 99.99), 2049.9f / 4096);
}

TEST(Percentile, IsNeverZeroThoughMostValuesAre) {
  const Histogram histogram = Of(Repeated(0, 1000) + std::vector<float>{1, 0.75f});
  EXPECT_EQ(PercentileThreshold(histogram, 50), 3. / 4);
}

TEST(Percentile, LiesAbove0AndAtMostAt100) {
  for (double percent : {0., -1., 100.5, double(NAN)}) {
    ExpectContains(ErrorOf([&] { PercentileThreshold(Of({1}), percent); }), "a percentile lies");
  }
}

/// The mean squared error of the values themselves.
double MeanSquaredError(const std::vector<float>& values, double threshold, int steps) {
  const double step = threshold / steps;
  double sum = 0;
  for (float value : values) {
    const double q = std::min<double>(steps, std::nearbyint(std::fabs(value) / step));
    sum += std::pow(std::fabs(value) - q * step, 2);
  }
  return sum / double(values.size());
}

TEST(QuantizationError, IsThatOfTheValues) {
  const std::vector<float> values = Normal(100000) + Repeated(0, 5000) + Repeated(8, 10);
  const Histogram histogram = Of(values);
  for (double threshold : {0.5, 1., 2.5, 4., 8.}) {
    for (int steps : {kInt8Steps, kUint8Steps}) {
      const double expected = MeanSquaredError(values, threshold, steps);
      EXPECT_NEAR(QuantizationError(histogram, threshold, steps), expected, 0.01 * expected)
          << threshold << ", " << steps;
    }
  }
  EXPECT_EQ(QuantizationError(Of({0}), 1, 127), 0);
}

TEST(QuantizationError, OfEvenlySpreadValuesIsATwelfthOfTheSquaredStep) {
  std::vector<float> values;
  for (int i = 0; i < 1 << 18; ++i) values.push_back(std::ldexp(i + 0.5f, -18));
  EXPECT_NEAR(QuantizationError(Of(values), 1, 127), 1. / 127 / 127 / 12, 1e-8);
}

TEST(MeanSquare, IsThatOfTheValuesZerosIncluded) {
  EXPECT_NEAR(MeanSquare(Of({3, -4, 0, 0})), 25. / 4, 0.01);
  EXPECT_EQ(MeanSquare(Of({0})), 0);
}

TEST(SaturatedShare, CountsWhatIsAboveTheThreshold) {
  const Histogram histogram = Of({0, 0, 1, -3, 4, 0.5f, 0, 0});
  EXPECT_NEAR(SaturatedShare(histogram, 2), 2. / 8, 1e-12);
  EXPECT_EQ(SaturatedShare(histogram, 4), 0);
}

TEST(Mse, FindsTheLeastErrorOfTheValues) {
  const std::vector<float> values = Normal(30000) + Repeated(25, 2);
  const Histogram histogram = Of(values);
  const double chosen = MseThreshold(histogram, kInt8Steps);
  const double error = MeanSquaredError(values, chosen, kInt8Steps);
  for (int i = 1; i <= 200; ++i) {
    EXPECT_LE(error, 1.01 * MeanSquaredError(values, 25. * i / 200, kInt8Steps)) << 25. * i / 200;
  }
}

TEST(Mse, SaturatesNothingWhereTheEndsAreFull) {
  // Two values of equal weight: clipping one costs more than rounding the other.
  EXPECT_EQ(MseThreshold(Of(Repeated(1, 50) + Repeated(63.f / 127, 50)), kInt8Steps), 1);
  EXPECT_EQ(MseThreshold(Of({0}), kInt8Steps), 0);
}

}  // namespace
}  // namespace caffe
