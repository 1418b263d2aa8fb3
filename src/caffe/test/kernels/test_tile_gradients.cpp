// The gradients of convolutions' weights in AMX's tiles, compared with their definition in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/tile_inner_product.hpp"
#include "caffe/kernels/weights_gradient.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/drawn_values.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::kernels {
namespace {

class TileGradients : public OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(Sets, TileGradients, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

/// Shapes that reach every part of the geometry.
std::vector<ConvolutionShape> GradientShapes() {
  return {Square(16, 16, 1, {5, 1}),
          Square(32, 48, 1, {9, 3, 1, 1}),
          Square(16, 32, 1, {10, 3, 2, 1}),  // a stride that leaves a last row out
          Square(48, 16, 1, {9, 3, 2, 1}),
          Square(16, 16, 1, {9, 1, 2}),  // pixels that get nothing
          Square(16, 16, 1, {13, 5, 3, 2}),
          Square(16, 16, 1, {15, 3, 1, 2, 2}),  // dilation
          Square(16, 32, 1, {15, 3, 2, 2, 3}),  // which no phase divides
          Square(16, 16, 1, {15, 4, 4, 3, 2}),  // which some phases divide
          Square(16, 16, 1, {5, 1, 1, 1}),      // outputs of padding alone
          Square(16, 16, 1, {4, 3, 1, 4}),      // more padding than kernel
          Square(16, 16, 1, {3, 3, 1, 0}),      // a single output
          Shape(16, 16, 1, {{1, 1}, {40, 7, 1, 3}}),
          Shape(16, 16, 1, {{30, 7, 3, 3}}),  // one axis
          Shape(32, 96, 1, {{7, 3, 2, 1}, {6, 1, 1, 0}}),
          Square(64, 64, 2, {6, 3, 1, 1}),  // groups
          Square(32, 64, 2, {7, 2, 2, 0})};
}
std::vector<ConvolutionShape> PlainGradientShapes() {
  return {Square(3, 32, 1, {23, 7, 2, 3}), Square(3, 16, 1, {31, 11, 4}),
          Square(1, 16, 1, {8, 3, 1, 1}), Shape(4, 48, 1, {{10, 3, 2, 0}, {12, 5, 3, 1, 2}}),
          Square(3, 16, 1, {9, 1})};
}
ConvolutionShape SomeGradientShape(std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  std::vector<Extents> axes;
  for (int axis = 0; axis < 2; ++axis) {
    const int kernel = between(1, 5), dilation = between(1, 3);
    const int window = dilation * (kernel - 1) + 1;
    axes.push_back(
        {between(window, window + 12), kernel, between(1, 3), between(0, kernel), dilation});
  }
  const int group = between(1, 2);
  return Shape(16 * group * between(1, 5), 16 * group * between(1, 5), group, axes);
}

template <typename F>
void ForAllGradients(F&& f) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  const auto call = [&](const ConvolutionShape& s, bool plain) {
    SCOPED_TRACE(::testing::Message()
                 << "CAFFE_TEST_SEED=" << seed << ": " << s.channels << " channels, " << s.outputs
                 << " outputs, group " << s.group << ", input " << s.input[0] << " x "
                 << s.input.back() << ", kernel " << s.kernel[0] << " x " << s.kernel.back()
                 << ", stride " << s.stride[0] << " x " << s.stride.back() << ", pad " << s.pad[0]
                 << " x " << s.pad.back() << ", dilation " << s.dilation[0] << " x "
                 << s.dilation.back() << (plain ? ", plain" : ""));
    f(s, plain, &random);
  };
  for (const ConvolutionShape& s : GradientShapes()) call(s, false);
  for (const ConvolutionShape& s : PlainGradientShapes()) call(s, true);
  for (int i = 0; i < 6; ++i) call(SomeGradientShape(&random), false);
}

/// (num, channels, spatial) to (num, spatial, channels), and back with the sizes exchanged.
template <typename T>
std::vector<T> LastFirst(const std::vector<T>& plain, size_t num, size_t channels, size_t spatial) {
  return ToChannelsLast(plain, num, channels, spatial, /*block=*/1, /*gap=*/0, T());
}
template <typename X, typename D>
double OmittedParts() {
  return sizeof(X) == 2 && sizeof(D) == 2 ? std::ldexp(1., -16) : std::ldexp(1., -22);
}

template <typename X, typename D>
void ExpectWeightsGradient(const ConvolutionShape& s, bool plain, int num, std::mt19937* random) {
  const auto kernel = WeightsGradient::Make(s, plain);
  ASSERT_TRUE(kernel);
  const std::vector<X> x = Drawn<X>(num * s.input_size(), random);
  const std::vector<D> dy = Drawn<D>(num * s.output_size(), random);
  const std::vector<float> before = Drawn<float>(s.weight_count(), random);
  std::vector<double> expected = Wide(before), magnitudes = Magnitudes(expected);
  ReferenceConvolutionBackwardWeights(s, num, Wide(x).data(), Wide(dy).data(), expected.data());
  ReferenceConvolutionBackwardWeights(s, num, Magnitudes(Wide(x)).data(),
                                      Magnitudes(Wide(dy)).data(), magnitudes.data());
  const std::vector<X> from = plain ? x : LastFirst(x, num, s.channels, s.input_spatial());
  const std::vector<D> last = LastFirst(dy, num, s.outputs, s.output_spatial());
  std::vector<float> result[2] = {before, before};
  for (const int threads : {1, 3}) {
    const TeamSize team(threads);
    const AlignedScratch scratch(kernel->scratch_bytes(num, kElementType<X>, kElementType<D>));
    kernel->Add(num, from.data(), last.data(), scratch.data(), result[threads / 2].data());
  }
  EXPECT_EQ(result[0], result[1]) << "threads change the bits";
  const double products = double(num) * s.output_spatial() + 6;
  const double bound = OmittedParts<X, D>() + products * std::ldexp(1., -23);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], result[0][i], bound * magnitudes[i] + num * 1e-30) << "weight " << i;
  }
}

TEST_P(TileGradients, OfWeightsAreSumsOfProducts) {
  ForAllGradients([](const ConvolutionShape& s, bool plain, std::mt19937* random) {
    ExpectWeightsGradient<float16, float16>(s, plain, 3, random);
    ExpectWeightsGradient<float16, float>(s, plain, 1, random);
    ExpectWeightsGradient<float, float>(s, plain, 2, random);
    ExpectWeightsGradient<bfloat16, bfloat16>(s, plain, 2, random);
  });
}

TEST_P(TileGradients, OfManyPositionsComeInChunks) {
  std::mt19937 random(TestSeed());
  ExpectWeightsGradient<float16, float16>(Square(64, 64, 1, {50, 3, 1, 1}), false, 2, &random);
}

TEST_P(TileGradients, KeepInfinitiesWithTheirOutput) {
  const ConvolutionShape s = Square(16, 32, 1, {6, 3, 1, 1});
  const auto kernel = WeightsGradient::Make(s, false);
  std::vector<float16> x(s.input_size(), float16(1.f)), dy(s.output_size(), float16(1.f));
  dy[5 * s.outputs + 7] = float16(std::numeric_limits<float>::infinity());
  const AlignedScratch scratch(
      kernel->scratch_bytes(1, ElementType::FLOAT16, ElementType::FLOAT16));
  std::vector<float> d_weights(s.weight_count());
  kernel->Add(1, x.data(), dy.data(), scratch.data(), d_weights.data());
  for (size_t i = 0; i < d_weights.size(); ++i) {
    EXPECT_EQ(i / (s.channels * 9) != 7, std::isfinite(d_weights[i])) << "weight " << i;
  }
}

TEST_P(TileGradients, AreNotThereForOtherShapes) {
  EXPECT_FALSE(WeightsGradient::Make(Square(20, 16, 1, {5, 3, 1, 1}), false));
  EXPECT_FALSE(WeightsGradient::Make(Square(16, 20, 1, {5, 3, 1, 1}), false));
  EXPECT_FALSE(WeightsGradient::Make(Square(32, 32, 4, {5, 3, 1, 1}), false));
  EXPECT_FALSE(WeightsGradient::Make(Shape(16, 16, 1, {{3, 1}, {3, 1}, {3, 1}}), false));
  EXPECT_TRUE(WeightsGradient::Make(Square(16, 16, 1, {5, 3, 1, 1}), false));
}

class OtherGradients : public OnInstructionSet {};
INSTANTIATE_ON_EVERY_SET(OtherGradients);

TEST_P(OtherGradients, HaveNoTiles) {
  const bool has_tiles = GetParam().row().tiles != nullptr;
  const ConvolutionShape s = Square(16, 16, 1, {5, 3, 1, 1});
  EXPECT_EQ(has_tiles, WeightsGradient::Make(s, false) != nullptr);
  EXPECT_EQ(has_tiles, TileInnerProduct::Make(32, 32) != nullptr);
}

/// op(a) op(b) of (m, n) sums of k terms, and of their magnitudes.
std::vector<double> MatrixProduct(int m, int n, int k, const std::vector<double>& a,
                                  bool transpose_a, const std::vector<double>& b,
                                  bool transpose_b) {
  std::vector<double> c(size_t(m) * n, 0.);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        c[size_t(i) * n + j] += a[transpose_a ? size_t(l) * m + i : size_t(i) * k + l] *
                                b[transpose_b ? size_t(j) * k + l : size_t(l) * n + j];
      }
    }
  }
  return c;
}
template <typename Y>
void ExpectProduct(const std::vector<double>& expected, const std::vector<double>& magnitudes,
                   int terms, double omitted, const std::vector<Y>& y) {
  const double bound = omitted + (terms + 8) * std::ldexp(1., -23);
  const double rounding = sizeof(Y) == 2 ? std::ldexp(1., -11) : 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], static_cast<float>(y[i]),
                bound * magnitudes[i] + rounding * std::abs(expected[i]) + std::ldexp(1., -25))
        << "element " << i;
  }
}

template <typename T>
void ExpectInnerProduct(int rows, int inputs, int outputs, std::mt19937* random) {
  SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
  const auto kernel = TileInnerProduct::Make(inputs, outputs);
  ASSERT_TRUE(kernel);
  const auto x = Drawn<T>(size_t(rows) * inputs, random);
  const auto dy = Drawn<T>(size_t(rows) * outputs, random);
  const auto weights = Drawn<float16>(size_t(inputs) * outputs, random);
  const auto bias = Drawn<float>(outputs, random);
  const auto before = Drawn<float>(size_t(inputs) * outputs, random);
  const AlignedScratch scratch(kernel->scratch_bytes(rows));
  const double omitted = OmittedParts<T, float16>();
  const std::vector<double> wide_x = Wide(x), wide_dy = Wide(dy), wide_w = Wide(weights);
  const auto big = [](const std::vector<double>& values) { return Magnitudes(values); };

  std::vector<T> y(size_t(rows) * outputs);
  ASSERT_TRUE(
      kernel->Forward(rows, x.data(), weights.data(), bias.data(), scratch.data(), y.data()));
  auto expected = MatrixProduct(rows, outputs, inputs, wide_x, false, wide_w, true);
  auto magnitudes = MatrixProduct(rows, outputs, inputs, big(wide_x), false, big(wide_w), true);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] += bias[i % outputs];
    magnitudes[i] += std::abs(bias[i % outputs]);
  }
  ExpectProduct(expected, magnitudes, inputs, omitted, y);

  std::vector<T> dx(x.size());
  ASSERT_TRUE(kernel->Data(rows, dy.data(), weights.data(), scratch.data(), dx.data()));
  ExpectProduct(MatrixProduct(rows, inputs, outputs, wide_dy, false, wide_w, false),
                MatrixProduct(rows, inputs, outputs, big(wide_dy), false, big(wide_w), false),
                outputs, omitted, dx);

  std::vector<float> d_weights = before;
  kernel->Weights(rows, x.data(), dy.data(), scratch.data(), d_weights.data());
  expected = MatrixProduct(outputs, inputs, rows, wide_dy, true, wide_x, false);
  magnitudes = MatrixProduct(outputs, inputs, rows, big(wide_dy), true, big(wide_x), false);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] += before[i];
    magnitudes[i] += std::abs(before[i]);
  }
  ExpectProduct(expected, magnitudes, rows, OmittedParts<T, T>(), d_weights);
}

TEST_P(TileGradients, OfInnerProductsAndTheirValues) {
  std::mt19937 random(TestSeed());
  for (const int rows : {1, 7, 16, 33}) {
    ExpectInnerProduct<float16>(rows, 1056, 96, &random);
    ExpectInnerProduct<float>(rows, 32, 160, &random);
  }
  EXPECT_FALSE(TileInnerProduct::Make(48, 32));
  EXPECT_FALSE(TileInnerProduct::Make(32, 48));
}

TEST_P(TileGradients, OfInnerProductsSayWhatCannotBeSplit) {
  const auto kernel = TileInnerProduct::Make(64, 32);
  const AlignedScratch scratch(kernel->scratch_bytes(2));
  std::vector<float16> x(2 * 64, float16(1.f)), weights(64 * 32, float16(1.f)), y(2 * 32),
      dx(2 * 64);
  EXPECT_TRUE(kernel->Forward(2, x.data(), weights.data(), nullptr, scratch.data(), y.data()));
  EXPECT_EQ(64.f, static_cast<float>(y[33]));
  weights[70] = float16(std::numeric_limits<float>::infinity());
  EXPECT_FALSE(kernel->Forward(2, x.data(), weights.data(), nullptr, scratch.data(), y.data()));
  weights[70] = float16(1.f);
  x[65] = float16(NAN);
  EXPECT_FALSE(kernel->Forward(2, x.data(), weights.data(), nullptr, scratch.data(), y.data()));
  y[3] = float16(NAN);
  EXPECT_FALSE(kernel->Data(2, y.data(), weights.data(), scratch.data(), dx.data()));
}

TEST_P(TileGradients, WeightsPackStridedAsTheyPackInOrder) {
  ForAllGradients([](const ConvolutionShape& s, bool plain, std::mt19937* random) {
    if (plain && s.is_pointwise()) return;  // there is no such kernel
    const TileShape tile_shape = TileShape::TWO_BY_TWO;
    const auto kernel =
        PackedConvolution::MakeChannelsLast(s, plain, ElementType::FLOAT16, tile_shape);
    ASSERT_TRUE(kernel);
    const std::vector<float16> weights = Drawn<float16>(s.weight_count(), random);
    std::vector<float16> expected(kernel->packed_size()), packed(kernel->packed_size(), 9.f);
    kernel->PackWeights(weights.data(), nullptr, expected.data());
    const ptrdiff_t columns = s.kernel.back(), taps = s.kernel_size();
    const ptrdiff_t of_output = s.column_rows();
    kernel->PackStrided(reinterpret_cast<const uint16_t*>(weights.data()),
                        {s.outputs / s.group * of_output, of_output, taps, columns, 1},
                        reinterpret_cast<uint16_t*>(packed.data()));
    for (size_t i = 0; i < packed.size(); ++i) {
      ASSERT_EQ(static_cast<float>(expected[i]), static_cast<float>(packed[i])) << i;
    }
  });
}

}  // namespace
}  // namespace caffe::kernels
