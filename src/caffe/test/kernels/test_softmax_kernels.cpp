// Softmax and the logarithm of the sum of exponentials against the plain reference in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/reference.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

struct SoftmaxShape {
  size_t outer, channels, inner;
};

// Rows and planes that fill tiles, that leave a rest, and that are longer than a tile.
const SoftmaxShape kShapes[] = {{1, 1, 1},   {3, 2, 1}, {1100, 2, 1}, {517, 21, 1}, {5, 1000, 1},
                                {2, 3, 700}, {4, 5, 7}, {1, 600, 33}, {0, 3, 1},    {2, 3, 0}};

class SoftmaxKernels : public ::testing::TestWithParam<SoftmaxShape> {
 protected:
  void SetUp() override {
    const SoftmaxShape& s = GetParam();
    std::mt19937 random(seed_);
    std::normal_distribution<double> normal(0, 20);
    logits_.resize(s.outer * s.channels * s.inner);
    // Numbers that are also FP16 values.
    for (double& x : logits_) x = static_cast<double>(float16(static_cast<float>(normal(random))));
    wanted_.resize(logits_.size());
    kernels::ReferenceSoftmax(s.outer, s.channels, s.inner, logits_.data(), wanted_.data());
  }

  template <typename X, typename Y>
  void Check(double tolerance) const {
    SCOPED_TRACE(Join("seed ", seed_));
    const SoftmaxShape& s = GetParam();
    const std::vector<X> x(logits_.begin(), logits_.end());
    std::vector<Y> y(x.size());
    kernels::Softmax(s.outer, s.channels, s.inner, x.data(), y.data());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(y[i]), wanted_[i], tolerance) << "element " << i;
    }
  }

  const unsigned seed_ = TestSeed();
  std::vector<double> logits_, wanted_;
};

TEST_P(SoftmaxKernels, GiveTheReferencesProbabilities) {
  Check<double, double>(1e-12);
  Check<float, float>(2e-6);
  Check<float, float16>(1e-3);
  Check<float16, float>(2e-6);
  Check<float16, float16>(1e-3);
}

TEST_P(SoftmaxKernels, GiveTheLogarithmOfTheSum) {
  SCOPED_TRACE(Join("seed ", seed_));
  const auto [outer, channels, inner] = GetParam();
  std::vector<double> log_sum(outer * inner);
  kernels::LogSumExp(outer, channels, inner, logits_.data(), log_sum.data());
  for (size_t column = 0; column < log_sum.size(); ++column) {
    const size_t first = column / inner * channels * inner + column % inner;
    double sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += std::exp(logits_[first + c * inner]);
    ASSERT_NEAR(log_sum[column], std::log(sum), 1e-9) << "column " << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxKernels, ::testing::ValuesIn(kShapes));

// exp(-inf) is 0; infinity and what is not a number spoil their own column alone.
TEST(SoftmaxKernel, KeepsInfinitiesToTheirColumn) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> x = {0, -inf, 1, inf, nan, 2, 3, 3};
  std::vector<float> y(8);
  kernels::Softmax(4, 2, 1, x.data(), y.data());
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  for (const size_t i : {2, 3, 4, 5}) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_EQ(y[6], 0.5f);
  EXPECT_EQ(y[7], 0.5f);
}

}  // namespace
}  // namespace caffe
