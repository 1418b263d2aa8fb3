// Convolutions with channels last in AMX's tiles: of bytes to the bit as in blocks, of floats
// within the bounds of packed_convolution.hpp, in views of larger images.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

class ChannelsLastConvolutions : public OnInstructionSet {};

/// Shapes that reach every part of the geometry.
std::vector<ConvolutionShape> Shapes() {
  return {
      Shape(16, 16, 1, {{9, 3, 1, 1}, {9, 3, 1, 1}}),
      Shape(19, 37, 1, {{7, 1}, {8, 1}}),        // padding of channels and outputs
      Shape(64, 48, 1, {{13, 1}, {11, 1}}),      // several tiles, a last one that overlaps
      Shape(24, 8, 1, {{9, 1, 2}, {10, 1, 2}}),  // skipped positions
      Shape(40, 16, 1, {{8, 3, 2, 1}, {8, 3, 2, 1}}),
      Shape(48, 20, 1, {{11, 5, 2, 2}, {6, 3, 1, 0}}),
      Shape(10, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}),  // dilation
      Shape(16, 16, 1, {{30, 7, 3, 3}}),                      // one axis
      Shape(80, 32, 1, {{5, 3, 1, 2}, {4, 2, 1, 1}}),         // padding wider than needed
      Shape(32, 64, 2, {{5, 3, 1, 1}, {5, 3, 1, 1}}),
      Shape(64, 32, 2, {{6, 1}, {5, 1}}),
      Shape(150, 40, 1, {{4, 1}, {5, 1}}),  // a last step that begins before the one before ends
      Shape(33, 16, 1, {{1, 1}, {1, 1}}),
      Shape(17, 18, 1, {{6, 1, 1, 1}, {5, 1, 1, 1}}),  // outputs of padding alone
      Shape(16, 16, 1, {{5, 2, 2, 3}, {6, 2, 1, 3}})};
}
std::vector<ConvolutionShape> PlainShapes() {
  return {Shape(3, 32, 1, {{23, 7, 2, 3}, {23, 7, 2, 3}}),
          Shape(3, 20, 1, {{31, 11, 4}, {31, 11, 4}}),
          Shape(1, 16, 1, {{8, 3, 1, 1}, {9, 3, 1, 1}}),
          Shape(4, 24, 1, {{10, 3, 2, 0}, {12, 3, 2, 0}}),
          Shape(2, 8, 1, {{10, 1, 2}, {12, 1, 3}}),
          Shape(3, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}})};
}

ConvolutionShape SomeShape(std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  std::vector<Extents> axes;
  for (int axis = 0; axis < 2; ++axis) {
    const int kernel = between(1, 5), dilation = between(1, 4) == 1 ? 2 : 1;
    const int window = dilation * (kernel - 1) + 1;
    axes.push_back(
        {between(window, window + 12), kernel, between(1, 3), between(0, kernel), dilation});
  }
  return Shape(between(1, 130), between(1, 70), 1, axes);
}

template <typename F>
void ForAllShapes(F&& f) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  const auto call = [&](const ConvolutionShape& s, bool plain) {
    SCOPED_TRACE(::testing::Message()
                 << "CAFFE_TEST_SEED=" << seed << ": " << s.channels << " channels, " << s.outputs
                 << " outputs, group " << s.group << ", input " << s.input[0] << ", kernel "
                 << s.kernel[0] << " x " << s.kernel.back() << ", stride " << s.stride[0] << " x "
                 << s.stride.back() << ", pad " << s.pad[0] << " x " << s.pad.back()
                 << (plain ? ", plain" : ""));
    for (const TileShape tile_shape : {TileShape::FOUR_BY_ONE, TileShape::TWO_BY_TWO}) {
      f(s, plain, tile_shape, &random);
    }
  };
  for (const ConvolutionShape& s : Shapes()) call(s, false);
  for (const ConvolutionShape& s : PlainShapes()) call(s, true);
  for (int i = 0; i < 6; ++i) call(SomeShape(&random), false);
}

/// Compared with the kernel for blocks, whose own test is the definition.
template <typename X, typename Y>
void ExpectTheSameBytes(const ConvolutionShape& s, bool plain, TileShape tile_shape, int num,
                        const Activation& activation, bool with_residual, size_t gap,
                        std::mt19937* random) {
  const auto last = Int8Convolution::MakeChannelsLast(s, plain, tile_shape);
  const auto blocked = Int8Convolution::Make(s, plain);
  ASSERT_TRUE(last && blocked);
  const size_t block = last->block(), outputs = num * s.output_size();
  const std::vector<X> x = Integers<X>(num * s.input_size(), random);
  const std::vector<int8_t> weights = Integers<int8_t>(s.weight_count(), random);
  std::vector<float> scale = Floats(s.outputs, 1e-4f, random);
  for (float& value : scale) value = std::abs(value);
  const std::vector<float> bias = Floats(s.outputs, 1, random);
  const std::vector<Y> residual = Residuals<Y>(outputs, random);
  PostOps post;
  post.scale = scale.data();
  post.bias = bias.data();
  post.residual_scale = 0.03125f;
  post.activation = activation;
  post.factor = 16;
  if (sizeof(Y) == 1) post.zero_point = 3;
  const auto in_blocks = ToBlocks(residual, num, s.outputs, s.output_spatial(), block);
  const auto in_pixels =
      ToChannelsLast(residual, num, s.outputs, s.output_spatial(), block, 2 * gap, Y(99));
  const auto run = [&](const Int8Convolution& kernel, const void* input, Y* y,
                       const ImageStrides& strides) {
    std::vector<int8_t> packed(kernel.packed_size());
    kernel.PackWeights(weights.data(), packed.data());
    std::vector<double> scratch(kernel.scratch_bytes(num) / sizeof(double) + 1, NAN);
    kernel.Forward(num, {input, kElementType<X>}, packed.data(), post, scratch.data(), {y, strides},
                   /*input_zero_point=*/5);
  };
  std::vector<Y> expected(
      ToBlocks(std::vector<Y>(outputs), num, s.outputs, s.output_spatial(), block));
  if (with_residual) post.residual = in_blocks.data();
  const auto blocked_x = plain ? x : ToBlocks(x, num, s.channels, s.input_spatial(), block);
  run(*blocked, blocked_x.data(), expected.data(), {});
  std::vector<Y> plain_y(outputs);
  const size_t blocks = CeilDiv(s.outputs, block), spatial = s.output_spatial();
  for (size_t i = 0; i < outputs; ++i) {
    const size_t n = i / spatial / s.outputs, c = i / spatial % s.outputs;
    plain_y[i] = expected[((n * blocks + c / block) * spatial + i % spatial) * block + c % block];
  }
  const auto want = ToChannelsLast(plain_y, num, s.outputs, spatial, block, gap, Y(77));
  const auto input =
      plain ? x : ToChannelsLast(x, num, s.channels, s.input_spatial(), block, gap, X(99));
  if (with_residual) post.residual = in_pixels.data();
  ImageStrides strides;
  if (!plain) strides.x_pixel = input.size() / num / s.input_spatial();
  strides.y_pixel = want.size() / num / spatial;
  strides.residual_pixel = in_pixels.size() / num / spatial;
  for (const int threads : {1, 2, 3}) {
    const TeamSize team(threads);
    std::vector<Y> y(want.size(), Y(77));
    run(*last, input.data(), y.data(), strides);
    ASSERT_EQ(y, want) << threads << " threads";
  }
}

TEST_P(ChannelsLastConvolutions, OfBytesAreThoseInBlocks) {
  ForAllShapes([](const ConvolutionShape& s, bool plain, TileShape shape, std::mt19937* random) {
    const Activation relu = {Activation::RELU, 0, 0}, leaky = {Activation::RELU, 0.1, 0};
    ExpectTheSameBytes<uint8_t, uint8_t>(s, plain, shape, 2, relu, false, 0, random);
    ExpectTheSameBytes<int8_t, int8_t>(s, plain, shape, 1, relu, true, 16, random);
    ExpectTheSameBytes<uint8_t, int8_t>(s, plain, shape, 1, leaky, false, 0, random);
    ExpectTheSameBytes<uint8_t, float>(s, plain, shape, 3, leaky, true, 0, random);
  });
}

/// What the kernel multiplies.
template <typename T>
std::vector<T> NormalNumbers(size_t n, std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<T> result(n);
  for (T& value : result) value = static_cast<T>(normal(*random));
  return result;
}
template <typename T>
std::vector<double> AsDoubles(const std::vector<T>& x) {
  std::vector<double> result;
  for (const T value : x) result.push_back(static_cast<float>(value));
  return result;
}

/// `x_bound`, `weight_bound`: bounds of the products that are left out, as a part of the sum of
/// magnitudes.
template <typename X, typename W, typename Y>
void ExpectWithinBounds(const ConvolutionShape& s, bool plain, TileShape tile_shape, int num,
                        ElementType math, double left_out, const Activation& activation,
                        bool with_residual, size_t gap, std::mt19937* random) {
  const auto kernel = PackedConvolution::MakeChannelsLast(s, plain, math, tile_shape);
  ASSERT_TRUE(kernel);
  const size_t block = kernel->block(), outputs = num * s.output_size();
  const size_t spatial = s.output_spatial();
  const std::vector<X> x = NormalNumbers<X>(num * s.input_size(), random);
  const std::vector<W> weights = NormalNumbers<W>(s.weight_count(), random);
  const std::vector<float> bias = Floats(s.outputs, 1, random);
  const std::vector<Y> residual = NormalNumbers<Y>(outputs, random);
  std::vector<double> wide_x = AsDoubles(x), wide_weights = AsDoubles(weights), sums(outputs),
                      magnitudes(outputs);
  if (math == ElementType::BFLOAT16) {
    for (double& value : wide_x) value = static_cast<float>(bfloat16(static_cast<float>(value)));
  }
  const std::vector<double> no_bias(s.outputs, 0.);
  ReferenceConvolutionForward(s, num, wide_x.data(), wide_weights.data(), no_bias.data(),
                              sums.data());
  for (double& value : wide_x) value = std::abs(value);
  for (double& value : wide_weights) value = std::abs(value);
  ReferenceConvolutionForward(s, num, wide_x.data(), wide_weights.data(), no_bias.data(),
                              magnitudes.data());
  const auto input =
      plain ? x : ToChannelsLast(x, num, s.channels, s.input_spatial(), block, gap, X(99.f));
  const auto pixels = ToChannelsLast(residual, num, s.outputs, spatial, block, 2 * gap, Y(99.f));
  PostOps post;
  post.bias = bias.data();
  post.activation = activation;
  if (with_residual) post.residual = pixels.data();
  std::vector<W> packed(kernel->packed_size()), unpacked(weights.size());
  kernel->PackWeights(weights.data(), nullptr, packed.data());
  kernel->UnpackWeights(packed.data(), unpacked.data());
  for (size_t i = 0; i < weights.size(); ++i) ASSERT_EQ(float(unpacked[i]), float(weights[i]));
  const size_t padded = RoundUp(s.outputs, block), y_pixel = padded + gap;
  ImageStrides strides;
  if (!plain) strides.x_pixel = input.size() / num / s.input_spatial();
  strides.y_pixel = y_pixel;
  strides.residual_pixel = pixels.size() / num / spatial;
  const double unit = sizeof(Y) == 4 ? 0 : std::is_same<Y, float16>::value ? 0x1p-11 : 0x1p-8;
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(num * spatial * y_pixel, Y(77.f));
    std::vector<float> scratch(kernel->scratch_size(num) + 1, NAN);
    kernel->Forward(num, input.data(), packed.data(), post, scratch.data(), {y.data(), strides});
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t c = i % y_pixel, n = i / y_pixel / spatial, p = i / y_pixel % spatial;
      const float got = static_cast<float>(y[i]);
      if (c >= padded) {
        ASSERT_EQ(got, 77) << "between pixels";
      } else if (c >= size_t(s.outputs)) {
        ASSERT_EQ(got, 0) << "the padding of channels";
      } else {
        const size_t at = (n * s.outputs + c) * spatial + p;
        double want = sums[at] + bias[c];
        if (with_residual) want += static_cast<float>(residual[at]);
        if (want < 0) want *= activation.a;
        const double terms = double(s.column_rows());
        const double bound =
            (left_out + (terms + 6) * 0x1p-23) * (magnitudes[at] + std::abs(bias[c]) + 4) +
            unit * std::abs(want) + 1e-7;
        ASSERT_NEAR(got, want, bound) << "channel " << c << ", pixel " << p << ", image " << n;
      }
    }
  }
}

TEST_P(ChannelsLastConvolutions, OfBFloat16AreWithinTheirBounds) {
  ForAllShapes([](const ConvolutionShape& s, bool plain, TileShape shape, std::mt19937* random) {
    const Activation relu = {Activation::RELU, 0, 0}, leaky = {Activation::RELU, 0.25, 0};
    constexpr ElementType kMath = ElementType::BFLOAT16;
    ExpectWithinBounds<bfloat16, bfloat16, bfloat16>(s, plain, shape, 2, kMath, 0, relu, true, 16,
                                                     random);
    ExpectWithinBounds<bfloat16, bfloat16, float>(s, plain, shape, 1, kMath, 0, leaky, false, 0,
                                                  random);
    ExpectWithinBounds<float, bfloat16, bfloat16>(s, plain, shape, 1, kMath, 0, relu, false, 0,
                                                  random);
  });
}

TEST_P(ChannelsLastConvolutions, OfPartsAreWithinTheirBounds) {
  ForAllShapes([](const ConvolutionShape& s, bool plain, TileShape shape, std::mt19937* random) {
    const Activation relu = {Activation::RELU, 0, 0};
    ExpectWithinBounds<float16, float16, float16>(s, plain, shape, 2, ElementType::FLOAT16, 0x1p-16,
                                                  relu, true, 0, random);
    ExpectWithinBounds<float, float16, float16>(s, plain, shape, 1, ElementType::FLOAT16, 0x1p-15,
                                                relu, false, 16, random);
    ExpectWithinBounds<float, float, float>(s, plain, shape, 1, ElementType::FLOAT, 0x1p-22, relu,
                                            true, 0, random);
  });
}

// An infinity belongs to the outputs whose windows have it, with its sign; others stay finite.
TEST_P(ChannelsLastConvolutions, OfPartsTakeInfinities) {
  const ConvolutionShape s = Square(16, 16, 1, {6, 3, 1, 1});
  const auto kernel =
      PackedConvolution::MakeChannelsLast(s, false, ElementType::FLOAT16, TileShape::FOUR_BY_ONE);
  ASSERT_TRUE(kernel);
  std::vector<float16> x(s.input_size(), float16(1.f)), weights(s.weight_count(), float16(0.5f));
  x[0] = float16(-std::numeric_limits<float>::infinity());  // channel 0 of the first pixel
  std::vector<float16> packed(kernel->packed_size());
  kernel->PackWeights(weights.data(), nullptr, packed.data());
  std::vector<float> y(s.output_size()), scratch(kernel->scratch_size(1) + 1);
  ImageStrides strides;
  strides.x_pixel = strides.y_pixel = 16;
  const std::vector<float16> last =
      ToChannelsLast(x, 1, 16, s.input_spatial(), 16, 0, float16(0.f));
  kernel->Forward(1, last.data(), packed.data(), PostOps(), scratch.data(), {y.data(), strides});
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) {
      const float value = y[(row * 6 + column) * 16];
      if (row < 2 && column < 2) {
        EXPECT_EQ(value, -std::numeric_limits<float>::infinity());
      } else {
        const int edges = (row % 5 == 0) + (column % 5 == 0);
        EXPECT_EQ(value, 8 * (edges == 0 ? 9 : edges == 1 ? 6 : 4)) << row << ", " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ChannelsLastConvolutions, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace caffe::kernels
