// Losses and their gradients against their definitions in double, with arrays that fill chunks of
// the loops and that leave a rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/losses.hpp"
#include "caffe/test/support/every_instruction_set.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

constexpr size_t kSizes[] = {1, 7, 1024, 5003, 40000};

template <typename T>
std::vector<T> Normal(std::mt19937* random, size_t n, double spread) {
  std::normal_distribution<double> normal(0, spread);
  std::vector<T> x(n);
  for (T& value : x) value = static_cast<T>(normal(*random));
  return x;
}

template <typename T>
class LossKernels : public ::testing::Test {
 protected:
  static constexpr double kRounding = std::is_same<T, float>::value ? 1e-6 : 1e-14;
  const unsigned seed_ = TestSeed();
  std::mt19937 random_{seed_};
};
using LossTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LossKernels, LossTypes);

TYPED_TEST(LossKernels, SigmoidCrossEntropyIsItsDefinition) {
  SCOPED_TRACE(Join("seed ", this->seed_));
  for (const size_t n : kSizes) {
    const auto x = Normal<TypeParam>(&this->random_, n, 8);
    std::vector<TypeParam> t(n), dx(n);
    for (TypeParam& target : t) target = static_cast<TypeParam>(this->random_() % 4) / 2;  // to 1.5
    const TypeParam ignored = 1, weight = 0.5;
    for (const TypeParam* skip : {static_cast<const TypeParam*>(nullptr), &ignored}) {
      double loss = 0;
      size_t counted = 0;
      kernels::SigmoidCrossEntropyGradient(n, weight, x.data(), t.data(), skip, dx.data());
      for (size_t i = 0; i < n; ++i) {
        const double p = 1 / (1 + std::exp(-double(x[i]))), q = 1 / (1 + std::exp(double(x[i])));
        const bool counts = !skip || std::trunc(t[i]) != *skip;
        counted += counts;
        if (counts) loss -= t[i] * std::log(p) + (1 - t[i]) * std::log(q);
        ASSERT_NEAR(dx[i], counts ? weight * (p - t[i]) : 0, this->kRounding) << i;
      }
      const kernels::LossSum sum = kernels::SigmoidCrossEntropy(n, x.data(), t.data(), skip);
      EXPECT_EQ(sum.counted, counted);
      EXPECT_NEAR(sum.loss, loss, this->kRounding * (n + std::fabs(loss)));
    }
  }
}

TYPED_TEST(LossKernels, SigmoidCrossEntropyKeepsSmallLossesAndLargeLogits) {
  const std::vector<TypeParam> x = {-40, 40, 1000, -1000}, t = {0, 1, 0, 1};
  EXPECT_NEAR(kernels::SigmoidCrossEntropy<TypeParam>(2, x.data(), t.data(), nullptr).loss,
              2 * std::exp(-40.), 1e-5 * std::exp(-40.));
  EXPECT_EQ(kernels::SigmoidCrossEntropy<TypeParam>(2, x.data() + 2, t.data() + 2, nullptr).loss,
            2000);
}

TYPED_TEST(LossKernels, SmoothL1IsItsDefinition) {
  SCOPED_TRACE(Join("seed ", this->seed_));
  for (const size_t n : kSizes) {
    for (const double sigma2 : {1., 9., 0.25}) {
      const auto d = Normal<TypeParam>(&this->random_, n, 1.5);
      const auto weights = Normal<TypeParam>(&this->random_, n, 1);
      std::vector<TypeParam> penalties(n), slopes(n);
      kernels::SmoothL1Penalties<TypeParam>(n, sigma2, d.data(), penalties.data());
      kernels::SmoothL1Gradient<TypeParam>(n, sigma2, d.data(), slopes.data());
      double sum = 0, weighted = 0;
      for (size_t i = 0; i < n; ++i) {
        const double size = std::fabs(double(d[i]));
        const bool is_near = size < 1 / sigma2;
        const double wanted = is_near ? sigma2 * size * size / 2 : size - 0.5 / sigma2;
        const double slope = is_near ? sigma2 * d[i] : d[i] < 0 ? -1 : 1;
        sum += wanted;
        weighted += wanted * weights[i];
        ASSERT_NEAR(penalties[i], wanted, this->kRounding * (1 + wanted)) << d[i];
        ASSERT_NEAR(slopes[i], slope, this->kRounding) << d[i];
      }
      const auto loss = [&](const TypeParam* w) {
        return kernels::SmoothL1<TypeParam>(n, sigma2, d.data(), w);
      };
      EXPECT_NEAR(loss(nullptr), sum, this->kRounding * n);
      EXPECT_NEAR(loss(weights.data()), weighted, this->kRounding * n);
    }
  }
}

TYPED_TEST(LossKernels, SmoothL1OfNanHasNoGradient) {
  const std::vector<TypeParam> d(19, std::numeric_limits<TypeParam>::quiet_NaN());
  std::vector<TypeParam> slopes(d.size(), 7);
  kernels::SmoothL1Gradient<TypeParam>(d.size(), 1, d.data(), slopes.data());
  EXPECT_EQ(slopes, std::vector<TypeParam>(d.size(), 0));
  EXPECT_TRUE(std::isnan(kernels::SmoothL1<TypeParam>(d.size(), 1, d.data(), nullptr)));
}

struct LossShape {
  size_t outer, classes, inner;
};

template <typename D>
void ExpectSoftmaxLossGradients(double rounding) {
  using F = AccumulatorType<D>;
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("seed ", seed));
  std::mt19937 random(seed);
  for (const LossShape& s :
       {LossShape{3, 5, 1}, LossShape{2, 2100, 1}, LossShape{40, 1000, 1}, LossShape{2, 3, 7},
        LossShape{2, 21, 1500}, LossShape{0, 3, 2}, LossShape{2, 3, 0}}) {
    for (const double smoothing : {0., 0.1}) {
      const size_t items = s.outer * s.inner, count = items * s.classes;
      std::uniform_real_distribution<double> share(0, 1);
      std::vector<F> p(count), factors(items);
      std::vector<D> dx(count, D(3.f));
      std::vector<int> labels(items);
      for (F& value : p) value = static_cast<F>(share(random));
      for (F& value : factors) value = static_cast<F>(share(random) * 4);
      for (int& label : labels) label = static_cast<int>(random() % (s.classes + 1)) - 1;
      const auto at = [&](size_t item, size_t c) {
        return (item / s.inner * s.classes + c) * s.inner + item % s.inner;
      };
      if (items > 0) {
        labels[0] = -1;  // with which a NaN does not count
        p[at(0, 1)] = std::numeric_limits<F>::quiet_NaN();
      }
      kernels::SoftmaxLossGradient(s.outer, s.classes, s.inner, smoothing, labels.data(),
                                   factors.data(), p.data(), dx.data());
      for (size_t item = 0; item < items; ++item) {
        for (size_t c = 0; c < s.classes; ++c) {
          const bool is_label = labels[item] == static_cast<int>(c);
          const double target = smoothing / s.classes + (is_label ? 1 - smoothing : 0);
          const double wanted = labels[item] < 0 ? 0 : factors[item] * (p[at(item, c)] - target);
          ASSERT_NEAR(static_cast<double>(dx[at(item, c)]), wanted, rounding)
              << "item " << item << ", class " << c;
        }
      }
    }
  }
}

TEST(SoftmaxLossKernel, GivesTheGradientInEachType) {
  ExpectSoftmaxLossGradients<float>(2e-6);
  ExpectSoftmaxLossGradients<double>(1e-14);
  ExpectSoftmaxLossGradients<float16>(4e-3);
}

}  // namespace
}  // namespace caffe
