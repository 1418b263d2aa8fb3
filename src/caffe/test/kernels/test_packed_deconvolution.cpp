// Deconvolutions as convolutions of their phases, on every instruction set, in blocks of channels
// and in tiles with channels last, compared with their definition in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/packed_deconvolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/drawn_values.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::kernels {
namespace {

class PackedDeconvolutions : public OnInstructionSet {};
INSTANTIATE_ON_EVERY_SET(PackedDeconvolutions);
class TileDeconvolutions : public OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(Sets, TileDeconvolutions, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

/// Of convolutions whose gradients are computed: y has their channels, x their outputs.
std::vector<ConvolutionShape> ShapesOf(int channels, int outputs, int group) {
  const auto square = [&](const Extents& extents) {
    return Square(channels, outputs, group, extents);
  };
  return {square({5, 1}),
          square({9, 3, 1, 1}),
          square({10, 4, 2, 1}),     // twice the size
          square({10, 3, 2, 1}),     // a stride that leaves a last row out
          square({12, 2, 2}),        // phases of one position
          square({22, 16, 8, 4}),    // many phases
          square({9, 1, 2}),         // positions that get nothing
          square({14, 2, 4, 1}),     // whole phases that get nothing
          square({13, 5, 3, 2}),     //
          square({15, 3, 1, 2, 2}),  // dilation
          square({15, 3, 2, 2, 3}),  // which no phase divides
          square({15, 4, 4, 3, 2}),  // which some phases divide
          square({5, 1, 1, 1}),      // outputs of padding alone
          square({4, 3, 1, 4}),      // more padding than kernel
          square({3, 3, 1, 0}),      // a single position of x
          Shape(channels, outputs, group, {{1, 1}, {40, 7, 1, 3}}),
          Shape(channels, outputs, group, {{30, 7, 3, 3}}),  // one axis
          Shape(channels, outputs, group, {{7, 3, 2, 1}, {6, 1, 1, 0}})};
}
ConvolutionShape SomeDeconvolution(int multiple, std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  std::vector<Extents> axes;
  for (int axis = 0; axis < 2; ++axis) {
    const int kernel = between(1, 5), dilation = between(1, 3);
    const int window = dilation * (kernel - 1) + 1;
    axes.push_back(
        {between(window, window + 12), kernel, between(1, 3), between(0, kernel), dilation});
  }
  const int group = multiple == 1 ? 1 : between(1, 2);
  return Shape(multiple * group * between(1, 5), multiple * group * between(1, 5), group, axes);
}

std::string Described(const ConvolutionShape& s) {
  return Join(s.outputs, " to ", s.channels, " channels, group ", s.group, ", output ", s.input[0],
              " x ", s.input.back(), ", kernel ", s.kernel[0], " x ", s.kernel.back(), ", stride ",
              s.stride[0], " x ", s.stride.back(), ", pad ", s.pad[0], " x ", s.pad.back(),
              ", dilation ", s.dilation[0], " x ", s.dilation.back());
}

/// How blobs lie.
struct Lying {
  bool channels_last = false;
  size_t gap = 0;  ///< elements behind each image, or with channels last behind each pixel's

  template <typename T>
  std::vector<T> Placed(const std::vector<T>& plain, int num, int channels, size_t spatial,
                        size_t block) const {
    const T nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    return channels_last ? ToChannelsLast(plain, num, channels, spatial, block, gap, nan)
                         : WithGaps(ToBlocks(plain, num, channels, spatial, block), num, gap, nan);
  }
};

/// y with its gaps, which stay NaN, as `threads` threads compute it.
template <typename X, typename W, typename Y>
std::vector<Y> Deconvolve(const PackedDeconvolution& kernel, const ConvolutionShape& s, int num,
                          const std::vector<X>& x, const std::vector<W>& weights,
                          const PostOps& post, const Lying& lying, int threads) {
  const TeamSize team(threads);
  std::vector<W> packed(kernel.packed_size());
  kernel.PackWeights(weights.data(), nullptr, packed.data());
  const size_t block = kernel.block();
  const std::vector<X> from = lying.Placed(x, num, s.outputs, s.output_spatial(), block);
  const Y nan = static_cast<Y>(std::numeric_limits<float>::quiet_NaN());
  std::vector<Y> y = lying.Placed(std::vector<Y>(num * s.input_size(), nan), num, s.channels,
                                  s.input_spatial(), block);
  ImageStrides strides;
  if (lying.channels_last) {
    strides.x_pixel = RoundUp(s.outputs, block) + lying.gap;
    strides.y_pixel = RoundUp(s.channels, block) + lying.gap;
  } else if (lying.gap > 0) {
    strides.x = from.size() / num;
    strides.y = y.size() / num;
  }
  const AlignedScratch scratch(kernel.scratch_bytes(num, kElementType<Y>));
  kernel.Forward(num, from.data(), {packed.data(), kElementType<W>}, post, scratch.data(),
                 {y.data(), strides});
  return y;
}

template <typename X, typename W, typename Y>
void Expect(const ConvolutionShape& s, int num, const Lying& lying, std::mt19937* random) {
  SCOPED_TRACE(Described(s));
  const auto kernel = lying.channels_last ? PackedDeconvolution::MakeChannelsLast(
                                                s, ElementType::FLOAT, TileShape::TWO_BY_TWO)
                                          : PackedDeconvolution::Make(s);
  ASSERT_TRUE(kernel);
  const auto x = Drawn<X>(num * s.output_size(), random);
  const auto weights = Drawn<W>(s.weight_count(), random);
  const auto bias = Drawn<float>(s.channels, random);
  Activation relu;
  relu.kind = Activation::RELU;
  relu.a = 0.5;
  const PostOps post(bias.data(), {}, relu);
  const std::vector<Y> y = Deconvolve<X, W, Y>(*kernel, s, num, x, weights, post, lying, 1);
  for (const int threads : {2, 3}) {
    const std::vector<Y> other =
        Deconvolve<X, W, Y>(*kernel, s, num, x, weights, post, lying, threads);
    EXPECT_EQ(0, std::memcmp(y.data(), other.data(), y.size() * sizeof(Y)))
        << threads << " threads change the bits";
  }

  std::vector<double> exact(num * s.input_size()), magnitudes = exact;
  const std::vector<double> wide = Wide(bias), of_bias = Magnitudes(wide);
  ReferenceConvolutionBackwardData(s, num, Wide(x).data(), Wide(weights).data(), wide.data(),
                                   exact.data());
  ReferenceConvolutionBackwardData(s, num, Magnitudes(Wide(x)).data(),
                                   Magnitudes(Wide(weights)).data(), of_bias.data(),
                                   magnitudes.data());
  for (double& value : exact) value = ActivatedValue(relu, value);
  const size_t block = kernel->block();
  const auto expected = lying.Placed(exact, num, s.channels, s.input_spatial(), block);
  const auto bounds = lying.Placed(magnitudes, num, s.channels, s.input_spatial(), block);
  // PackedConvolution's bound, for as many products as there may be.
  const bool splits =
      CpuInstructionSet().has_tiles() && !s.is_depthwise() && (sizeof(X) == 4 || sizeof(W) == 4);
  const double relative = (double(s.outputs / s.group) * s.kernel_size() + 6) * std::ldexp(1, -23) +
                          (splits ? std::ldexp(1, -22) : 0);
  const double smallest = std::is_same<Y, float16>::value ? std::ldexp(1, -25) : 1e-30;
  ASSERT_EQ(expected.size(), y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const double actual = static_cast<float>(y[i]);
    ASSERT_EQ(std::isnan(expected[i]), std::isnan(actual)) << "element " << i;
    if (std::isnan(actual)) continue;
    ASSERT_NEAR(expected[i], actual,
                relative * bounds[i] + RoundingOf<Y>() * std::abs(expected[i]) + smallest)
        << "element " << i;
  }
}

TEST_P(PackedDeconvolutions, AreConvolutionsOfPhases) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  std::mt19937 random(seed);
  for (const ConvolutionShape& s : ShapesOf(5, 7, 1))
    Expect<float, float, float>(s, 2, {}, &random);
  for (const ConvolutionShape& s : ShapesOf(16, 48, 1)) {
    Expect<float16, float16, float16>(s, 1, {}, &random);
  }
  for (const ConvolutionShape& s : ShapesOf(32, 32, 2)) {
    Expect<bfloat16, bfloat16, float>(s, 3, {}, &random);
  }
  for (const ConvolutionShape& s : ShapesOf(11, 11, 11)) {
    Expect<float, float, float>(s, 2, {}, &random);
  }
  for (int i = 0; i < 10; ++i)
    Expect<float, float16, bfloat16>(SomeDeconvolution(1, &random), 2, {}, &random);
  for (int i = 0; i < 5; ++i)
    Expect<float, float, float>(SomeDeconvolution(16, &random), 2, {}, &random);
}

TEST_P(PackedDeconvolutions, StepOverGapsBetweenImages) {
  std::mt19937 random(TestSeed());
  const size_t block = BlockChannels();
  for (const ConvolutionShape& s : ShapesOf(5, 20, 1)) {
    Expect<float, float, float>(s, 3, {false, 2 * block}, &random);
  }
}

TEST_P(TileDeconvolutions, AreConvolutionsOfPhasesWithChannelsLast) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  std::mt19937 random(seed);
  for (const ConvolutionShape& s : ShapesOf(32, 16, 1)) {
    Expect<float16, float16, float16>(s, 3, {true}, &random);
  }
  for (const ConvolutionShape& s : ShapesOf(32, 64, 2)) {
    Expect<float, float16, float>(s, 1, {true, 16}, &random);
  }
  for (int i = 0; i < 6; ++i) {
    Expect<float16, float16, float16>(SomeDeconvolution(16, &random), 2, {true}, &random);
  }
}

TEST_P(TileDeconvolutions, PackWeightsOf16BitsByThreads) {
  std::mt19937 random(TestSeed());
  for (const ConvolutionShape& s : ShapesOf(32, 16, 1)) {
    SCOPED_TRACE(Described(s));
    const auto kernel =
        PackedDeconvolution::MakeChannelsLast(s, ElementType::FLOAT16, TileShape::TWO_BY_TWO);
    const auto weights = Drawn<float16>(s.weight_count(), &random);
    std::vector<float16> expected(kernel->packed_size()), packed = expected;
    kernel->PackWeights(weights.data(), nullptr, expected.data());
    kernel->PackStrided(reinterpret_cast<const uint16_t*>(weights.data()),
                        reinterpret_cast<uint16_t*>(packed.data()));
    EXPECT_EQ(0, std::memcmp(expected.data(), packed.data(), packed.size() * sizeof(float16)));
  }
}

TEST_P(PackedDeconvolutions, ScaleChannelsAndUnpackWeights) {
  std::mt19937 random(TestSeed());
  for (const ConvolutionShape& s : ShapesOf(5, 7, 1)) {
    SCOPED_TRACE(Described(s));
    const auto kernel = PackedDeconvolution::Make(s);
    const auto weights = Drawn<float>(s.weight_count(), &random);
    const auto scale = Drawn<float>(s.channels, &random);
    std::vector<float> packed(kernel->packed_size()), unpacked(weights.size());
    kernel->PackWeights(weights.data(), scale.data(), packed.data());
    kernel->UnpackWeights(packed.data(), unpacked.data());
    const size_t taps = s.kernel_size();
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ(weights[i] * scale[i / taps % s.channels], unpacked[i]) << "weight " << i;
    }
  }
}

TEST_P(PackedDeconvolutions, KeepNaNsFromPositionsThatNothingReaches) {
  const ConvolutionShape s = Square(3, 2, 1, {9, 1, 2});
  const auto kernel = PackedDeconvolution::Make(s);
  const std::vector<float> x(s.output_size(), NAN), weights(s.weight_count(), 1.f);
  const std::vector<float> bias = {1, 2, 3};
  const std::vector<float> y =
      Deconvolve<float, float, float>(*kernel, s, 1, x, weights, PostOps(bias.data()), {}, 1);
  for (int row = 0; row < 9; ++row) {
    for (int column = 0; column < 9; ++column) {
      const bool reached = row % 2 == 0 && column % 2 == 0;
      const float actual = y[(row * 9 + column) * kernel->block() + 1];
      EXPECT_EQ(reached, std::isnan(actual)) << row << ", " << column;
      if (!reached) {
        EXPECT_EQ(2, actual);
      }
    }
  }
}

TEST_P(PackedDeconvolutions, TakeScratchForEachThreadOnce) {
  const auto kernel = PackedDeconvolution::Make(Square(21, 21, 1, {64, 16, 8, 4}));
  const auto bytes = [&](int threads) {
    const TeamSize team(threads);
    return kernel->scratch_bytes(1, ElementType::FLOAT);
  };
  EXPECT_LE(bytes(16), 16 * bytes(1));
}

TEST_P(PackedDeconvolutions, OfNoImagesWriteNothing) {
  const ConvolutionShape s = Square(3, 2, 1, {8, 4, 2, 1});
  const auto kernel = PackedDeconvolution::Make(s);
  kernel->Forward(0, Numbers(), Numbers(), PostOps(), nullptr, {nullptr, ElementType::FLOAT});
}

TEST_P(PackedDeconvolutions, AreNotThereForOtherShapes) {
  EXPECT_FALSE(PackedDeconvolution::Make(Shape(8, 8, 1, {{3, 1}, {3, 1}, {3, 1}})));
  EXPECT_FALSE(PackedDeconvolution::Make(Square(4, 6, 2, {8, 4, 2, 1})))
      << "groups are no whole blocks";
  EXPECT_FALSE(PackedDeconvolution::Make(Square(8, 8, 1, {200, 4, 100}))) << "10,000 phases";
  EXPECT_FALSE(PackedDeconvolution::Make(Square(0, 8, 1, {8, 4, 2, 1})));
  ConvolutionShape wide = Square(8, 8, 1, {8, 4, 2, 1});
  wide.dilation[0] = 1 << 30;
  EXPECT_FALSE(PackedDeconvolution::Make(wide)) << "offsets of more than 32 bits";
  const auto tiles = PackedDeconvolution::MakeChannelsLast(
      Square(16, 16, 1, {8, 4, 2, 1}), ElementType::FLOAT16, TileShape::TWO_BY_TWO);
  EXPECT_EQ(GetParam().row().tiles != nullptr, tiles != nullptr);
}

TEST_P(PackedDeconvolutions, TakeNoResidual) {
  const ConvolutionShape s = Square(3, 2, 1, {8, 4, 2, 1});
  const float number = 0;
  EXPECT_THROW(
      PackedDeconvolution::Make(s)->Forward(1, &number, &number, PostOps(nullptr, Numbers(&number)),
                                            nullptr, {nullptr, ElementType::FLOAT}),
      Error);
}

}  // namespace
}  // namespace caffe::kernels
