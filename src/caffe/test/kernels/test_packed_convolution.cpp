// Convolution of channels in blocks against the definition, on every instruction set that this
// machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

class PackedConvolutions : public OnInstructionSet {};
class PairConvolutions : public OnInstructionSet {};

/// Which kernels multiply: PackedConvolution::Make's or MakeInPairs'.
enum class Products { SINGLE, PAIRS };

std::shared_ptr<const PackedConvolution> KernelFor(const ConvolutionShape& s, bool plain_input,
                                                   Products products) {
  return products == Products::SINGLE ? PackedConvolution::Make(s, plain_input)
                                      : PackedConvolution::MakeInPairs(s, plain_input);
}

template <typename T>
std::vector<T> RandomOperand(size_t n, std::mt19937* random) {
  std::normal_distribution<float> value;
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(value(*random));
  return values;
}

template <typename To, typename From>
std::vector<To> As(const std::vector<From>& values) {
  std::vector<To> result;
  for (const From& value : values) result.push_back(static_cast<To>(static_cast<float>(value)));
  return result;
}

/// A test's operands in addition to images and weights.
template <typename Y>
struct Extras {
  const std::vector<float>* bias = nullptr;
  const std::vector<Y>* residual = nullptr;  // (num, outputs, spatial)
  Activation activation;
  size_t gap = 0;  // behind each image of x, twice that in y, three times in the residual
};

/// What the kernel gives, blocks and all; y is NaN before, and must be so where no image is.
template <typename X, typename W, typename Y>
std::vector<Y> Convolve(const PackedConvolution& convolution, const ConvolutionShape& s, int num,
                        const std::vector<X>& x, const std::vector<W>& weights,
                        const Extras<Y>& extras) {
  std::vector<W> packed(convolution.packed_size());
  convolution.PackWeights(weights.data(), nullptr, packed.data());
  const size_t block = convolution.block();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<X> blocked = WithGaps(
      convolution.plain_input() ? x : ToBlocks(x, num, s.channels, s.input_spatial(), block), num,
      extras.gap, X(nan));
  const size_t blocks = CeilDiv(s.outputs, block);
  const size_t image = blocks * block * s.output_spatial();
  std::vector<Y> y(num * (image + 2 * extras.gap), Y(nan)), residual;
  std::vector<float> scratch(convolution.scratch_size(num), nan);
  PostOps post;
  post.bias = extras.bias ? extras.bias->data() : nullptr;
  post.activation = extras.activation;
  if (extras.residual) {
    residual = WithGaps(ToBlocks(*extras.residual, num, s.outputs, s.output_spatial(), block), num,
                        3 * extras.gap, Y(nan));
    post.residual = residual.data();
  }
  ImageStrides strides;
  if (extras.gap > 0) strides = {blocked.size() / num, y.size() / num, image + 3 * extras.gap};
  convolution.Forward(num, blocked.data(), packed.data(), post, scratch.data(),
                      {y.data(), strides});
  std::vector<Y> images;
  for (size_t i = 0; i < y.size(); ++i) {
    if (i % (image + 2 * extras.gap) < image) {
      images.push_back(y[i]);
    } else {
      EXPECT_TRUE(std::isnan(static_cast<float>(y[i]))) << "between images at " << i;
    }
  }
  return images;
}

/// What the header allows of the sum of magnitudes, with FLOAT math.
template <typename X, typename W>
double RelativeBoundOf(const ConvolutionShape& s) {
  const bool in_tiles = CpuInstructionSet().has_tiles() && s.group != s.channels;
  const bool splits_floats = std::is_same<X, float>::value || std::is_same<W, float>::value;
  return (s.column_rows() + (in_tiles ? 6 : 2)) * std::ldexp(1, -23) +
         (in_tiles && splits_floats ? std::ldexp(1, -22) : 0);
}

/// The order of the input: blocks of channels, or Caffe's.
constexpr bool kBlocks = false, kPlain = true;
constexpr bool kAddsNothing = false, kAddsResidual = true;

/// Compares with the definition in double: an error of k roundings of float in a sum of magnitudes,
/// and one rounding of the result.
template <typename X, typename W, typename Y>
void CheckConvolution(const ConvolutionShape& s, int num, bool plain_input,
                      const Activation& activation = {}, bool with_residual = kAddsNothing,
                      size_t gap = 0, Products products = Products::SINGLE) {
  SCOPED_TRACE(::testing::Message() << s.channels << " to " << s.outputs << " in " << s.group
                                    << ", images " << num << ", plain " << plain_input);
  const auto convolution = KernelFor(s, plain_input, products);
  ASSERT_NE(convolution, nullptr);
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto x = RandomOperand<X>(num * s.input_size(), &random);
  const auto w = RandomOperand<W>(s.weight_count(), &random);
  const auto bias = RandomOperand<float>(s.outputs, &random);
  const auto residual = RandomOperand<Y>(num * s.output_size(), &random);
  Extras<Y> extras{&bias, with_residual ? &residual : nullptr, activation, gap};
  const std::vector<Y> y = Convolve<X, W, Y>(*convolution, s, num, x, w, extras);

  std::vector<double> exact(num * s.output_size()), magnitude(exact.size());
  const auto wide_x = products == Products::SINGLE ? As<double>(x) : As<double>(As<bfloat16>(x));
  const auto wide_w = As<double>(w), wide_bias = As<double>(bias);
  ReferenceConvolutionForward(s, num, wide_x.data(), wide_w.data(), wide_bias.data(), exact.data());
  const auto absolute = [](std::vector<double> values) {
    for (double& value : values) value = std::fabs(value);
    return values;
  };
  ReferenceConvolutionForward(s, num, absolute(wide_x).data(), absolute(wide_w).data(),
                              absolute(wide_bias).data(), magnitude.data());
  for (size_t i = 0; with_residual && i < exact.size(); ++i) {
    const double value = static_cast<float>(residual[i]);
    exact[i] += value;
    magnitude[i] += std::fabs(value);
  }
  const size_t block = convolution->block();
  const auto expected = ToBlocks(exact, num, s.outputs, s.output_spatial(), block);
  const auto magnitudes = ToBlocks(magnitude, num, s.outputs, s.output_spatial(), block);
  const auto real =
      ToBlocks(std::vector<float>(exact.size(), 1.f), num, s.outputs, s.output_spatial(), block);
  ASSERT_EQ(expected.size(), y.size());
  const double rounding = RoundingOf<Y>();
  for (size_t i = 0; i < y.size(); ++i) {
    const double value = static_cast<float>(y[i]);
    if (real[i] == 0) {
      ASSERT_EQ(value, 0) << "fills up a block at " << i;
      continue;
    }
    const double goal = ActivatedValue(activation, expected[i]);
    const double bound =
        RelativeBoundOf<X, W>(s) * magnitudes[i] + rounding * std::fabs(goal) + std::ldexp(1, -24);
    ASSERT_NEAR(value, goal, bound) << i;
  }
}

struct NamedShape {
  const char* name;
  ConvolutionShape shape;
  int num;
};
std::vector<NamedShape> ShapesInBlocks() {
  return {
      {"one pixel", Square(8, 8, 1, {1, 1}), 1},
      {"padding only around one pixel", Square(16, 16, 1, {1, 3, 1, 1}), 2},
      {"all pixels of a small image", Square(48, 40, 1, {7, 3, 1, 1}), 3},
      {"several images in a band", Square(32, 24, 1, {5, 3, 1, 1}), 9},
      {"several bands of rows", Square(16, 56, 1, {37, 3, 1, 1}), 2},
      {"rows longer than a band", Shape(16, 32, 1, {{5, 3, 1, 1}, {300, 3, 1, 1}}), 1},
      {"parts of the channels", Square(160, 48, 1, {14, 3, 1, 1}), 1},
      {"many parts and slices", Square(80, 304, 1, {9, 3, 1, 1}), 1},
      {"1x1", Square(40, 24, 1, {31, 1}), 2},
      {"1x1 with parts", Square(640, 48, 1, {9, 1}), 1},
      {"1x1 on one pixel", Square(72, 120, 1, {1, 1}), 1},
      {"1x1 on few pixels", Square(136, 13, 1, {1, 1}), 3},
      {"1x1 on few pixels of an image", Shape(21, 40, 1, {{1, 1}, {2, 1}}), 1},
      {"1x1 with many parts", Square(2400, 40, 1, {5, 1}), 5},
      {"5x5 on a small image", Square(32, 48, 1, {8, 5, 1, 2}), 2},
      {"5x5 mostly in the padding", Square(32, 48, 1, {2, 5, 1, 4}), 1},
      {"1x1 with a stride", Square(40, 24, 1, {31, 1, 2}), 1},
      {"1x1 with padding", Square(24, 16, 1, {6, 1, 1, 2}), 1},
      {"1x1 with both", Square(24, 16, 1, {7, 1, 3, 1}), 2},
      {"a stride", Square(24, 40, 1, {23, 3, 2, 1}), 2},
      {"a stride beyond the kernel", Square(16, 16, 1, {23, 2, 3, 0}), 1},
      {"dilation", Square(16, 24, 1, {19, 3, 1, 6, 6}), 1},
      {"different axes", Shape(16, 16, 1, {{12, 1, 2, 1, 1}, {17, 5, 1, 3, 2}}), 2},
      {"one axis", Shape(24, 16, 1, {{60, 5, 2, 2}}), 3},
      {"channels that fill no block", Square(21, 13, 1, {11, 3, 1, 1}), 2},
      {"fewer channels than a block", Square(3, 5, 1, {9, 3, 1, 1}), 2},
      {"groups", Square(64, 96, 2, {13, 3, 1, 1}), 2},
      {"groups with parts", Square(320, 64, 2, {7, 5, 1, 2}), 1},
      {"many groups", Square(256, 256, 16, {6, 3, 1, 1}), 1},
      {"depthwise", Square(48, 48, 48, {21, 3, 1, 1}), 2},
      {"depthwise with a stride", Square(32, 32, 32, {40, 3, 2, 1}), 1},
      {"depthwise in bands", Square(16, 16, 16, {90, 5, 1, 2}), 1},
      {"depthwise that fills no block", Square(13, 13, 13, {9, 3, 1, 1}), 2},
      {"no image", Square(16, 16, 1, {5, 3}), 0},
  };
}
std::vector<NamedShape> ShapesInCaffesOrder() {
  return {
      {"an image", Square(3, 64, 1, {35, 7, 2, 3}), 2},
      {"an image, large kernel", Square(3, 24, 1, {67, 11, 4, 0}), 1},
      {"a grey image", Square(1, 20, 1, {28, 5}), 3},
      {"an image, 1x1", Square(3, 8, 1, {13, 1}), 2},
      {"an image, 1x1 with a stride", Square(3, 8, 1, {13, 1, 2}), 2},
  };
}

TEST_P(PackedConvolutions, AgreeWithTheDefinition) {
  const auto check = [](const std::vector<NamedShape>& cases, bool plain_input) {
    for (const NamedShape& c : cases) {
      SCOPED_TRACE(c.name);
      CheckConvolution<float16, float16, float16>(c.shape, c.num, plain_input);
    }
  };
  check(ShapesInBlocks(), kBlocks);
  check(ShapesInCaffesOrder(), kPlain);
}

template <typename X, typename Y>
void CheckPairs(const ConvolutionShape& s, int num, bool plain_input,
                const Activation& activation = {}, bool with_residual = kAddsNothing,
                size_t gap = 0) {
  CheckConvolution<X, bfloat16, Y>(s, num, plain_input, activation, with_residual, gap,
                                   Products::PAIRS);
}

TEST_P(PairConvolutions, AgreeWithTheDefinition) {
  for (const NamedShape& c : ShapesInBlocks()) {
    SCOPED_TRACE(c.name);
    if (c.shape.is_depthwise()) {
      EXPECT_EQ(PackedConvolution::MakeInPairs(c.shape, kBlocks), nullptr);
    } else {
      CheckPairs<bfloat16, bfloat16>(c.shape, c.num, kBlocks);
    }
  }
  for (const NamedShape& c : ShapesInCaffesOrder()) {
    SCOPED_TRACE(c.name);
    CheckPairs<float, bfloat16>(c.shape, c.num, kPlain);
    CheckPairs<bfloat16, float>(c.shape, c.num, kPlain);
  }
  EXPECT_EQ(PackedConvolution::MakeInPairs(Square(5, 8, 1, {9, 3}), kPlain), nullptr)
      << "an image of many channels";
}

TEST_P(PairConvolutions, RoundFloatsAndAddResiduals) {
  const Activation relu{Activation::RELU, 0., 0.}, leaky{Activation::RELU, 0.1, 0.};
  for (const ConvolutionShape& s : {Square(40, 28, 1, {17, 3, 1, 1}), Square(24, 80, 1, {9, 1}),
                                    Square(24, 16, 1, {17, 1, 2})}) {
    CheckPairs<float, float>(s, 2, kBlocks, relu, kAddsResidual);
    CheckPairs<float16, bfloat16>(s, 1, kBlocks, leaky);
    CheckPairs<bfloat16, float16>(s, 2, kBlocks, relu);
    CheckPairs<bfloat16, bfloat16>(s, 3, kBlocks, {Activation::CLIP, 0., 6.}, kAddsResidual, 48);
  }
}

TEST_P(PairConvolutions, AgreeOnRandomShapes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto upto = [&](int most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) {
    std::vector<Extents> axes;
    for (int axis = 0; axis < 2; ++axis) {
      Extents e{upto(30), upto(5), upto(3), upto(3) - 1, upto(2)};
      e.input = std::max(e.input, e.dilation * (e.kernel - 1) + 1);
      axes.push_back(e);
    }
    const bool plain = i % 3 == 0;
    const ConvolutionShape s = Shape(plain ? upto(4) : upto(90), upto(90), 1, axes);
    plain ? CheckPairs<float, bfloat16>(s, upto(3), kPlain)
          : CheckPairs<bfloat16, bfloat16>(s, upto(3), kBlocks);
  }
}

TEST_P(PairConvolutions, GiveTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  for (const ConvolutionShape& s : {Square(192, 64, 1, {14, 1}), Square(48, 20, 1, {11, 3, 1, 1}),
                                    Square(24, 160, 1, {7, 1})}) {
    const auto convolution = PackedConvolution::MakeInPairs(s, kBlocks);
    const auto x = RandomOperand<bfloat16>(3 * s.input_size(), &random);
    const auto w = RandomOperand<bfloat16>(s.weight_count(), &random);
    std::vector<float> alone;
    for (const int threads : {1, 2, 7, 24}) {
      const TeamSize team(threads);
      const auto y = Convolve<bfloat16, bfloat16, float>(*convolution, s, 3, x, w, {});
      if (threads == 1) alone = y;
      EXPECT_EQ(y, alone) << threads << " threads, " << s.channels << " to " << s.outputs;
    }
  }
}

// A number that is not finite reaches the outputs whose windows have it, and no others.
TEST_P(PairConvolutions, KeepOutputsApart) {
  for (const bool plain : {kPlain, kBlocks}) {
    const ConvolutionShape s = Square(3, 4, 1, {9, 3, 2, 1});
    const auto convolution = PackedConvolution::MakeInPairs(s, plain);
    std::vector<float> x(s.input_size(), 1.f);
    x[4 * 9 + 4] = std::numeric_limits<float>::infinity();  // of channel 0, in the middle
    const std::vector<bfloat16> w(s.weight_count(), bfloat16(1.f));
    const auto y = Convolve<float, bfloat16, float>(*convolution, s, 1, x, w, {});
    int infinite = 0;
    for (const float value : y) {
      EXPECT_FALSE(std::isnan(value));
      infinite += std::isinf(value);
    }
    EXPECT_EQ(infinite, 4) << "one position of each output";
  }
}

TEST_P(PairConvolutions, GiveTheWeightsBack) {
  for (const ConvolutionShape& s : {Square(21, 77, 1, {5, 3}), Square(64, 96, 2, {5, 2})}) {
    std::mt19937 random(TestSeed());
    const auto weights = RandomOperand<bfloat16>(s.weight_count(), &random);
    const auto convolution = PackedConvolution::MakeInPairs(s, kBlocks);
    std::vector<bfloat16> packed(convolution->packed_size()), back(weights.size());
    convolution->PackWeights(weights.data(), nullptr, packed.data());
    convolution->UnpackWeights(packed.data(), back.data());
    EXPECT_EQ(As<float>(weights), As<float>(back));
  }
}

TEST_P(PairConvolutions, RefuseWeightsOfAnotherType) {
  const ConvolutionShape s = Square(8, 8, 1, {3, 1});
  const auto convolution = PackedConvolution::MakeInPairs(s, kBlocks);
  const std::vector<float> w(s.weight_count());
  EXPECT_THROW((Convolve<float, float, float>(*convolution, s, 1,
                                              std::vector<float>(s.input_size()), w, {})),
               Error);
}

TEST_P(PackedConvolutions, TakeAndGiveFloatsToo) {
  const ConvolutionShape shape = Square(40, 28, 1, {17, 3, 1, 1});
  CheckConvolution<float, float, float>(shape, 2, kBlocks);
  CheckConvolution<float, float16, float16>(shape, 2, kBlocks);
  CheckConvolution<float16, float, float>(shape, 2, kBlocks);
  CheckConvolution<float16, float16, float>(Square(40, 40, 40, {17, 3, 1, 1}), 2, kBlocks);
  CheckConvolution<float, float, float16>(Square(40, 40, 40, {17, 3, 2, 1}), 2, kBlocks);
  CheckConvolution<float, float16, float>(Square(3, 16, 1, {17, 3, 2, 1}), 2, kPlain);
  CheckConvolution<float, float, float>(Square(24, 16, 1, {17, 1, 2}), 2, kBlocks);
}

TEST_P(PackedConvolutions, TakeAndGiveBFloat16s) {
  const ConvolutionShape shape = Square(40, 28, 1, {17, 3, 1, 1});
  const Activation relu{Activation::RELU, 0., 0.};
  CheckConvolution<bfloat16, bfloat16, bfloat16>(shape, 2, kBlocks);
  CheckConvolution<bfloat16, bfloat16, bfloat16>(Square(160, 20, 1, {14, 3, 1, 1}), 1, kBlocks,
                                                 relu, kAddsResidual);
  CheckConvolution<bfloat16, bfloat16, bfloat16>(Square(40, 40, 40, {17, 3, 2, 1}), 2, kBlocks,
                                                 relu, kAddsResidual);
  CheckConvolution<bfloat16, bfloat16, bfloat16>(Square(3, 16, 1, {17, 1, 2, 1}), 2, kPlain);
  CheckConvolution<bfloat16, float, float>(shape, 2, kBlocks);
  CheckConvolution<float, bfloat16, float16>(shape, 2, kBlocks);
  CheckConvolution<float16, float16, bfloat16>(Square(24, 16, 1, {17, 1, 2}), 2, kBlocks);
}

// 256 + 1 lies between two BF16 values, the even one is 256; 256 + 3 becomes 260. A NaN with its
// highest bits zero stays one, and what is too large is an infinity.
TEST_P(PackedConvolutions, RoundBFloat16sToNearestEvenOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto add = [](float x, float bias) {
    const ConvolutionShape s = Square(1, 1, 1, {1, 1});
    const auto convolution = PackedConvolution::Make(s, false);
    const std::vector<float> weight = {1}, biases = {bias};
    return Convolve<float, float, bfloat16>(*convolution, s, 1, std::vector<float>{x}, weight,
                                            {&biases, {}, {}})[0];
  };
  EXPECT_EQ(static_cast<float>(add(256, 1)), 256);
  EXPECT_EQ(static_cast<float>(add(256, 3)), 260);
  EXPECT_EQ(static_cast<float>(add(-256, -1)), -256);
  EXPECT_EQ(static_cast<float>(add(3.4e38f, 0)), infinity);
  EXPECT_EQ(static_cast<float>(add(-infinity, 0)), -infinity);
  const uint32_t bits = 0x7f800001;
  float nan;
  std::memcpy(&nan, &bits, sizeof(nan));
  EXPECT_TRUE(std::isnan(static_cast<float>(add(nan, 0))));
}

TEST_P(PackedConvolutions, ActivateWhileTheyWrite) {
  const Activation activations[] = {{Activation::RELU, 0., 0.},
                                    {Activation::RELU, 0.1, 0.},
                                    {Activation::CLIP, 0., 6.},
                                    {Activation::CLIP, 0.5, 2.}};
  for (const Activation& activation : activations) {
    CheckConvolution<float16, float16, float16>(Square(160, 20, 1, {14, 3, 1, 1}), 1, kBlocks,
                                                activation);
    CheckConvolution<float16, float16, float16>(Square(20, 20, 20, {14, 3, 1, 1}), 1, kBlocks,
                                                activation);
  }
}

TEST_P(PackedConvolutions, AddAResidual) {
  const Activation relu{Activation::RELU, 0., 0.};
  for (const int group : {1, 20}) {
    const ConvolutionShape s = Square(20, 20, group, {14, 3, 1, 1});
    CheckConvolution<float16, float16, float16>(s, 2, kBlocks, relu, kAddsResidual);
    CheckConvolution<float, float16, float>(s, 2, kBlocks, relu, kAddsResidual);
  }
  CheckConvolution<float, float, float>(Square(160, 20, 1, {14, 3, 1, 1}), 1, kBlocks, {},
                                        kAddsResidual);
}

TEST_P(PackedConvolutions, ResidualMayBeTheOutput) {
  const ConvolutionShape s = Square(8, 8, 1, {5, 1});
  const auto convolution = PackedConvolution::Make(s, false);
  const size_t size = RoundUp(8, convolution->block()) * s.output_spatial();
  const std::vector<float> weights(s.weight_count(), 0.f), x(size, 0.f);
  std::vector<float> packed(convolution->packed_size()), y(size);
  convolution->PackWeights(weights.data(), nullptr, packed.data());
  for (size_t i = 0; i < size; ++i) y[i] = i % convolution->block() < 8 ? float(i) : 0.f;
  const std::vector<float> before = y;
  std::vector<float> scratch(convolution->scratch_size(1));
  convolution->Forward(1, x.data(), packed.data(), PostOps(nullptr, y.data()), scratch.data(),
                       y.data());
  EXPECT_EQ(y, before);
}

TEST_P(PackedConvolutions, ReadAndWritePartsOfLargerImages) {
  const Extents small = {5, 3, 1, 1};
  CheckConvolution<float16, float16, float16>(Square(16, 24, 1, small), 7, kBlocks, {},
                                              kAddsResidual, 40);
  CheckConvolution<float, float16, float>(Square(21, 19, 1, small), 3, kBlocks, {}, kAddsResidual,
                                          8);
  CheckConvolution<float16, float16, float>(Square(19, 19, 19, small), 3, kBlocks, {},
                                            kAddsResidual, 16);
  CheckConvolution<float, float, float>(Square(3, 16, 1, small), 2, kPlain, {}, kAddsResidual, 25);
  CheckConvolution<float, float, float16>(Square(16, 20, 1, {6, 1}), 5, kBlocks, {}, kAddsNothing,
                                          3);
  const auto convolution = PackedConvolution::Make(Square(16, 16, 1, small), false);
  std::vector<float> x(16 * 25), packed(convolution->packed_size()), y(16 * 25),
      scratch(convolution->scratch_size(1));
  EXPECT_THROW(convolution->Forward(1, x.data(), packed.data(), PostOps(), scratch.data(),
                                    {y.data(), {0, 16 * 25 - 1, 0}}),
               Error)
      << "images that overlap";
}

// Few outputs and few pixels: bands are cut until each thread has one.
TEST_P(PackedConvolutions, GiveTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  for (const ConvolutionShape& s : {Square(192, 64, 1, {14, 1}), Square(48, 20, 1, {11, 3, 1, 1}),
                                    Square(24, 144, 1, {28, 1}), Square(64, 16, 2, {9, 1, 2})}) {
    const auto convolution = PackedConvolution::Make(s, kBlocks);
    if (!convolution) continue;  // groups of half a block
    for (const int num : {1, 3}) {
      const auto x = RandomOperand<float>(num * s.input_size(), &random);
      const auto w = RandomOperand<float>(s.weight_count(), &random);
      std::vector<float> alone;
      for (const int threads : {1, 2, 7, 24}) {
        const TeamSize team(threads);
        const auto y = Convolve<float, float, float>(*convolution, s, num, x, w, {});
        if (threads == 1) alone = y;
        EXPECT_EQ(y, alone) << threads << " threads, " << s.channels << " to " << s.outputs;
      }
    }
  }
}

TEST_P(PackedConvolutions, AgreeOnRandomShapes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto upto = [&](int most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) {
    std::vector<Extents> axes;
    for (int axis = 0; axis < 2; ++axis) {
      Extents e{upto(30), upto(5), upto(3), upto(3) - 1, upto(2)};
      e.input = std::max(e.input, e.dilation * (e.kernel - 1) + 1);
      axes.push_back(e);
    }
    const bool depthwise = i % 4 == 0, plain = i % 4 == 1;
    const int channels = plain ? upto(4) : upto(70);
    CheckConvolution<float16, float16, float16>(
        Shape(channels, depthwise ? channels : upto(70), depthwise ? channels : 1, axes), upto(3),
        plain);
  }
}

// Rows shorter and longer than a tile, padding on every side, both strides: the tiles at the border
// are others than those inside.
TEST_P(PackedConvolutions, AgreeOnDepthwiseKernelsOfThreeAndFive) {
  for (const int kernel : {3, 5}) {
    for (const int stride : {1, 2}) {
      for (const int extent : {5, 7, 14, 23}) {
        for (const int pad : {0, 1, 2}) {
          const Extents rows = {9, kernel, stride, pad}, columns = {extent, kernel, stride, pad};
          CheckConvolution<float, float, float>(Shape(19, 19, 19, {rows, columns}), 2, kBlocks, {},
                                                kAddsResidual, 8);
          CheckConvolution<float16, float16, float16>(Shape(8, 8, 8, {rows, columns}), 1, kBlocks);
        }
      }
    }
  }
  CheckConvolution<bfloat16, bfloat16, bfloat16>(Shape(8, 8, 8, {{40, 3, 1, 1}}), 3, kBlocks, {},
                                                 kAddsResidual);
}

TEST_P(PackedConvolutions, GiveTheWeightsBack) {
  for (const ConvolutionShape& s :
       {Square(21, 29, 1, {5, 3}), Square(64, 96, 2, {5, 2}), Square(19, 19, 19, {5, 3})}) {
    std::mt19937 random(TestSeed());
    const auto weights = RandomOperand<float16>(s.weight_count(), &random);
    const auto convolution = PackedConvolution::Make(s, false);
    std::vector<float16> packed(convolution->packed_size()), back(weights.size());
    convolution->PackWeights(weights.data(), nullptr, packed.data());
    convolution->UnpackWeights(packed.data(), back.data());
    EXPECT_EQ(As<float>(weights), As<float>(back));
  }
}

TEST_P(PackedConvolutions, ScaleTheWeightsOfEachOutput) {
  const ConvolutionShape s = Square(2, 3, 1, {1, 1});
  const auto convolution = PackedConvolution::Make(s, false);
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6}, scale = {1, 10, 0.5};
  std::vector<float16> packed(convolution->packed_size()), back(6);
  convolution->PackWeights(weights.data(), scale.data(), packed.data());
  convolution->UnpackWeights(packed.data(), back.data());
  EXPECT_EQ(As<float>(back), (std::vector<float>{1, 2, 30, 40, 2.5, 3}));
}

// Products of subnormal FP16 values are normal floats; their sum may be subnormal again.
TEST_P(PackedConvolutions, KeepSubnormalHalves) {
  const ConvolutionShape s = Square(16, 16, 1, {6, 1});
  const auto convolution = PackedConvolution::Make(s, false);
  const float least = std::ldexp(1.f, -24);
  const std::vector<float16> x(s.input_size(), float16(3 * least));
  const std::vector<float16> weights(s.weight_count(), float16(0.25f));
  const FlushDenormals flush;
  const auto y = Convolve<float16, float16, float16>(*convolution, s, 1, x, weights, {});
  for (const float16& value : y) ASSERT_EQ(static_cast<float>(value), 12 * least);
}

TEST_P(PackedConvolutions, RoundOnceToNearestEven) {
  // 2048 + 1 lies between two FP16 values, the even one is 2048; 2048 + 3 becomes 2052.
  for (const auto& [term, expected] : {std::pair<float, float>{1, 2048}, {3, 2052}}) {
    const ConvolutionShape s = Square(2, 1, 1, {1, 1});
    const auto convolution = PackedConvolution::Make(s, false);
    const std::vector<float16> x = {float16(2048.f), float16(term)}, weights(2, float16(1.f));
    const auto y = Convolve<float16, float16, float16>(*convolution, s, 1, x, weights, {});
    EXPECT_EQ(static_cast<float>(y[0]), expected);
  }
}

TEST_P(PackedConvolutions, OverflowToInfinity) {
  const ConvolutionShape s = Square(4, 1, 1, {1, 1});
  const auto convolution = PackedConvolution::Make(s, false);
  const std::vector<float16> x(4, float16(60000.f)), weights(4, float16(1.f));
  auto y = Convolve<float16, float16, float16>(*convolution, s, 1, x, weights, {});
  EXPECT_EQ(static_cast<float>(y[0]), std::numeric_limits<float>::infinity());
  const std::vector<float16> back = {float16(1.f), float16(1.f), float16(-1.f), float16(-0.5f)};
  y = Convolve<float16, float16, float16>(*convolution, s, 1, x, back, {});
  EXPECT_EQ(static_cast<float>(y[0]), 30000.f) << "sums are float";
}

// An infinity or NaN reaches the outputs whose windows it lies in, and nothing else: not the
// channels that fill up blocks either, of which Convolve's caller below would see a NaN.
TEST_P(PackedConvolutions, PassInfinitiesAndNaNsOn) {
  for (const int group : {1, 5}) {
    for (const float special :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
      const ConvolutionShape s = Square(5, 5, group, {9, 3, 1, 1});
      const auto convolution = PackedConvolution::Make(s, false);
      std::vector<float16> x(s.input_size(), float16(1.f));
      const std::vector<float16> weights(s.weight_count(), float16(1.f));
      x[4 * 9 + 4] = float16(special);  // channel 0, row 4, column 4
      const Activation relu{Activation::RELU, 0., 0.};
      const auto y =
          Convolve<float16, float16, float16>(*convolution, s, 1, x, weights, {{}, {}, relu});
      const size_t block = convolution->block();
      for (size_t i = 0; i < y.size(); ++i) {
        const int channel = i % block, row = i / block / 9, column = i / block % 9;
        const float value = static_cast<float>(y[i]);
        const bool reached = std::abs(row - 4) <= 1 && std::abs(column - 4) <= 1 &&
                             (group == 1 || channel == 0) && channel < 5;
        if (channel >= 5) {
          ASSERT_EQ(value, 0) << i;
        } else if (!reached) {
          ASSERT_TRUE(std::isfinite(value) && value > 0) << i;
        } else if (std::isnan(special)) {
          ASSERT_TRUE(std::isnan(value)) << i;
        } else {
          ASSERT_EQ(value, std::max(special, 0.f)) << i;
        }
      }
    }
  }
}

TEST_P(PackedConvolutions, AreNotForOtherShapes) {
  EXPECT_EQ(PackedConvolution::Make(Square(12, 12, 2, {5, 3}), false), nullptr)
      << "parts of blocks";
  EXPECT_EQ(PackedConvolution::Make(Square(8, 16, 8, {5, 3}), false), nullptr) << "two per channel";
  EXPECT_EQ(PackedConvolution::Make(Square(32, 32, 2, {5, 3}), true), nullptr) << "plain groups";
  EXPECT_EQ(PackedConvolution::Make(Shape(8, 8, 1, {{3, 1}, {3, 1}, {3, 3}}), false), nullptr)
      << "three axes";
  for (const int group : {1, 32}) {
    const Extents window = {1, 3, 1, 1 << 20, 1 << 20};
    EXPECT_EQ(PackedConvolution::Make(Square(32, 32, group, window), false), nullptr)
        << "windows of billions of positions, " << group << " groups";
  }
}

INSTANTIATE_ON_EVERY_SET(PackedConvolutions);

INSTANTIATE_TEST_SUITE_P(Sets, PairConvolutions, ::testing::ValuesIn(SetsWithPairs()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace caffe::kernels
