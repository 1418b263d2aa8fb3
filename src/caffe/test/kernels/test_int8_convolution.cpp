// Convolution of 8-bit integers against its definition, to the bit, on every instruction set that
// this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/weight_pairs.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

class Int8Convolutions : public OnInstructionSet {};

const Activation kNothing, kRelu = {Activation::RELU, 0, 0}, kLeaky = {Activation::RELU, 0.1, 0},
                           kClip = {Activation::CLIP, 1, 6};

/// Instead of the side of Winograd's tiles: by products of bytes, with weights of which many pairs
/// are as large as they may be.
constexpr int kSmallPairs = -1, kCopiedSmallPairs = -2;

std::shared_ptr<const Int8Convolution> MakeKernel(const ConvolutionShape& s, bool plain,
                                                  int winograd) {
  return winograd < 0 ? Int8Convolution::MakeForSmallPairs(s, plain, winograd == kCopiedSmallPairs)
         : winograd   ? Int8Convolution::MakeWinograd(s, winograd)
                      : Int8Convolution::Make(s, plain);
}

/// Of pairs that do not fit the second weight is the largest with which they do.
void MakePairsFit(const ConvolutionShape& s, bool plain, std::vector<int8_t>* weights) {
  const WeightPairs pairs(s.channels / s.group, s.kernel, s.dilation.back(), plain);
  for (size_t first = 0; first < weights->size(); first += s.column_rows()) {
    pairs.ForEach([&](size_t i, size_t j) {
      const int a = (*weights)[first + i];
      int8_t& b = (*weights)[first + j];
      if (!WeightPairs::Fits(a, b)) b = (a > 0 ? 1 : -1) * (WeightPairs::kMost - std::abs(a));
    });
  }
}

/// Every element, padding included, must be what the definition says; with a gap behind each image,
/// twice and three times that in output and residual. `winograd`: by tiles of that side.
template <typename X, typename Y, typename R = Y>
void ExpectExact(const ConvolutionShape& s, int num, bool plain, const Activation& activation,
                 bool with_residual, size_t gap = 0, int winograd = 0) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << s.channels << " channels, "
                                    << s.outputs << " outputs, group " << s.group);
  std::mt19937 random(seed);
  const auto convolution = MakeKernel(s, plain, winograd);
  ASSERT_TRUE(convolution);
  const size_t block = convolution->block();
  const std::vector<X> x = Integers<X>(num * s.input_size(), &random);
  std::vector<int8_t> weights = Integers<int8_t>(s.weight_count(), &random);
  if (winograd < 0) MakePairsFit(s, plain, &weights);
  const std::vector<int64_t> sums = Sums(s, num, x, weights);
  std::vector<float> scale = Floats(s.outputs, 1e-4f, &random);
  for (float& value : scale) value = std::abs(value);
  const std::vector<float> bias = Floats(s.outputs, 1, &random);
  const std::vector<R> residual = Residuals<R>(sums.size(), &random);
  PostOps post;
  const std::vector<R> blocked_residual =
      WithGaps(ToBlocks(residual, num, s.outputs, s.output_spatial(), block), num, 3 * gap, R(99));
  post.scale = scale.data();
  post.bias = bias.data();
  post.residual = with_residual ? blocked_residual.data() : nullptr;
  post.residual_scale = 0.03125f;
  post.activation = activation;
  post.factor = 16;

  std::vector<Y> expected(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t o = i / s.output_spatial() % s.outputs;
    expected[i] = Finished<Y, R>(post, sums[i], o, with_residual ? &residual[i] : nullptr);
  }

  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  const std::vector<X> input =
      WithGaps(plain ? x : ToBlocks(x, num, s.channels, s.input_spatial(), block), num, gap, X(99));
  const std::vector<Y> blocked =
      WithGaps(ToBlocks(expected, num, s.outputs, s.output_spatial(), block), num, 2 * gap, Y(77));
  ImageStrides strides;
  if (gap > 0) {
    strides = {input.size() / num, blocked.size() / num, blocked_residual.size() / num};
  }
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(blocked.size(), Y(77));
    std::vector<double> scratch(convolution->scratch_bytes(num) / sizeof(double) + 1, NAN);
    convolution->Forward(num, input.data(), packed.data(), post, scratch.data(),
                         {y.data(), strides});
    EXPECT_EQ(y, blocked) << threads << " threads";
  }
}

template <typename X>
void ExpectExactForAllOutputs(const ConvolutionShape& s, int num, bool plain = false) {
  ExpectExact<X, float>(s, num, plain, kNothing, false);
  ExpectExact<X, int8_t>(s, num, plain, kLeaky, true);
  ExpectExact<X, uint8_t>(s, num, plain, kRelu, false);
}

void ExpectExactForAll(const ConvolutionShape& s, int num, bool plain = false) {
  ExpectExactForAllOutputs<int8_t>(s, num, plain);
  ExpectExactForAllOutputs<uint8_t>(s, num, plain);
}

TEST_P(Int8Convolutions, AreExactForKernelsOfAllKinds) {
  ExpectExactForAll(Shape(16, 16, 1, {{9, 3, 1, 1}, {9, 3, 1, 1}}), 2);
  ExpectExactForAll(Shape(19, 37, 1, {{7, 1}, {8, 1}}), 3);
  ExpectExactForAll(Shape(24, 8, 1, {{9, 1, 2}, {10, 1, 2}}), 1);
  ExpectExactForAll(Shape(8, 40, 1, {{11, 5, 2, 2}, {6, 3, 1, 0}}), 1);
  ExpectExactForAll(Shape(10, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1);
  ExpectExactForAll(Shape(16, 16, 1, {{30, 7, 3, 3}}), 2);
}

TEST_P(Int8Convolutions, AreExactInGroups) {
  ExpectExactForAll(Shape(32, 64, 2, {{5, 3, 1, 1}, {5, 3, 1, 1}}), 2);
  ExpectExactForAll(Shape(35, 35, 35, {{9, 3, 1, 1}, {9, 3, 1, 1}}), 2);
  ExpectExactForAll(Shape(16, 16, 16, {{13, 5, 2, 2}, {12, 5, 2, 2}}), 1);
}

TEST_P(Int8Convolutions, AreExactForDepthwiseKernelsOfThreeAndFive) {
  for (const int kernel : {3, 5}) {
    for (const int stride : {1, 2}) {
      for (const int extent : {5, 7, 14, 23}) {
        for (const int pad : {0, 1, 2}) {
          const ConvolutionShape s =
              Shape(19, 19, 19, {{9, kernel, stride, pad}, {extent, kernel, stride, pad}});
          ExpectExact<int8_t, int8_t, uint8_t>(s, 2, false, kLeaky, true, 8);
          ExpectExact<uint8_t, uint8_t>(s, 1, false, kRelu, false);
        }
      }
    }
  }
}

// Pairs are neighbouring positions here: of an odd and an even kernel, with gaps, of one position.
TEST_P(Int8Convolutions, AreExactForImagesInCaffesOrder) {
  ExpectExactForAll(Shape(3, 32, 1, {{23, 7, 2, 3}, {23, 7, 2, 3}}), 2, /*plain=*/true);
  ExpectExactForAll(Shape(1, 20, 1, {{12, 4, 1, 1}, {13, 4, 3, 2}}), 1, true);
  ExpectExactForAll(Shape(3, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1, true);
  ExpectExactForAll(Shape(4, 17, 1, {{6, 1}, {6, 1}}), 2, true);
}

// Channels are summed in parts, and one image's outputs in slices.
TEST_P(Int8Convolutions, AreExactWhereSumsAreTakenInParts) {
  ExpectExactForAll(Shape(512, 64, 1, {{7, 3, 1, 1}, {7, 3, 1, 1}}), 1);
  ExpectExactForAll(Shape(1024, 136, 1, {{7, 1}, {7, 1}}), 1);
  ExpectExactForAll(Shape(64, 16, 1, {{28, 3, 1, 1}, {28, 3, 1, 1}}), 2);
}

// One block more than goes into pairs of them, strides, gaps and groups.
TEST_P(Int8Convolutions, AreExactForSeveralBlocksOfOutputs) {
  ExpectExactForAll(Shape(64, 24, 1, {{5, 1}, {7, 1}}), 2);
  ExpectExactForAll(Shape(72, 40, 1, {{9, 1, 2}, {9, 1, 2}}), 1);
  ExpectExactForAll(Shape(12, 33, 1, {{8, 3, 2, 1}, {11, 3, 1, 2, 2}}), 2);
  ExpectExactForAll(Shape(64, 96, 2, {{6, 3, 1, 1}, {5, 3, 2, 1}}), 1);
}

TEST_P(Int8Convolutions, AreExactForShapesOfAllKinds) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 40; ++i) {
    const bool plain = i % 4 == 0, pointwise = i % 4 == 1;
    std::vector<Extents> axes;
    for (int axis = 0; axis < 2; ++axis) {
      const int kernel = pointwise ? 1 : 1 + below(7), dilation = pointwise ? 1 : 1 + below(2);
      axes.push_back({dilation * (kernel - 1) + 1 + below(20), kernel, pointwise ? 1 : 1 + below(3),
                      pointwise ? 0 : below(kernel), dilation});
    }
    const int group = plain || below(3) > 0 ? 1 : 2;
    const int channels = plain ? 1 + below(4) : group > 1 ? 32 * (1 + below(3)) : 1 + below(100);
    const int outputs = group > 1 ? 32 * (1 + below(3)) : 1 + below(100);
    const ConvolutionShape s = Shape(channels, outputs, group, axes);
    SCOPED_TRACE(::testing::Message() << "shape " << i << ": " << s.input[0] << " x " << s.input[1]
                                      << ", kernel " << s.kernel[0] << " x " << s.kernel[1]);
    const int num = 1 + below(3);
    const size_t gap = below(2) * 16 * below(5);
    ExpectExact<int8_t, int8_t, float>(s, num, plain, kLeaky, true, gap);
    ExpectExact<uint8_t, uint8_t, int8_t>(s, num, plain, kRelu, i % 2 == 0, gap);
  }
}

TEST_P(Int8Convolutions, DoWhatTheEpilogueSays) {
  const ConvolutionShape s = Shape(16, 24, 1, {{6, 3, 1, 1}, {6, 3, 1, 1}});
  for (const Activation& activation : {kNothing, kRelu, kLeaky, kClip}) {
    for (const bool residual : {false, true}) {
      ExpectExact<uint8_t, float>(s, 1, false, activation, residual);
      ExpectExact<uint8_t, int8_t>(s, 1, false, activation, residual);
      ExpectExact<uint8_t, uint8_t>(s, 1, false, activation, residual);
    }
  }
}

TEST_P(Int8Convolutions, AddResidualsOfEveryKindToOutputsOfEveryKind) {
  for (const int group : {1, 24}) {
    const ConvolutionShape s = Shape(24, 24, group, {{6, 3, 1, 1}, {6, 3, 1, 1}});
    ExpectExact<int8_t, float, int8_t>(s, 2, false, kNothing, true);
    ExpectExact<int8_t, float, uint8_t>(s, 2, false, kNothing, true);
    ExpectExact<int8_t, int8_t, float>(s, 2, false, kNothing, true);
    ExpectExact<int8_t, int8_t, uint8_t>(s, 2, false, kNothing, true);
    ExpectExact<int8_t, uint8_t, float>(s, 2, false, kRelu, true);
    ExpectExact<int8_t, uint8_t, int8_t>(s, 2, false, kRelu, true);
  }
}

TEST_P(Int8Convolutions, ReadAndWritePartsOfLargerImages) {
  const Extents small = {5, 3, 1, 1};
  ExpectExact<int8_t, uint8_t, int8_t>(Square(16, 24, 1, small), 7, false, kRelu, true, 40);
  ExpectExact<uint8_t, float, float>(Square(21, 19, 1, small), 3, false, kNothing, true, 8);
  ExpectExact<uint8_t, int8_t, float>(Square(19, 19, 19, small), 3, false, kNothing, true, 16);
  ExpectExact<uint8_t, uint8_t, uint8_t>(Square(3, 16, 1, small), 2, true, kRelu, true, 25);
  ExpectExact<uint8_t, uint8_t, uint8_t>(Square(16, 20, 1, {6, 1}), 5, false, kRelu, false, 3);
  const auto convolution = Int8Convolution::Make(Square(16, 16, 1, small), false);
  const std::vector<float> ones(16, 1);
  const std::vector<int8_t> x(16 * 25), packed(convolution->packed_size());
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1);
  std::vector<int8_t> y(16 * 25);
  PostOps post;
  post.scale = ones.data();
  EXPECT_THROW(convolution->Forward(1, x.data(), packed.data(), post, scratch.data(),
                                    {y.data(), {16 * 25 - 1, 0, 0}}),
               Error)
      << "images that overlap";
}

// Rows of images that are 3 and 5 rows higher.
TEST_P(Int8Convolutions, ReadAndWriteRowsOfHigherImages) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto check = [&](const ConvolutionShape& s, int winograd = 0) {
    const auto kernel = MakeKernel(s, false, winograd);
    if (winograd < 0 && !kernel) return;  // the set has none
    ASSERT_TRUE(kernel);
    const size_t block = kernel->block();
    const auto higher = [block](const std::vector<uint8_t>& dense, size_t plane, size_t apart) {
      std::vector<uint8_t> planes;
      for (size_t at = 0; at < dense.size(); at += plane) {
        planes.insert(planes.end(), dense.begin() + at, dense.begin() + at + plane);
        planes.resize(planes.size() + apart * block, 88);
      }
      return planes;
    };
    const size_t x_plane = s.input_spatial() * block, y_plane = s.output_spatial() * block;
    const size_t x_more = 3 * s.input[1], y_more = 5 * s.output[1];
    const std::vector<uint8_t> x = ToBlocks(Integers<uint8_t>(2 * s.input_size(), &random), 2,
                                            s.channels, s.input_spatial(), block);
    const std::vector<uint8_t> residual = ToBlocks(Integers<uint8_t>(2 * s.output_size(), &random),
                                                   2, s.outputs, s.output_spatial(), block);
    std::vector<int8_t> weights = Integers<int8_t>(s.weight_count(), &random);
    if (winograd < 0) MakePairsFit(s, false, &weights);
    std::vector<int8_t> packed(kernel->packed_size());
    kernel->PackWeights(weights.data(), packed.data());
    const std::vector<float> scale(s.outputs, 1e-3f), bias = Floats(s.outputs, 1, &random);
    PostOps post(bias.data(), residual.data());
    post.scale = scale.data();
    post.activation = {Activation::CLIP, 0.1, 6};  // makes padding of zeros nonzero
    post.factor = 16;
    std::vector<double> scratch(kernel->scratch_bytes(2) / sizeof(double) + 1, NAN);
    std::vector<uint8_t> dense(residual.size());
    kernel->Forward(2, x.data(), packed.data(), post, scratch.data(), dense.data());
    const std::vector<uint8_t> expected = higher(dense, y_plane, y_more);
    const std::vector<uint8_t> from = higher(x, x_plane, x_more);
    const std::vector<uint8_t> added = higher(residual, y_plane, y_more);
    std::vector<uint8_t> y(expected.size(), 88);
    ImageStrides strides;
    strides.x_plane = x_plane + x_more * block;
    strides.y_plane = y_plane + y_more * block;
    post.residual = added.data();
    kernel->Forward(2, from.data(), packed.data(), post, scratch.data(), {y.data(), strides});
    EXPECT_EQ(y, expected);
    strides.y_plane = y_plane - 1;
    EXPECT_THROW(
        kernel->Forward(2, from.data(), packed.data(), post, scratch.data(), {y.data(), strides}),
        Error)
        << "planes that overlap";
  };
  for (const int winograd : {0, kSmallPairs}) {
    check(Square(19, 37, 1, {9, 1}), winograd);
    check(Square(35, 21, 1, {9, 3, 2, 1}), winograd);
    check(Square(64, 32, 2, {7, 3, 1, 1}), winograd);
  }
  check(Square(21, 21, 21, {9, 3, 1, 1}));
  check(Square(21, 21, 21, {9, 4, 2, 1}));
  check(Square(19, 21, 1, {9, 3, 1, 1}), 2);
  check(Square(19, 21, 1, {9, 3, 1, 1}), 4);
}

/// True on sets whose products of bytes saturate at 16 bits.
bool HasSmallPairs() {
  const std::string set = Name(VectorInstructionSet());
  return set == "avx2" || set == "avx512";
}

TEST_P(Int8Convolutions, AreExactByProductsOfBytesWherePairsOfWeightsFit) {
  const auto check = [](const ConvolutionShape& s, int num, bool plain = false, size_t gap = 0) {
    SCOPED_TRACE(::testing::Message() << s.kernel[0] << " rows of a kernel, plain: " << plain);
    ExpectExact<int8_t, float>(s, num, plain, kNothing, false, gap, kSmallPairs);
    ExpectExact<int8_t, int8_t, float>(s, num, plain, kLeaky, true, gap, kSmallPairs);
    ExpectExact<uint8_t, uint8_t>(s, num, plain, kRelu, true, gap, kSmallPairs);
    if (plain || !s.is_pointwise()) {
      EXPECT_FALSE(Int8Convolution::MakeForSmallPairs(s, plain, /*copies=*/true));
      return;
    }
    ExpectExact<uint8_t, uint8_t>(s, num, plain, kRelu, true, gap, kCopiedSmallPairs);
    ExpectExact<int8_t, float>(s, num, plain, kNothing, false, gap, kCopiedSmallPairs);
  };
  if (!HasSmallPairs()) {
    EXPECT_FALSE(Int8Convolution::MakeForSmallPairs(Square(16, 16, 1, {6, 1}), false));
    return;
  }
  check(Shape(16, 16, 1, {{9, 3, 1, 1}, {9, 3, 1, 1}}), 2);
  check(Shape(19, 37, 1, {{7, 1}, {8, 1}}), 3);
  check(Shape(64, 32, 2, {{7, 1}, {8, 1}}), 2, false, 16);
  check(Shape(1024, 136, 1, {{7, 1}, {7, 1}}), 1);
  check(Shape(10, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1);
  check(Shape(64, 96, 2, {{6, 3, 1, 1}, {5, 3, 2, 1}}), 2, false, 32);
  check(Shape(16, 16, 1, {{30, 7, 3, 3}}), 2);
  check(Shape(3, 32, 1, {{23, 7, 2, 3}, {23, 6, 2, 3}}), 2, /*plain=*/true);
  check(Shape(4, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1, true, 16);
  check(Shape(2, 9, 1, {{17, 5, 1, 2}}), 1, true);
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 20; ++i) {
    const int kernel = i % 2 ? 1 : 1 + below(5);
    const Extents axis = {kernel + below(20), kernel, 1 + below(2), below(kernel)};
    const bool plain = i % 5 == 0;
    check(Square(plain ? 2 + below(3) : 1 + below(100), 1 + below(100), 1, axis), 1 + below(2),
          plain);
  }
}

TEST(WeightPairs, AreTwoChannelsOrTwoColumnsOfAKernel) {
  const auto pairs = [](int channels, const std::vector<int>& kernel, bool plain,
                        int dilation = 1) {
    std::vector<std::pair<size_t, size_t>> found;
    WeightPairs(channels, kernel, dilation, plain).ForEach([&](size_t i, size_t j) {
      found.emplace_back(i, j);
    });
    return found;
  };
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(pairs(5, {1, 1}, false), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pairs(2, {1, 3}, false), (Pairs{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(pairs(2, {2, 3}, true), (Pairs{{0, 1}, {3, 4}, {6, 7}, {9, 10}}));
  EXPECT_EQ(pairs(1, {4}, true), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pairs(4, {1, 3}, true, /*dilation=*/2), Pairs()) << "columns are apart";
  EXPECT_EQ(pairs(2, {1, 3}, false, /*dilation=*/2), (Pairs{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(WeightPairs, FitUpToASumOf128) {
  EXPECT_TRUE(WeightPairs::Fits(127, 1));
  EXPECT_TRUE(WeightPairs::Fits(-64, -64));
  EXPECT_TRUE(WeightPairs::Fits(127, -127)) << "their products have different signs";
  EXPECT_FALSE(WeightPairs::Fits(65, 64));
  EXPECT_FALSE(WeightPairs::Fits(-2, -127));
  const ConvolutionShape s = Square(4, 2, 1, {3, 1});
  EXPECT_TRUE(Int8Convolution::PairsFit(
      s, false, std::vector<int8_t>{100, 28, 1, 127, 0, 127, 100, -100}.data()));
  EXPECT_FALSE(Int8Convolution::PairsFit(
      s, false, std::vector<int8_t>{100, 28, 1, 127, 0, 127, 100, 29}.data()));
}

TEST_P(Int8Convolutions, AreNotMadeForWindowsOfBillionsOfPositions) {
  for (const int group : {1, 32}) {  // of one channel each: depthwise
    const Extents column = {1, 3, 1, 1 << 20, 1 << 20};
    EXPECT_NE(Int8Convolution::Make(Shape(32, 32, group, {column}), false), nullptr);
    EXPECT_EQ(Int8Convolution::Make(Square(32, 32, group, column), false), nullptr);
    EXPECT_EQ(Int8Convolution::MakeForSmallPairs(Square(32, 32, group, column), false), nullptr);
    EXPECT_EQ(Int8Convolution::MakeChannelsLast(Square(32, 32, group, column), false, {}), nullptr);
  }
}

// Sums of 16 bits, as products of bytes have them on processors without a better instruction,
// saturate here.
TEST_P(Int8Convolutions, AreExactByWinogradsAlgorithm) {
  std::mt19937 random(TestSeed());
  const auto shape = [&](int channels, int outputs, int height, int width, int pad,
                         int kernel = 3) {
    ConvolutionShape s = Square(channels, outputs, 1, {kernel, kernel, 1, 1});
    s.input = {height, width};
    s.pad = {pad, pad};
    s.output = {height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1};
    return s;
  };
  const auto check = [&](const ConvolutionShape& s, int num) {
    SCOPED_TRACE(::testing::Message() << s.input[0] << " x " << s.input[1] << ", pad " << s.pad[0]);
    for (const int side : {2, 4}) {
      SCOPED_TRACE(::testing::Message() << "tiles of " << side << " x " << side);
      ExpectExact<int8_t, float>(s, num, false, kNothing, false, 0, side);
      ExpectExact<uint8_t, float, int8_t>(s, num, false, kClip, true, 0, side);
      ExpectExact<int8_t, int8_t>(s, num, false, kLeaky, true, 0, side);
      ExpectExact<uint8_t, uint8_t>(s, num, false, kRelu, false, 32, side);
    }
  };
  check(shape(8, 8, 4, 4, 0), 1);
  check(shape(3, 5, 1, 1, 1), 1);
  check(shape(1, 17, 2, 3, 2), 2);
  check(shape(40, 24, 7, 7, 1), 3);
  check(shape(300, 33, 6, 9, 1), 2);  // channels in slices
  check(shape(16, 8, 31, 26, 1), 1);  // tiles in strips
  ConvolutionShape groups = shape(96, 64, 7, 9, 1);
  groups.group = 2;
  check(groups, 2);
  groups = shape(320, 64, 6, 5, 0);  // and channels in slices
  groups.group = 2;
  check(groups, 1);
  check(shape(3, 5, 1, 1, 2, 5), 1);
  check(shape(40, 24, 7, 6, 0, 5), 2);
  check(shape(19, 17, 8, 8, 1, 5), 1);
  groups = shape(96, 64, 13, 14, 2, 5);
  groups.group = 2;
  check(groups, 2);
  for (int i = 0; i < 8; ++i) {
    const int kernel = i % 2 == 0 ? 3 : 5;
    check(shape(1 + random() % 40, 1 + random() % 40, kernel + random() % 12,
                kernel + random() % 12, random() % kernel, kernel),
          1 + random() % 2);
  }
}

/// Outputs without scale and bias, by tiles of this side.
template <typename X>
std::vector<float> WinogradSums(const ConvolutionShape& s, int side, const std::vector<X>& x,
                                const std::vector<int8_t>& weights) {
  const auto convolution = Int8Convolution::MakeWinograd(s, side);
  const size_t block = convolution->block();
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  const std::vector<float> scale(s.outputs, 1.f);
  PostOps post;
  post.scale = scale.data();
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1);
  const std::vector<X> blocked = ToBlocks(x, 1, s.channels, s.input_spatial(), block);
  std::vector<float> y(RoundUp(s.outputs, block) * s.output_spatial());
  convolution->Forward(1, blocked.data(), packed.data(), post, scratch.data(), y.data());
  return y;
}

/// The first output where all inputs and all weights are the same.
template <typename X>
float SumOfEqual(const ConvolutionShape& s, int side, X input, int8_t weight) {
  return WinogradSums(s, side, std::vector<X>(s.input_size(), input),
                      std::vector<int8_t>(s.weight_count(), weight))[0];
}

TEST_P(Int8Convolutions, TheLargestNumbersKeepToTheBitByWinogradsAlgorithm) {
  ConvolutionShape s = Square(1840, 24, 1, {6, 3, 1, 0});
  for (const int sign : {1, -1}) {
    EXPECT_EQ(SumOfEqual<uint8_t>(s, 2, 255, 127 * sign), sign * 1840 * 9 * 255.f * 127.f);
  }
  s.channels = 1841;
  EXPECT_FALSE(Int8Convolution::MakeWinograd(s, 2)) << "too long a sum";
  EXPECT_FALSE(Int8Convolution::MakeWinograd(Square(663, 8, 1, {5, 5, 1, 1}), 2)) << "likewise";
  EXPECT_FALSE(Int8Convolution::MakeWinograd(Square(8, 8, 1, {5, 3, 2, 1}), 2)) << "a stride";
  EXPECT_FALSE(Int8Convolution::MakeWinograd(Square(8, 8, 1, {5, 3, 1, 1}), 3)) << "no such tile";
}

/// Inputs and weights that make one point of the transformed tile as large as it can be, and as
/// small, and all others large, too.
template <typename X>
void ExpectExactAtExtremes(int kernel, int least, int most) {
  // Lavin and Gray's B^T and, without denominators, G.
  const int b[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                       {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  const int g[6][3] = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}};
  const ConvolutionShape s = Square(19, 8, 1, {kernel + 3, kernel, 1, 0});
  const int extent = kernel + 3;
  for (int point = 0; point < 72; ++point) {
    const int i = point / 6 % 6, j = point % 6, sign = point < 36 ? 1 : -1;
    std::vector<X> x;
    for (int k = 0; k < s.channels * extent * extent; ++k) {
      const int row = k / extent % extent % 6, column = k % extent % 6;
      x.push_back(static_cast<X>(sign * b[i][row] * b[j][column] > 0 ? most : least));
    }
    std::vector<int8_t> weights;
    for (size_t k = 0; k < s.weight_count(); ++k) {
      const int row = k / kernel % kernel % 3, column = k % kernel % 3;
      weights.push_back(g[i][row] * g[j][column] < 0 ? -127 : 127);
    }
    const std::vector<int64_t> sums = Sums(s, 1, x, weights);
    const std::vector<float> y = WinogradSums(s, 4, x, weights);
    const size_t block = Int8Convolution::MakeWinograd(s, 4)->block();
    for (size_t p = 0; p < s.output_spatial(); ++p) {
      EXPECT_EQ(y[p * block], static_cast<float>(sums[p])) << "point " << i << ", " << j;
    }
  }
}

TEST_P(Int8Convolutions, TilesOfFourHoldTheirLargestPoints) {
  for (const int kernel : {3, 5}) {
    SCOPED_TRACE(kernel);
    ExpectExactAtExtremes<uint8_t>(kernel, 0, 255);
    ExpectExactAtExtremes<int8_t>(kernel, -128, 127);
  }
}

// 115 channels of the largest numbers are the most that 32 bits hold 64 times.
TEST_P(Int8Convolutions, TilesOfFourAreForWeightsWhoseSumsFit) {
  ConvolutionShape s = Square(115, 24, 1, {6, 3, 1, 0});
  std::vector<int8_t> weights(s.weight_count(), 127);
  EXPECT_TRUE(Int8Convolution::SumsFitWinograd(s, 4, weights.data()));
  for (const int sign : {1, -1}) {
    const int8_t weight = static_cast<int8_t>(127 * sign);
    EXPECT_EQ(SumOfEqual<uint8_t>(s, 4, 255, weight), sign * 115 * 9 * 255.f * 127.f);
    EXPECT_EQ(SumOfEqual<int8_t>(s, 4, -128, weight), sign * 115 * 9 * -128.f * 127.f);
  }
  // The last output has so many weights of the first number, then of the second.
  const auto fits = [&](int channels, size_t count, int8_t first, int8_t second) {
    s.channels = channels;
    weights.assign(s.weight_count(), 0);
    const auto begin = weights.end() - s.column_rows();
    std::fill_n(begin, count, first);
    std::fill_n(begin + count, count, second);
    return Int8Convolution::SumsFitWinograd(s, 4, weights.data());
  };
  EXPECT_FALSE(fits(115, 517, -128, -128)) << "a larger number";
  EXPECT_TRUE(fits(116, 522, 127, 0));
  EXPECT_FALSE(fits(116, 522, 127, 127)) << "of unsigned bytes";
  EXPECT_FALSE(fits(116, 522, -127, -127)) << "of unsigned bytes";
  EXPECT_TRUE(fits(116, 522, -127, 127)) << "whose sums have two signs";
  EXPECT_FALSE(fits(230, 1034, -127, 127)) << "of signed bytes";
  EXPECT_TRUE(Int8Convolution::SumsFitWinograd(s, 2, weights.data()));
}

/// Outputs without scale and bias of 24 outputs each of whose weights is the same, and each input.
template <typename X>
std::vector<float> SumsOfEqual(const ConvolutionShape& s, bool plain, X input, int8_t weight) {
  const auto convolution = Int8Convolution::Make(s, plain);
  const size_t block = convolution->block();
  const std::vector<X> x(s.input_size(), input);
  const std::vector<X> given = plain ? x : ToBlocks(x, 1, s.channels, s.input_spatial(), block);
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(std::vector<int8_t>(s.weight_count(), weight).data(), packed.data());
  const std::vector<float> ones(s.outputs, 1);
  PostOps post;
  post.scale = ones.data();
  std::vector<float> y(RoundUp(s.outputs, block) * s.output_spatial());
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1, NAN);
  convolution->Forward(1, given.data(), packed.data(), post, scratch.data(), y.data());
  y.resize(s.outputs / block * block * s.output_spatial());  // whole blocks
  return y;
}

TEST_P(Int8Convolutions, TheLargestNumbersDoNotSaturate) {
  const ConvolutionShape long_sum = Shape(66000, 24, 1, {{1, 1}});
  const ConvolutionShape padded = Square(40, 24, 1, {3, 3, 1, 1});
  const ConvolutionShape plain = Square(3, 24, 1, {3, 3, 1, 1});
  // The window over a corner has 4 positions in the image, one over an edge 6.
  const std::vector<int> inside = {4, 6, 4, 6, 9, 6, 4, 6, 4};
  const auto check = [&](auto x, int weight) {
    const int8_t w = static_cast<int8_t>(weight);
    const int64_t product = int64_t(x) * weight;
    SCOPED_TRACE(::testing::Message() << int(x) << " times " << weight);
    for (const float sum : SumsOfEqual(long_sum, false, x, w)) {
      EXPECT_EQ(sum, static_cast<float>(66000 * product));
    }
    const std::vector<float> sums = SumsOfEqual(padded, false, x, w);
    const std::vector<float> plain_sums = SumsOfEqual(plain, true, x, w);
    const size_t block = Int8Convolution::Make(padded, false)->block();
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(sums[i], 40.f * inside[i / block % 9] * product) << i;
      EXPECT_EQ(plain_sums[i], 3.f * inside[i / block % 9] * product) << i;
    }
  };
  for (const int weight : {127, -127}) {
    check(uint8_t(255), weight);
    check(int8_t(-128), weight);
    check(int8_t(127), weight);
    check(int8_t(0), weight);
  }
}

// Halves go to the even neighbour, what is too large to the end of the range.
TEST_P(Int8Convolutions, RoundHalvesToEvenAndSaturate) {
  const ConvolutionShape s = Shape(8, 8, 1, {{8, 1}});
  const auto convolution = Int8Convolution::Make(s, false);
  std::vector<int8_t> weights(64, 0), packed(convolution->packed_size());
  for (int i = 0; i < 8; ++i) weights[i * 8 + i] = 1;
  convolution->PackWeights(weights.data(), packed.data());
  const size_t block = convolution->block();
  std::vector<int8_t> x(8 * block, 0), y(8 * block);
  const std::vector<int8_t> values = {1, 3, 5, -1, -3, 127, -127, 0};
  for (int i = 0; i < 8; ++i) x[i * block] = values[i];
  std::vector<float> scale(8, 0.5f);
  PostOps post;
  post.scale = scale.data();
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1);
  const auto run = [&](float factor) {
    post.factor = factor;
    convolution->Forward(1, x.data(), packed.data(), post, scratch.data(), y.data());
    std::vector<int> result;
    for (int i = 0; i < 8; ++i) result.push_back(y[i * block]);
    return result;
  };
  EXPECT_EQ(run(1), (std::vector<int>{0, 2, 2, 0, -2, 64, -64, 0}));
  EXPECT_EQ(run(100), (std::vector<int>{50, 127, 127, -50, -127, 127, -127, 0}));
}

TEST_P(Int8Convolutions, WriteZeroForANan) {
  const ConvolutionShape s = Shape(8, 8, 1, {{9, 1}});
  const auto convolution = Int8Convolution::Make(s, false);
  const std::vector<int8_t> weights(64, 1);
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  const size_t block = convolution->block();
  const std::vector<int8_t> x(9 * block, 0);
  std::vector<float> residual(9 * block, 100.f);
  residual[3 * block + 1] = std::nanf("");
  const std::vector<float> scale(8, 1.f);
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1);
  const auto check = [&](auto tag) {
    using Y = decltype(tag);
    std::vector<Y> y(9 * block);
    PostOps post;
    post.scale = scale.data();
    post.residual = residual.data();
    convolution->Forward(1, x.data(), packed.data(), post, scratch.data(), y.data());
    for (size_t i = 0; i < 9; ++i) {
      for (size_t o = 0; o < 8; ++o) {
        EXPECT_EQ(i == 3 && o == 1 ? 0 : 100, static_cast<int>(y[i * block + o])) << i << ", " << o;
      }
    }
  };
  check(int8_t());
  check(uint8_t());
}

TEST_P(Int8Convolutions, RefuseWhatTheyDoNotCompute) {
  const Extents one = {4, 1};
  EXPECT_FALSE(Int8Convolution::Make(Shape(8, 8, 1, {one, one, one}), false));
  EXPECT_FALSE(Int8Convolution::Make(Shape(12, 12, 3, {one, one}), false));
  EXPECT_FALSE(Int8Convolution::Make(Shape(32, 32, 2, {one, one}), /*plain_input=*/true));
  EXPECT_FALSE(Int8Convolution::Make(Shape(66001, 8, 1, {one}), false)) << "too long a sum";
  EXPECT_FALSE(Int8Convolution::Make(Shape(8, 8, 8, {{600, 600}}), false)) << "for floats";
  EXPECT_TRUE(Int8Convolution::Make(Shape(66000, 8, 1, {one}), false));
}

INSTANTIATE_ON_EVERY_SET(Int8Convolutions);

}  // namespace
}  // namespace caffe::kernels
