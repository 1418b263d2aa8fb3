// Inner products against their definition, on every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/inner_product.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

class InnerProducts : public OnInstructionSet {};

/// Memory that holds so many bytes, with NaNs in it.
std::vector<float> ScratchOf(size_t bytes) {
  return std::vector<float>(bytes / sizeof(float) + 1, std::numeric_limits<float>::quiet_NaN());
}

template <typename T>
std::vector<T> Random(size_t n, std::mt19937* random) {
  std::normal_distribution<float> value;
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(value(*random));
  return values;
}

template <typename Y>
constexpr double kRounding = std::is_same<Y, float>::value     ? 0
                             : std::is_same<Y, float16>::value ? 1. / 2048
                                                               : 1. / 256;

/// What the header allows of the sum of magnitudes, with FLOAT math.
template <typename X, typename W>
double RelativeBound(int inputs) {
  const bool in_tiles = CpuInstructionSet().has_tiles();
  const bool splits_floats = std::is_same<X, float>::value || std::is_same<W, float>::value;
  return (inputs + (in_tiles ? 6 : 2)) * std::ldexp(1, -23) +
         (in_tiles && splits_floats ? std::ldexp(1, -22) : 0);
}

/// Compares with the definition in double.
template <typename X, typename W, typename Y>
void Check(int num, int inputs, int outputs, bool with_residual, const Activation& activation) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed << ": " << num << " x " << inputs
                                    << " to " << outputs);
  std::mt19937 random(seed);
  const auto x = Random<X>(size_t(num) * inputs, &random);
  const auto w = Random<W>(size_t(outputs) * inputs, &random);
  const auto bias = Random<float>(outputs, &random);
  const auto residual = Random<Y>(size_t(num) * outputs, &random);
  const InnerProduct product(inputs, outputs);
  std::vector<W> packed(product.packed_size());
  product.PackWeights(w.data(), nullptr, packed.data());
  std::vector<Y> y(size_t(num) * outputs + 1, Y(77.f));
  std::vector<float> scratch = ScratchOf(product.scratch_bytes(num));
  product.Forward(num, x.data(), packed.data(),
                  PostOps(bias.data(), with_residual ? residual.data() : nullptr, activation),
                  scratch.data(), y.data());
  EXPECT_EQ(static_cast<float>(y.back()), 77) << "behind the end";
  for (size_t i = 0; i + 1 < y.size(); ++i) {
    const size_t n = i / outputs, o = i % outputs;
    double sum = bias[o], magnitude = std::fabs(bias[o]);
    const auto add = [&](double term) {
      sum += term;
      magnitude += std::fabs(term);
    };
    for (int k = 0; k < inputs; ++k) {
      add(double(static_cast<float>(x[n * inputs + k])) * static_cast<float>(w[o * inputs + k]));
    }
    if (with_residual) add(static_cast<float>(residual[i]));
    if (activation.kind == Activation::RELU) sum = std::max(sum, 0.);
    const double bound = RelativeBound<X, W>(inputs) * magnitude + kRounding<Y> * std::fabs(sum) +
                         std::ldexp(1, -24);
    ASSERT_NEAR(static_cast<float>(y[i]), sum, bound) << i;
  }
}

template <typename X, typename W, typename Y>
void CheckRandomShapes() {
  std::mt19937 random(TestSeed());
  const Activation relu{Activation::RELU, 0., 0.};
  for (int i = 0; i < 12; ++i) {
    const int num = i < 4 ? i + 1 : 1 + random() % 12;
    Check<X, W, Y>(num, 1 + random() % 700, 1 + random() % 150, i % 2, i % 3 ? relu : Activation());
  }
}

TEST_P(InnerProducts, AgreeWithTheDefinition) {
  CheckRandomShapes<float, float, float>();
  CheckRandomShapes<float16, float16, float16>();
  CheckRandomShapes<bfloat16, bfloat16, bfloat16>();
  CheckRandomShapes<float, float16, float>();
  CheckRandomShapes<float, bfloat16, float16>();
  CheckRandomShapes<float16, float, bfloat16>();
}

TEST_P(InnerProducts, TakeBatchesInParts) {
  Check<float, float, float>(131, 520, 100, true, {});
  Check<float16, float16, float16>(64, 2048, 16, false, {});
  Check<float16, float16, float>(1, 2048, 1000, false, {});
  Check<float, float, float>(0, 5, 5, false, {});
}

// 1*1 + 2*2 + 3*3 + 10 = 24 and 1*4 + 2*5 + 3*6 - 40 = -8.
TEST_P(InnerProducts, OneByHand) {
  const InnerProduct product(3, 2);
  const std::vector<float> w = {1, 2, 3, 4, 5, 6}, x = {1, 2, 3}, bias = {10, -40}, scale = {1, 2};
  std::vector<float> packed(product.packed_size()), y(2);
  std::vector<float> scratch = ScratchOf(product.scratch_bytes(1));
  product.PackWeights(w.data(), nullptr, packed.data());
  product.Forward(1, x.data(), packed.data(), PostOps(bias.data()), scratch.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{24, -8}));
  product.PackWeights(w.data(), scale.data(), packed.data());
  product.Forward(1, x.data(), packed.data(), PostOps(), scratch.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{14, 64}));
}

TEST_P(InnerProducts, GiveTheWeightsBack) {
  std::mt19937 random(TestSeed());
  const InnerProduct product(37, 59);
  const auto w = Random<float>(37 * 59, &random);
  std::vector<float> packed(product.packed_size()), back(w.size());
  product.PackWeights(w.data(), nullptr, packed.data());
  product.UnpackWeights(packed.data(), back.data());
  EXPECT_EQ(back, w);
}

/// To the bit, with one thread and with two.
template <typename X, typename Y, typename R>
void CheckIntegers(int num, int inputs, int outputs, bool with_residual,
                   const Activation& activation) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed << ": " << num << " x " << inputs
                                    << " to " << outputs);
  std::mt19937 random(seed);
  const auto x = Integers<X>(size_t(num) * inputs, &random);
  const auto w = Integers<int8_t>(size_t(outputs) * inputs, &random);
  auto scale = Floats(outputs, 1e-4f, &random);
  const auto bias = Floats(outputs, 1, &random);
  const auto residual = Residuals<R>(size_t(num) * outputs, &random);
  PostOps post;
  post.scale = scale.data();
  post.bias = bias.data();
  post.residual = with_residual ? residual.data() : nullptr;
  post.residual_scale = 0.03125f;
  post.activation = activation;
  post.factor = 16;
  std::vector<Y> expected;
  for (size_t i = 0; i < size_t(num) * outputs; ++i) {
    const size_t n = i / outputs, o = i % outputs;
    int64_t sum = 0;
    for (int k = 0; k < inputs; ++k) sum += int(x[n * inputs + k]) * w[o * inputs + k];
    expected.push_back(Finished<Y, R>(post, sum, o, with_residual ? &residual[i] : nullptr));
  }
  expected.push_back(Y(77));
  const Int8InnerProduct product(inputs, outputs);
  std::vector<int8_t> packed(product.packed_size());
  product.PackWeights(w.data(), packed.data());
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(expected.size(), Y(77));
    std::vector<float> scratch = ScratchOf(product.scratch_bytes(num));
    product.Forward(num, x.data(), packed.data(), post, scratch.data(), y.data());
    EXPECT_EQ(y, expected) << threads << " threads";
  }
}

TEST_P(InnerProducts, OfIntegersAreExact) {
  std::mt19937 random(TestSeed());
  const Activation relu{Activation::RELU, 0., 0.};
  for (int num = 1; num < 12; ++num) {
    const int inputs = 1 + random() % 700, outputs = 1 + random() % 150;
    CheckIntegers<uint8_t, float, float>(num, inputs, outputs, false, relu);
    CheckIntegers<int8_t, int8_t, uint8_t>(num, inputs, outputs, true, {});
    CheckIntegers<int8_t, uint8_t, int8_t>(num, inputs, outputs, true, relu);
    CheckIntegers<uint8_t, uint8_t, float>(num, inputs, outputs, true, relu);
  }
  CheckIntegers<uint8_t, int8_t, int8_t>(70, 3000, 24, true, relu);
}

TEST_P(InnerProducts, TheLargestIntegersDoNotOverflow) {
  const int inputs = 66000;
  const std::vector<float> one = {1};
  const auto check = [&](auto x, int weight) {
    const std::vector<int8_t> w(inputs, static_cast<int8_t>(weight));
    for (const int num : {1, 4}) {
      const std::vector<decltype(x)> rows(size_t(num) * inputs, x);
      const Int8InnerProduct product(inputs, 1);
      std::vector<int8_t> packed(product.packed_size());
      product.PackWeights(w.data(), packed.data());
      PostOps post;
      post.scale = one.data();
      std::vector<float> y(num), scratch = ScratchOf(product.scratch_bytes(num));
      product.Forward(num, rows.data(), packed.data(), post, scratch.data(), y.data());
      EXPECT_EQ(y, std::vector<float>(num, 1.f * weight * x * 66000)) << int(x) << ", " << weight;
    }
  };
  for (const int weight : {127, -127}) {
    check(uint8_t(255), weight);
    check(int8_t(-128), weight);
    check(int8_t(127), weight);
  }
}

TEST_P(InnerProducts, RefuseWhatTheyDoNotCompute) {
  EXPECT_THROW(InnerProduct(0, 5), Error);
  EXPECT_THROW(InnerProduct(5, -1), Error);
  EXPECT_THROW(Int8InnerProduct(66001, 8), Error) << "too long a sum";
}

// Rows enough for AMX: a number that cannot be split, of x or of the weights of one output.
TEST_P(InnerProducts, GiveInfinitiesAndNaNsWhereTheyBelong) {
  const int num = 9, inputs = 300, outputs = 70;
  for (const float special :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3.4e38f}) {
    for (const bool in_weights : {false, true}) {
      std::vector<float> x(num * inputs, 1.f), w(outputs * inputs, 0.5f);
      (in_weights ? w[33 * inputs + 290] : x[4 * inputs + 290]) = special;
      const InnerProduct product(inputs, outputs);
      std::vector<float> packed(product.packed_size()), y(num * outputs);
      product.PackWeights(w.data(), nullptr, packed.data());
      std::vector<float> scratch = ScratchOf(product.scratch_bytes(num));
      product.Forward(num, x.data(), packed.data(), PostOps(), scratch.data(), y.data());
      const float reached = in_weights ? special : 0.5f * special;
      for (int i = 0; i < num * outputs; ++i) {
        if (in_weights ? i % outputs != 33 : i / outputs != 4) {
          ASSERT_EQ(y[i], 150) << i;
        } else {
          ASSERT_TRUE(std::isnan(special) ? std::isnan(y[i]) : y[i] == reached) << i;
        }
      }
    }
  }
}

INSTANTIATE_ON_EVERY_SET(InnerProducts);

}  // namespace
}  // namespace caffe::kernels
