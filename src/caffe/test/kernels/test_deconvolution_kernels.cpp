// Deconvolutions of each channel by itself, on every instruction set and in every type, against the
// definition in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/depthwise_deconvolution.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

using DeconvolutionShape = DepthwiseDeconvolutionShape;

/// How far a number of type T may be from what it stands for, as a share of it, and at least.
template <typename T>
constexpr double kStep = 1e-5;
template <>
constexpr double kStep<float16> = 1. / 2048;
template <>
constexpr double kStep<bfloat16> = 1. / 256;
template <typename T>
constexpr bool kIsByte = sizeof(T) == 1;

class DepthwiseDeconvolutions : public OnInstructionSet, protected SeededNumbers {
 protected:
  /// One that has outputs.
  DeconvolutionShape RandomShape() {
    DeconvolutionShape s;
    s.num = Number(0, 2);
    s.channels = Number(1, 20);
    for (int i = 0; i < 2; ++i) {
      int input = 0, output = 0;
      while (output < 1) {
        input = Number(1, Number(0, 3) ? 9 : 60);
        s.kernel[i] = Number(1, 6);
        s.stride[i] = Number(1, 8);
        s.dilation[i] = Number(1, 5);
        s.pad[i] = Number(0, s.kernel[i] + 3);
        output = (input - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 - 2 * s.pad[i];
      }
      (i == 0 ? s.height : s.width) = input;
      (i == 0 ? s.out_height : s.out_width) = output;
    }
    return s;
  }

  template <typename X>
  std::vector<X> RandomInput(size_t n) {
    std::vector<X> x(n);
    for (X& value : x) {
      value = kIsByte<X> ? X(Number(X(-1) < X(0) ? -127 : 0, X(-1) < X(0) ? 127 : 255))
                         : static_cast<X>(Real(-1, 1));
    }
    return x;
  }

  /// By the definition: every pixel of x adds its taps. All in Caffe's order; weights (channels,
  /// kernel[0], kernel[1]).
  template <typename X>
  static std::vector<double> Defined(const DeconvolutionShape& s, double scale,
                                     const std::vector<X>& x, const std::vector<float>& weights,
                                     const std::vector<float>& bias) {
    std::vector<double> y(size_t(s.num) * s.channels * s.out_height * s.out_width);
    for (int plane = 0; plane < s.num * s.channels; ++plane) {
      double* const out = y.data() + size_t(plane) * s.out_height * s.out_width;
      const int c = plane % s.channels;
      std::fill_n(out, size_t(s.out_height) * s.out_width, bias[c]);
      for (int h = 0; h < s.height; ++h) {
        for (int w = 0; w < s.width; ++w) {
          const double value =
              scale * static_cast<float>(x[(size_t(plane) * s.height + h) * s.width + w]);
          for (int k = 0; k < s.kernel[0] * s.kernel[1]; ++k) {
            const int i = h * s.stride[0] - s.pad[0] + k / s.kernel[1] * s.dilation[0];
            const int j = w * s.stride[1] - s.pad[1] + k % s.kernel[1] * s.dilation[1];
            if (i < 0 || j < 0 || i >= s.out_height || j >= s.out_width) continue;
            out[i * s.out_width + j] += value * weights[c * s.kernel[0] * s.kernel[1] + k];
          }
        }
      }
    }
    return y;
  }

  template <typename X, typename Y>
  void Check(const DeconvolutionShape& s) {
    const int block = BlockChannels();
    const size_t taps = size_t(s.kernel[0]) * s.kernel[1];
    const size_t in = size_t(s.height) * s.width, out = size_t(s.out_height) * s.out_width;
    std::vector<float> weights(s.channels * taps), bias(s.channels);
    for (float& w : weights) w = Real(-1, 1);
    for (float& b : bias) b = Real(-1, 1);
    const std::vector<X> x = RandomInput<X>(s.num * s.channels * in);
    const float scale = kIsByte<X> ? Real(0.01f, 0.05f) : 1;

    PostOps post;
    const std::vector<float> blocked_bias = ToBlocks(bias, 1, s.channels, 1, block);
    post.bias = blocked_bias.data();
    const float factor = Real(5, 50);
    if (kIsByte<Y>) post.factor = factor;
    enum { NONE, RELU, CLIP, SIGMOID, PRELU };
    const int activation = Number(NONE, PRELU);
    if (activation == RELU) post.activation.kind = Activation::RELU;
    if (activation == CLIP) {
      post.activation = {Activation::CLIP, -0.25, 0.75};
    }
    std::vector<float> slopes(s.channels);
    for (float& slope : slopes) slope = Real(0, 1);
    const std::vector<float> blocked_slopes = ToBlocks(slopes, 1, s.channels, 1, block);
    if (activation == SIGMOID) post.activation.kind = Activation::SIGMOID;
    if (activation == PRELU) {
      post.activation.kind = Activation::PRELU;
      post.activation.slopes = blocked_slopes.data();
    }
    const auto blocked_x = ToBlocks(x, s.num, s.channels, in, block);
    std::vector<float> packed(DepthwiseDeconvolution::packed_size(s));
    DepthwiseDeconvolution::PackWeights(s, weights.data(), packed.data());
    const size_t blocks = CeilDiv(s.channels, block);
    std::vector<Y> y(s.num * blocks * out * block, static_cast<Y>(99.f));
    const DepthwiseDeconvolution kernel(s, sizeof(Y) == 2);
    std::vector<char> scratch(kernel.scratch_bytes());
    kernel.Run(scale, blocked_x.data(), packed.data(), post, y.data(), scratch.data());

    std::vector<double> expected = Defined(s, scale, x, weights, bias);
    const double least = std::is_same<Y, uint8_t>::value ? 0 : -127;
    const double most = std::is_same<Y, uint8_t>::value ? 255 : 127;
    for (size_t i = 0; i < expected.size(); ++i) {
      double& value = expected[i];
      if (activation == RELU) value = std::max(0., value);
      if (activation == CLIP) value = std::clamp(value, -0.25, 0.75);
      if (activation == SIGMOID) value = 1 / (1 + std::exp(-value));
      if (activation == PRELU && value < 0) value *= slopes[i / out % s.channels];
      if (kIsByte<Y>) value = std::clamp(value * factor, least, most);
    }
    const auto exact = ToBlocks(expected, s.num, s.channels, out, block);
    for (size_t i = 0; i < exact.size(); ++i) {
      const bool padding =
          int(i / (out * block) % blocks * block + i % block) >= s.channels;  // zeros
      const double bound = padding      ? 0
                           : kIsByte<Y> ? 0.505
                                        : kStep<Y> * (0.1 + std::abs(exact[i])) + 1e-4;
      ASSERT_NEAR(static_cast<float>(y[i]), exact[i], bound)
          << "element " << i << " of " << s.num << "x" << s.channels << "x" << s.height << "x"
          << s.width << ", kernel " << s.kernel[0] << "x" << s.kernel[1] << ", stride "
          << s.stride[0] << "x" << s.stride[1] << ", pad " << s.pad[0] << "x" << s.pad[1];
    }
  }

  /// With integers alone: to the bit. W: int8_t, or uint8_t with a zero point.
  template <typename X, typename W, typename Y>
  void CheckIntegers(const DeconvolutionShape& s, Rounding rounding) {
    const auto some_byte = [&](auto tag) {
      using Byte = decltype(tag);
      return Number(std::numeric_limits<Byte>::min(), std::numeric_limits<Byte>::max());
    };
    ConvolutionShape shape;
    shape.channels = shape.outputs = shape.group = s.channels;
    shape.input = {s.height, s.width};
    shape.output = {s.out_height, s.out_width};
    shape.kernel.assign(s.kernel, s.kernel + 2);
    shape.stride.assign(s.stride, s.stride + 2);
    shape.pad.assign(s.pad, s.pad + 2);
    shape.dilation.assign(s.dilation, s.dilation + 2);
    const size_t in = shape.input_spatial(), out = shape.output_spatial();
    const size_t taps = shape.kernel_size();
    std::vector<X> x(s.num * s.channels * in);
    for (X& value : x) value = static_cast<X>(some_byte(X()));
    std::vector<W> weights(s.channels * taps);
    for (W& w : weights) w = static_cast<W>(some_byte(W()));
    const int weight_zero_point = std::is_signed<W>::value ? 0 : some_byte(W());

    Rescaling by;
    by.rounding = rounding;
    by.input_zero_point = some_byte(X());
    by.zero_point = some_byte(Y());
    by.least = std::numeric_limits<Y>::min();
    by.most = Number(0, 1) ? std::numeric_limits<Y>::max() : std::max(by.least, by.zero_point);
    std::vector<int32_t> bias, folded, multipliers, shifts, negative, negative_shifts;
    for (int c = 0; c < s.channels; ++c) {
      bias.push_back(Number(-20000, 20000));
      folded.push_back(FoldZeroPoint(taps, weights.data() + c * taps, weight_zero_point,
                                     by.input_zero_point, bias[c]));
      multipliers.push_back(Number(1 << 30, std::numeric_limits<int32_t>::max()));
      shifts.push_back(Number(-10, -6));
      negative.push_back(-Number(1 << 30, std::numeric_limits<int32_t>::max()));
      negative_shifts.push_back(Number(-12, -6));
    }
    by.multipliers = multipliers.data();
    by.shifts = shifts.data();
    if (Number(0, 2) == 0) {
      by.negative_multipliers = negative.data();
      by.negative_shifts = negative_shifts.data();
    }
    std::vector<Y> expected(s.num * s.channels * out);
    by.bias = folded.data();
    IntegerDeconvolution(shape, s.num, x.data(), weights.data(), weight_zero_point, by,
                         expected.data());

    const size_t block = BlockChannels();
    std::vector<float> whole, packed(DepthwiseDeconvolution::packed_size(s));
    for (const W w : weights) whole.push_back(static_cast<float>(w - weight_zero_point));
    DepthwiseDeconvolution::PackWeights(s, whole.data(), packed.data());
    by.bias = bias.data();
    const auto blocked_x = ToBlocks(x, s.num, s.channels, in, block);
    const auto blocked = ToBlocks(expected, s.num, s.channels, out, block);
    for (const int threads : {1, 3}) {
      const TeamSize team(threads);
      const DepthwiseDeconvolution kernel(s, false);
      std::vector<Y> y(blocked.size(), Y(99));
      std::vector<char> scratch(kernel.scratch_bytes());
      const auto rows = kernel.Prepare(by, kElementType<Y>);
      kernel.Run(blocked_x.data(), packed.data(), by.input_zero_point, *rows, y.data(),
                 scratch.data());
      ASSERT_EQ(y, blocked) << s.channels << "x" << s.height << "x" << s.width << ", kernel "
                            << s.kernel[0] << "x" << s.kernel[1] << ", stride " << s.stride[0]
                            << "x" << s.stride[1] << ", pad " << s.pad[0] << "x" << s.pad[1];
    }
  }
};

TEST_P(DepthwiseDeconvolutions, AreTheDefinition) {
  SCOPED_TRACE(seed_);
  for (int run = 0; run < 40 && !HasFailure(); ++run) {
    const DeconvolutionShape s = RandomShape();
    Check<float, float>(s);
    Check<float, float16>(s);
    Check<float16, float>(s);
    Check<float16, float16>(s);
    Check<float16, bfloat16>(s);
    Check<bfloat16, float16>(s);
    Check<bfloat16, bfloat16>(s);
    Check<bfloat16, float>(s);
    Check<float, bfloat16>(s);
    Check<int8_t, float>(s);
    Check<int8_t, int8_t>(s);
    Check<int8_t, uint8_t>(s);
    Check<uint8_t, float>(s);
    Check<uint8_t, int8_t>(s);
    Check<uint8_t, uint8_t>(s);
  }
}

TEST_P(DepthwiseDeconvolutions, OfLargePlanesComeInBands) {
  SCOPED_TRACE(seed_);
  DeconvolutionShape s;
  s.num = 1;
  s.channels = 17;
  s.height = 70;
  s.width = 90;
  s.kernel[0] = s.kernel[1] = 4;
  s.stride[0] = s.stride[1] = 2;
  s.pad[0] = s.pad[1] = 1;
  s.out_height = 140;
  s.out_width = 180;
  Check<float, float>(s);
  Check<float16, float16>(s);
  Check<uint8_t, uint8_t>(s);
}

TEST_P(DepthwiseDeconvolutions, OfIntegersAreTheDefinitionToTheBit) {
  SCOPED_TRACE(seed_);
  for (int run = 0; run < 30 && !HasFailure(); ++run) {
    const DeconvolutionShape s = RandomShape();
    CheckIntegers<uint8_t, int8_t, uint8_t>(s, Rounding::DOUBLE);
    CheckIntegers<int8_t, int8_t, int8_t>(s, Rounding::SINGLE);
    CheckIntegers<int8_t, uint8_t, uint8_t>(s, Rounding::DOUBLE);
    CheckIntegers<uint8_t, uint8_t, int8_t>(s, Rounding::SINGLE);
  }
}

TEST_P(DepthwiseDeconvolutions, OfAHugeStrideTakeNoMoreMemory) {
  DeconvolutionShape s = {1, 3, 1, 1, 2, 2};
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = 2;
    s.stride[i] = s.dilation[i] = std::numeric_limits<int>::max();
  }
  EXPECT_LT(DepthwiseDeconvolution(s, true).scratch_bytes(), size_t(4) << 20);
}

TEST_P(DepthwiseDeconvolutions, OfANanAByteIsZero) {
  DeconvolutionShape s = {1, 1, 1, 1, 1, 1};
  const DepthwiseDeconvolution kernel(s, false);
  std::vector<float> weights(16), bias(16);
  weights[0] = std::numeric_limits<float>::infinity();
  std::vector<uint8_t> x(16);
  std::vector<int8_t> y(16, 99);
  std::vector<char> scratch(kernel.scratch_bytes());
  PostOps post;
  post.bias = bias.data();
  kernel.Run(1, x.data(), weights.data(), post, y.data(), scratch.data());
  EXPECT_EQ(y[0], 0);
}

INSTANTIATE_ON_EVERY_SET(DepthwiseDeconvolutions);

}  // namespace
}  // namespace caffe::kernels
