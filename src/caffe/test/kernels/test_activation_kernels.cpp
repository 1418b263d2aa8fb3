#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/test/support/every_instruction_set.hpp"

namespace caffe {
namespace {

using kernels::Activation;
using kernels::OnEveryInstructionSet;

template <typename T>
std::vector<T> Apply(const Activation& f, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  kernels::Activate(f, x.size(), x.data(), y.data());
  return y;
}

/// The largest error of f over `x` in units of the last place, `right` being taken for exact.
/// Results that are not normal numbers do not count.
template <typename T, typename Right>
double LargestError(const Activation& f, const std::vector<T>& x, Right right) {
  const std::vector<T> y = Apply(f, x);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = right(static_cast<long double>(x[i]));
    const T near = static_cast<T>(std::fabs(exact));
    if (!std::isnormal(near)) continue;
    const T unit = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
    if (!std::isfinite(unit)) continue;
    largest = std::max(largest, static_cast<double>(std::fabs(y[i] - exact) / unit));
  }
  return largest;
}

/// Numbers of both signs and every size up to `most`, evenly and by powers.
template <typename T>
std::vector<T> Sweep(double most) {
  std::vector<T> x;
  for (int i = -60000; i <= 60000; ++i) x.push_back(static_cast<T>(most * i / 60000.));
  for (double size = most; size > 1e-6; size *= 0.9995) {
    x.push_back(static_cast<T>(size));
    x.push_back(static_cast<T>(-size));
  }
  return x;
}

template <typename T>
void ExpectAccurate(double most_of_exp, double most_of_gelu) {
  OnEveryInstructionSet([&] {
    const std::vector<T> x = Sweep<T>(most_of_exp);
    EXPECT_LE(
        LargestError({Activation::EXPONENTIAL, 1, 1}, x, [](long double v) { return std::exp(v); }),
        1.5);
    EXPECT_LE(LargestError({Activation::SIGMOID}, x,
                           [](long double v) { return 1 / (1 + std::exp(-v)); }),
              3);
    EXPECT_LE(LargestError({Activation::LOGARITHM, 0, 1, 1}, x,
                           [](long double v) { return std::log(v); }),
              1.5);
    EXPECT_LE(LargestError({Activation::SOFTPLUS}, x,
                           [](long double v) { return std::log1p(std::exp(v)); }),
              3);
    const std::vector<T> near = Sweep<T>(20);
    EXPECT_LE(LargestError({Activation::TANH}, near, [](long double v) { return std::tanh(v); }),
              2.5);
    EXPECT_LE(LargestError({Activation::SWISH, 1}, near,
                           [](long double v) { return v / (1 + std::exp(-v)); }),
              4);
    EXPECT_LE(LargestError({Activation::GELU}, Sweep<T>(4),
                           [](long double v) { return v * std::erfc(-v * std::sqrt(0.5L)) / 2; }),
              most_of_gelu);
  });
}

TEST(ActivationKernels, AreAccurateInFloat) { ExpectAccurate<float>(87, 16); }
TEST(ActivationKernels, AreAccurateInDouble) { ExpectAccurate<double>(708, 24); }

template <typename T>
void ExpectRightAtTheEnds() {
  const T infinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x = {-infinity, infinity, -T(1e30), T(1e30), 0};
  OnEveryInstructionSet([&] {
    EXPECT_EQ(Apply<T>({Activation::EXPONENTIAL, 1, 1}, x),
              (std::vector<T>{0, infinity, 0, infinity, 1}));
    EXPECT_EQ(Apply<T>({Activation::SIGMOID}, x), (std::vector<T>{0, 1, 0, 1, 0.5}));
    EXPECT_EQ(Apply<T>({Activation::TANH}, x), (std::vector<T>{-1, 1, -1, 1, 0}));
    EXPECT_EQ(Apply<T>({Activation::ELU, 2, 1}, x), (std::vector<T>{-2, infinity, -2, T(1e30), 0}));
    EXPECT_EQ(Apply<T>({Activation::HARD_SWISH, 0.25, 0.5}, x),
              (std::vector<T>{0, infinity, 0, T(1e30), 0}));
    EXPECT_EQ(Apply<T>({Activation::GELU}, x), (std::vector<T>{0, infinity, 0, T(1e30), 0}));
    EXPECT_EQ(Apply<T>({Activation::CLIP, -1, 6}, x), (std::vector<T>{-1, 6, -1, 6, 0}));
    EXPECT_EQ(Apply<T>({Activation::THRESHOLD, 0}, x), (std::vector<T>{0, 1, 0, 1, 0}));
    for (Activation::Kind kind :
         {Activation::ABSOLUTE, Activation::POWER, Activation::EXPONENTIAL, Activation::LOGARITHM,
          Activation::SIGMOID, Activation::TANH, Activation::SOFTPLUS, Activation::ELU,
          Activation::SWISH, Activation::CLIP, Activation::CLIPPED_RELU, Activation::HARD_SWISH,
          Activation::GELU, Activation::NONE, Activation::RELU}) {
      // 17 of them, so that both vectors and their rest are seen.
      for (T y : Apply<T>({kind, 1, 2, 3}, std::vector<T>(17, nan))) {
        EXPECT_TRUE(std::isnan(y)) << kind;
      }
    }
  });
}

template <typename T>
void ExpectLogarithmsAtTheEnds() {
  const T infinity = std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::min();
  OnEveryInstructionSet([&] {
    // 17 of each, so that both vectors and their rest are seen.
    const auto log = [](T x) {
      return Apply<T>({Activation::LOGARITHM, 0, 1, 1}, std::vector<T>(17, x)).back();
    };
    EXPECT_EQ(log(0), -infinity);
    EXPECT_EQ(log(infinity), infinity);
    EXPECT_TRUE(std::isnan(log(-1)));
    EXPECT_TRUE(std::isnan(log(-infinity)));
    EXPECT_EQ(log(1), 0);
    for (const T x :
         {least, least / 2, std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()}) {
      EXPECT_NEAR(log(x) / std::log(x), 1, 2 * std::numeric_limits<T>::epsilon()) << x;
    }
    const std::vector<T> x = {-infinity, infinity, -T(1e30), T(1e30)};
    EXPECT_EQ(Apply<T>({Activation::SOFTPLUS}, x), (std::vector<T>{0, infinity, 0, T(1e30)}));
  });
}

TEST(ActivationKernels, LogarithmsAreRightAtTheEndsInFloat) { ExpectLogarithmsAtTheEnds<float>(); }
TEST(ActivationKernels, LogarithmsAreRightAtTheEndsInDouble) {
  ExpectLogarithmsAtTheEnds<double>();
}

/// The derivative of a function with corners is 0, 1 or a slope, on which side a corner belongs.
template <typename T>
void ExpectGradientsAtCorners() {
  const std::vector<T> x = {-9, -2, -1, -0.5, 0, 0.5, 1, 2, 6, 9};
  OnEveryInstructionSet([&] {
    const auto gradients = [&x](const Activation& f) {
      std::vector<T> many, dy, dx;
      for (int i = 0; i < 5; ++i) many.insert(many.end(), x.begin(), x.end());
      for (size_t i = 0; i < many.size(); ++i) dy.push_back(static_cast<T>(i / x.size() + 1));
      dx.resize(many.size());
      kernels::ActivateGradient(f, many.size(), many.data(), dy.data(), dx.data());
      for (size_t i = x.size(); i < many.size(); ++i) {
        EXPECT_EQ(dx[i], dy[i] * dx[i % x.size()]) << "element " << i;
      }
      dx.resize(x.size());
      return dx;
    };
    using Numbers = std::vector<T>;
    EXPECT_EQ(gradients({Activation::ABSOLUTE}), (Numbers{-1, -1, -1, -1, 0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(gradients({Activation::CLIP, -1, 6}), (Numbers{0, 0, 1, 1, 1, 1, 1, 1, 1, 0}));
    EXPECT_EQ(gradients({Activation::CLIPPED_RELU, 6, 0.25}),
              (Numbers{0.25, 0.25, 0.25, 0.25, 0.25, 1, 1, 1, 0, 0}));
    EXPECT_EQ(gradients({Activation::HARD_SWISH, 0.25, 0.5}),
              (Numbers{0, 0, 0, 0.25, 0.5, 0.75, 1, 1, 1, 1}));
    EXPECT_EQ(Apply<T>({Activation::CLIPPED_RELU, 6, 0.25}, x),
              (Numbers{-2.25, -0.5, -0.25, -0.125, 0, 0.5, 1, 2, 6, 6}));
    EXPECT_EQ(Apply<T>({Activation::HARD_SWISH, 0.25, 0.5}, x),
              (Numbers{0, 0, -0.25, -0.1875, 0, 0.3125, 0.75, 2, 6, 9}));
  });
}

TEST(ActivationKernels, GradientsAtCornersAreRightInFloat) { ExpectGradientsAtCorners<float>(); }
TEST(ActivationKernels, GradientsAtCornersAreRightInDouble) { ExpectGradientsAtCorners<double>(); }

TEST(ActivationKernels, SlopesOfPReluGetTheNegativeInputsAndNan) {
  OnEveryInstructionSet([] {
    std::vector<float> x = {-1, 2, -3, 4, 0, -0.5}, dy = {1, 1, 2, 1, 1, 4};
    double d_slope[2];
    kernels::PReluSlopeGradient(1, 2, 3, x.data(), dy.data(), d_slope);
    EXPECT_EQ(d_slope[0], -7);
    EXPECT_EQ(d_slope[1], -2);
    x[4] = std::numeric_limits<float>::quiet_NaN();
    kernels::PReluSlopeGradient(1, 2, 3, x.data(), dy.data(), d_slope);
    EXPECT_EQ(d_slope[0], -7);
    EXPECT_TRUE(std::isnan(d_slope[1]));
  });
}

TEST(ActivationKernels, AreRightAtTheEndsInFloat) { ExpectRightAtTheEnds<float>(); }
TEST(ActivationKernels, AreRightAtTheEndsInDouble) { ExpectRightAtTheEnds<double>(); }

TEST(ActivationKernels, ValueOfIsWhatTheyCompute) {
  const std::vector<double> x = Sweep<double>(9);
  for (int kind = Activation::NONE; kind <= Activation::GELU; ++kind) {
    if (kind == Activation::PRELU) continue;
    const Activation f = {static_cast<Activation::Kind>(kind), 0.75, 2, 3};
    const std::vector<double> y = Apply(f, x);
    for (size_t i = 0; i < x.size(); i += 997) {
      const double value = kernels::ValueOf(f, x[i]);
      if (std::isnan(value) && std::isnan(y[i])) continue;  // the logarithm of what is negative
      EXPECT_NEAR(y[i], value, 1e-13 * std::max(1., std::fabs(value))) << kind << " of " << x[i];
    }
  }
  EXPECT_THROW(kernels::ValueOf({Activation::PRELU}, 1), Error);
}

TEST(ActivationKernels, AClippedReluIsAClipWhileKernelsWrite) {
  const auto clip = kernels::AsPostOp({Activation::CLIPPED_RELU, 6, 0});
  ASSERT_TRUE(clip);
  EXPECT_EQ(*clip, (Activation{Activation::CLIP, 0, 6}));
  EXPECT_FALSE(kernels::AsPostOp({Activation::CLIPPED_RELU, 6, 0.1})) << "its slope is lost";
  EXPECT_FALSE(kernels::AsPostOp({Activation::POWER, 0, 1, 2}));
}

TEST(ActivationKernels, SubnormalResultsAreKeptUnlessFlushed) {
  OnEveryInstructionSet([&] {
    const float y = Apply<float>({Activation::EXPONENTIAL, 1, 1}, {-100})[0];
    EXPECT_NEAR(y / std::exp(-100.f), 1, 0.02);
  });
}

}  // namespace
}  // namespace caffe
