// ErrorMeasure, and LayersToWiden, which brings errors under a bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "caffe/inference/evaluation/error_measure.hpp"
#include "caffe/inference/evaluation/widening.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

ErrorMeasure Measure(const std::vector<float>& reference, const std::vector<float>& values) {
  ErrorMeasure measure;
  measure.Add(reference.data(), values.data(), reference.size());
  return measure;
}

TEST(ErrorMeasure, ComparesValues) {
  const ErrorMeasure m = Measure({3, -4, 0, 0}, {3, -4, 0, 0.5});
  EXPECT_EQ(m.count(), 4u);
  EXPECT_EQ(m.largest_reference(), 4);
  EXPECT_EQ(m.max_error(), 0.5);
  EXPECT_EQ(m.mean_error(), 0.125);
  EXPECT_DOUBLE_EQ(m.Cosine(), 25 / std::sqrt(25 * 25.25));
  EXPECT_DOUBLE_EQ(m.SignalToNoise(), 20) << "25 over 0.25";
  EXPECT_DOUBLE_EQ(m.Relative(), 0.1);
}

TEST(ErrorMeasure, DoesNotDependOnThePieces) {
  ErrorMeasure pieces = Measure({3, -4}, {3, -4});
  const float reference[] = {0, 0}, values[] = {0, 0.5};
  pieces.Add(reference, values, 2);
  EXPECT_DOUBLE_EQ(pieces.SignalToNoise(), 20);
  EXPECT_EQ(pieces.mean_error(), 0.125);
}

TEST(ErrorMeasure, OfEqualValuesIsNone) {
  for (const std::vector<float>& x : {std::vector<float>{1, 2}, std::vector<float>{0, 0}}) {
    const ErrorMeasure m = Measure(x, x);
    EXPECT_EQ(m.max_error(), 0);
    EXPECT_DOUBLE_EQ(m.Cosine(), 1);
    EXPECT_EQ(m.SignalToNoise(), INFINITY);
    EXPECT_EQ(m.Relative(), 0);
  }
}

TEST(ErrorMeasure, OfWhatShouldBeZeroIsInfinite) {
  const ErrorMeasure m = Measure({0, 0}, {0, 1});
  EXPECT_EQ(m.Cosine(), 0);
  EXPECT_EQ(m.SignalToNoise(), -INFINITY);
  EXPECT_EQ(m.Relative(), INFINITY);
}

TEST(ErrorMeasure, CountsWhatIsNotFiniteOnOneSide) {
  const ErrorMeasure m = Measure({1, INFINITY, NAN, 2}, {NAN, INFINITY, 5, 2});
  EXPECT_EQ(m.not_finite(), 2) << "the first and the third";
  EXPECT_EQ(m.not_compared(), 1);
  EXPECT_EQ(m.count(), 1u);
  EXPECT_EQ(m.max_error(), 0);
  EXPECT_EQ(m.SignalToNoise(), -INFINITY);
  EXPECT_EQ(m.Relative(), INFINITY);
}

TEST(ErrorMeasure, OfAnotherShapeIsInfinite) {
  ErrorMeasure m = Measure({1}, {1});
  m.AddOtherShape();
  EXPECT_EQ(m.other_shapes(), 1);
  EXPECT_EQ(m.Relative(), INFINITY);
}

using Names = std::vector<std::string>;

/// An error that is the sum of what the layers outside of `widened` add; counts how often it is
/// asked for.
struct Additive {
  std::vector<double> own;
  int asked = 0;

  Names Layers() const {
    Names names;
    for (size_t i = 0; i < own.size(); ++i) names.push_back(std::to_string(i));
    return names;
  }
  double operator()(const Names& widened) {
    ++asked;
    double error = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      const bool is_float =
          std::find(widened.begin(), widened.end(), std::to_string(i)) != widened.end();
      error += is_float ? 0 : own[i];
    }
    return error;
  }
};

TEST(LayersToWiden, AreNoneWhereTheBoundHolds) {
  Additive error{{1, 1}};
  EXPECT_EQ(LayersToWiden(error.Layers(), std::ref(error), 2), Names());
  EXPECT_EQ(error.asked, 1);
}

TEST(LayersToWiden, AsksForNoSetTwice) {
  std::set<Names> asked;
  const auto error = [&](const Names& widened) {
    EXPECT_TRUE(asked.insert(widened).second);
    return widened.size() == 3 ? 0.0 : 1.0;
  };
  EXPECT_EQ(LayersToWiden({"a", "b", "c"}, error, 0.5), (Names{"a", "b", "c"}));
}

TEST(LayersToWiden, AreTheWorstOnes) {
  Additive error{{8, 4, 2, 1}};
  EXPECT_EQ(LayersToWiden(error.Layers(), std::ref(error), 3), (Names{"0", "1"}));
}

// The order is a guess: what stands too far in front is taken out again.
TEST(LayersToWiden, LeavesOutWhatDoesNotMatter) {
  Additive error{{0, 0, 8, 0, 0, 0, 8, 0, 0, 0}};
  EXPECT_EQ(LayersToWiden(error.Layers(), std::ref(error), 1), (Names{"2", "6"}));
}

TEST(LayersToWiden, SaysWhenNothingHelps) {
  const auto error = [](const Names&) { return 0.5; };
  ExpectContains(ErrorOf([&] {
                   LayersToWiden({"a", "b"}, error, 0.25);
                 }),
                 "with all 2 layers in FLOAT the error is 0.5 still, more than the bound 0.25");
  ExpectContains(ErrorOf([&] { LayersToWiden({}, error, 0.25); }), "with all 0 layers");
}

TEST(LayersToWiden, FindsSetsOfWhichNothingCanBeLeftOut) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int repetition = 0; repetition < 100; ++repetition) {
    Additive error{{}};
    const int count = 1 + random() % 40;
    for (int i = 0; i < count; ++i) error.own.push_back(random() % 3 == 0 ? random() % 100 : 0);
    const double bound = random() % 100;
    const Names found = LayersToWiden(error.Layers(), std::ref(error), bound);
    EXPECT_LE(error(found), bound);
    for (size_t i = 0; i < found.size(); ++i) {
      Names fewer = found;
      fewer.erase(fewer.begin() + i);
      EXPECT_GT(error(fewer), bound);
    }
  }
}

TEST(LayersToWiden, AsksSeldomInALargeNet) {
  Additive error{std::vector<double>(256, 0)};
  error.own[1] = error.own[40] = 1;
  EXPECT_EQ(LayersToWiden(error.Layers(), std::ref(error), 0.5), (Names{"1", "40"}));
  EXPECT_LT(error.asked, 40);
}

}  // namespace
}  // namespace caffe::inference
