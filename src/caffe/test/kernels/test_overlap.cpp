// Boxes compared with many at once against the comparison of two, on every instruction set that
// this machine runs.
#include "caffe/kernels/overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/detection/box.hpp"

namespace caffe {
namespace {

class OverlapOfMany : public ::testing::TestWithParam<kernels::InstructionSet> {
 protected:
  void SetUp() override { kernels::SetCpuInstructionSet(GetParam()); }
  void TearDown() override { kernels::SetCpuInstructionSet(before_); }

 private:
  const kernels::InstructionSet before_ = kernels::CpuInstructionSet();
};

kernels::BoxArrays::Row RowOf(const Box& box, bool normalized) {
  return {{box.xmin, box.ymin, box.xmax, box.ymax, Area(box, normalized)}};
}

/// A box near the others; now and then without area, turned round, or of no numbers.
Box RandomBox(std::mt19937* random) {
  std::uniform_real_distribution<float> corner(0, 4), side(0, 3);
  Box box = {corner(*random), corner(*random), 0, 0};
  box.xmax = box.xmin + side(*random);
  box.ymax = box.ymin + side(*random);
  switch ((*random)() % 16) {
    case 0:
      box.xmax = box.xmin;
      break;
    case 1:
      std::swap(box.xmin, box.xmax);
      break;
    case 2:
      box.ymax = NAN;
      break;
    case 3:
      box.ymin = -std::numeric_limits<float>::infinity();
      break;
    default:
      break;
  }
  return box;
}

TEST_P(OverlapOfMany, IsThatOfEachByItself) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  for (const bool normalized : {true, false}) {
    std::vector<Box> boxes;
    kernels::BoxArrays arrays;
    for (int round = 0; round < 60; ++round) {
      EXPECT_EQ(arrays.size(), boxes.size());
      const Box box = RandomBox(&random);
      float largest = 0;
      for (const Box& other : boxes) largest = std::max(largest, Overlap(box, other, normalized));
      const auto overlaps = [&](float threshold) {
        return arrays.Overlap(RowOf(box, normalized), normalized ? 0 : 1, threshold);
      };
      EXPECT_FALSE(overlaps(largest)) << "to the bit";
      if (largest > 0) {
        EXPECT_TRUE(overlaps(std::nextafter(largest, 0.f)));
      }
      EXPECT_EQ(overlaps(0), largest > 0);
      boxes.push_back(box);
      arrays.Add(RowOf(box, normalized));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, OverlapOfMany,
                         ::testing::ValuesIn(kernels::SupportedInstructionSets()),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST(SortByScore, KeepsTheBestAsSortingAllDoes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<ScoredIndex> scores;
    const int count = static_cast<int>(random() % 50), top_k = static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i) {
      const float score = static_cast<float>(random() % 12);
      scores.emplace_back(score == 0 ? NAN : score, i);
    }
    std::vector<ScoredIndex> best = scores;
    SortByScore(-1, &scores);
    SortByScore(top_k, &best);
    scores.resize(std::min(count, top_k));
    ASSERT_EQ(best.size(), scores.size());
    for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].second, scores[i].second) << i;
  }
}

}  // namespace
}  // namespace caffe
