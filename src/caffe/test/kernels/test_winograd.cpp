#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/winograd.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/winograd_images.hpp"

namespace caffe::kernels {
namespace {

/// The convolution by its definition in double, and F of the error bound.
struct Expected {
  std::vector<double> sum, bound;  // (num, outputs, output position)
};

Expected ConvolveInDouble(const WinogradShape& s, const Images& x, const std::vector<float>& w) {
  const int height = s.output_height(), width = s.output_width();
  Expected e;
  const int taps = s.kernel * s.kernel, channels = s.channels / s.groups;
  const int tiles_y = (height + s.tile - 1) / s.tile, tiles_x = (width + s.tile - 1) / s.tile;
  const std::vector<double> largest = LargestInputs(s, x);
  for (int n = 0; n < s.num; ++n) {
    for (int o = 0; o < s.outputs; ++o) {
      for (int y = 0; y < height; ++y) {
        for (int i = 0; i < width; ++i) {
          double sum = 0, bound = 0;
          for (int i_c = 0; i_c < channels; ++i_c) {
            const int c = o / (s.outputs / s.groups) * channels + i_c;
            double weights = 0;
            for (int k = 0; k < taps; ++k) {
              const double weight = w[(size_t(o) * channels + i_c) * taps + k];
              sum += weight *
                     InputAt(s, x, n, c, y - s.pad_h + k / s.kernel, i - s.pad_w + k % s.kernel);
              weights += std::fabs(weight);
            }
            const size_t plane = size_t(n) * s.channels + c;
            bound += weights * largest[(plane * tiles_y + y / s.tile) * tiles_x + i / s.tile];
          }
          e.sum.push_back(sum);
          e.bound.push_back(bound);
        }
      }
    }
  }
  return e;
}

/// A test's operands in addition to the images.
struct WinogradExtras {
  bool bias = false, residual = false;
  Activation activation;
  size_t max_scratch = kWinogradScratch;
  size_t gap = 0;  // behind each image of x, twice that in y, three times in the residual
};

/// Runs the kernel on packed values; what it wrote, in blocks.
template <typename X, typename W, typename Y>
std::vector<Y> Compute(const WinogradShape& s, const std::vector<X>& x, const std::vector<float>& w,
                       const PostOps& post, const WinogradExtras& extras, bool* finite) {
  std::vector<W> packed(WinogradPackedSize(s));
  WinogradPackWeights(s, w.data(), packed.data());
  const size_t image = RoundUp(s.outputs, s.block) * s.output_height() * s.output_width();
  std::vector<Y> y(s.num * (image + 2 * extras.gap), Y(777.f));
  ImageStrides strides;
  if (extras.gap > 0) strides = {x.size() / s.num, y.size() / s.num, image + 3 * extras.gap};
  const WinogradConvolution convolution(s, extras.max_scratch);
  const Memory scratch(convolution.scratch_bytes());
  *finite = convolution.Run(x.data(), packed.data(), post, {y.data(), strides}, scratch.get());
  EXPECT_TRUE(scratch.intact());
  std::vector<Y> images;
  for (size_t i = 0; i < y.size(); ++i) {
    if (i % (image + 2 * extras.gap) < image) {
      images.push_back(y[i]);
    } else {
      EXPECT_EQ(static_cast<float>(y[i]), static_cast<float>(Y(777.f)))
          << "between images at " << i;
    }
  }
  return images;
}

/// Checks one random case; the largest error before rounding, as a multiple of 2^-24 F.
template <typename X, typename W, typename Y>
double CheckWinograd(const WinogradShape& s, const WinogradExtras& extras, std::mt19937* random) {
  SCOPED_TRACE(Describe(s));
  const size_t spatial = size_t(s.output_height()) * s.output_width();
  const Images x = RandomImages<X>(s.num, s.channels, size_t(s.height) * s.width, 1, random);
  const Images w = RandomImages<W>(
      1, s.outputs, size_t(s.channels) / s.groups * s.kernel * s.kernel, 0.25, random);
  const Images bias = RandomImages<float>(1, s.outputs, 1, 1, random);
  const Images residual = RandomImages<Y>(s.num, s.outputs, spatial, 1, random);
  const Y nan(std::numeric_limits<float>::quiet_NaN());
  const std::vector<Y> residual_blocks =
      WithGaps(residual.InBlocks<Y>(s.block), s.num, 3 * extras.gap, nan);
  PostOps post;
  if (extras.bias) post.bias = bias.values.data();
  if (extras.residual) post.residual = residual_blocks.data();
  post.activation = extras.activation;
  bool finite = false;
  const std::vector<X> blocks = WithGaps(x.InBlocks<X>(s.block), s.num, extras.gap,
                                         X(std::numeric_limits<float>::quiet_NaN()));
  const std::vector<Y> y = Compute<X, W, Y>(s, blocks, w.values, post, extras, &finite);
  EXPECT_TRUE(finite);

  const Expected expected = ConvolveInDouble(s, x, w.values);
  const double bound = WinogradErrorBound(s.tile, s.kernel) * std::pow(2., -24);
  const double slope = std::max(1., std::fabs(double(extras.activation.a)));
  double largest = 0;
  for (size_t n = 0; n < s.num; ++n) {
    for (size_t o = 0; o < RoundUp(s.outputs, s.block); ++o) {
      for (size_t i = 0; i < spatial; ++i) {
        const double actual =
            static_cast<float>(y[BlockedIndex(s.outputs, s.block, spatial, n, o, i)]);
        if (o >= size_t(s.outputs)) {
          EXPECT_EQ(0, actual) << "behind the last channel";
          continue;
        }
        const size_t at = (n * s.outputs + o) * spatial + i;
        double right = expected.sum[at];
        if (extras.bias) right += bias.at(0, o, 0);
        if (extras.residual) right += residual.at(n, o, i);
        const double unit = std::is_same<Y, float>::value     ? std::pow(2., -22)
                            : std::is_same<Y, float16>::value ? std::pow(2., -11)
                                                              : std::pow(2., -8);
        right = ActivatedValue(extras.activation, right);
        const double rounding =
            unit * (std::fabs(right) + 3 * (extras.bias + extras.residual)) + 1e-7;
        const double error = std::fabs(actual - right);
        EXPECT_LE(error, slope * bound * expected.bound[at] + rounding)
            << "image " << n << " output " << o << " position " << i;
        if (::testing::Test::HasFailure()) return 0;
        largest = std::max(largest, error / expected.bound[at] * std::pow(2., 24));
      }
    }
  }
  return largest;
}

WinogradExtras RandomExtras(std::mt19937* random) {
  WinogradExtras extras;
  extras.bias = DrawInt(0, 1, random);
  extras.residual = DrawInt(0, 1, random);
  extras.max_scratch = DrawInt(0, 1, random) ? kWinogradScratch : 0;
  extras.gap = DrawInt(0, 1, random) * DrawInt(1, 50, random);
  switch (DrawInt(0, 3, random)) {
    case 0:
      extras.activation = {Activation::RELU, 0., 0.};
      break;
    case 1:
      extras.activation = {Activation::RELU, -0.5, 0.};
      break;
    case 2:
      extras.activation = {Activation::CLIP, 0.25, 2.};
      break;
    default:
      break;
  }
  return extras;
}

template <typename X, typename W, typename Y>
void CheckRandomWinograd() {
  std::mt19937 random(TestSeed());
  for (int i = 0; i < 24 && !::testing::Test::HasFailure(); ++i) {
    const TeamSize team(1 + i % 2);
    CheckWinograd<X, W, Y>(RandomShape(&random), RandomExtras(&random), &random);
  }
}

TEST(Winograd, IsTheConvolutionForAllStorageTypes) {
  SLOW_TEST();
  OnEveryInstructionSet([] {
    CheckRandomWinograd<float, float, float>();
    CheckRandomWinograd<float, float, float16>();
    CheckRandomWinograd<float, float16, float>();
    CheckRandomWinograd<float16, float, float>();
    CheckRandomWinograd<float16, float16, float>();
    CheckRandomWinograd<float16, float16, float16>();
    CheckRandomWinograd<bfloat16, bfloat16, bfloat16>();
    CheckRandomWinograd<bfloat16, float, float>();
    CheckRandomWinograd<float, bfloat16, float16>();
    CheckRandomWinograd<float16, float16, bfloat16>();
  });
}

// Several slices of channels, strips of tiles, and shares of an output panel.
TEST(Winograd, IsTheConvolutionInManyPieces) {
  std::mt19937 random(TestSeed());
  OnEveryInstructionSet([&] {
    for (const int threads_count : {2, 5}) {
      const TeamSize team(threads_count);
      for (const int kernel : {3, 5}) {
        WinogradExtras extras;
        extras.max_scratch = 0;
        WinogradShape s;
        s.num = 1;
        s.channels =
            kernel == 3 ? 264 : 464;  // slices of 66 and, with vectors of 16, of 58 channels
        s.outputs = 24;
        s.block = kernel == 3 ? 8 : 16;
        s.height = s.width = 10;
        s.kernel = kernel;
        s.pad_h = s.pad_w = 1;
        CheckWinograd<float, float, float>(s, extras, &random);
        extras.max_scratch = kWinogradScratch;
        CheckWinograd<float, float, float>(s, extras, &random);
        s.channels = 40;
        s.outputs = 16;
        s.height = 61;
        CheckWinograd<float, float, float>(s, extras, &random);
      }
    }
  });
}

TEST(Winograd, ErrorStaysBelowHalfOfItsBound) {
  SLOW_TEST();
  std::mt19937 random(TestSeed());
  OnEveryInstructionSet([&] {
    for (const auto& [tile, kernel] : kAlgorithms) {
      for (const int channels : {1, 8, 64, 512}) {
        WinogradShape s;
        s.num = 1;
        s.channels = channels;
        s.outputs = 16;
        s.height = s.width = 24;
        s.kernel = kernel;
        s.pad_h = s.pad_w = kernel / 2;
        s.tile = tile;
        const double k = CheckWinograd<float, float, float>(s, WinogradExtras(), &random);
        EXPECT_LE(k, WinogradErrorBound(tile, kernel) / 2) << channels << " channels, " << kernel;
      }
    }
  });
}

// x = 1 ... 36 row by row, w = 1 ... 9: the first output is 1*1 + 2*2 + 3*3 + 7*4 + 8*5 + 9*6 +
// 13*7 + 14*8 + 15*9 = 474, and each step to the right adds the sum of the weights, 45, each step
// down six times that. With kernels of 5, x = 1 ... 64, w = 1 ... 25: 1*1 + ... + 37*25 = 8225, 325
// and eight times that.
TEST(Winograd, OneTileByHand) {
  OnEveryInstructionSet([] {
    for (const auto& [tile, kernel] : kAlgorithms) {
      const int extent = kernel + 3, taps = kernel * kernel;
      WinogradShape s;
      s.num = s.channels = s.outputs = 1;
      s.height = s.width = extent;
      s.kernel = kernel;
      s.tile = tile;
      std::vector<float> x(extent * extent * 8), w(taps);
      for (int i = 0; i < extent * extent; ++i) x[i * 8] = float(i + 1);
      for (int i = 0; i < taps; ++i) w[i] = float(i + 1);
      bool finite = false;
      const std::vector<float> y =
          Compute<float, float, float>(s, x, w, PostOps(), WinogradExtras(), &finite);
      EXPECT_TRUE(finite);
      for (int i = 0; i < 16; ++i) {
        const int first = kernel == 3 ? 474 : 8225, right = kernel == 3 ? 45 : 325;
        EXPECT_NEAR(first + right * (i % 4 + extent * (i / 4)), y[i * 8], 2e-6 * first * taps) << i;
      }
    }
  });
}

TEST(Winograd, DoesTheEpilogueByHand) {
  OnEveryInstructionSet([] {
    WinogradShape s;
    s.num = s.channels = s.height = s.width = 1;
    s.outputs = 3;
    s.pad_h = s.pad_w = 1;
    std::vector<float> x = {2, 0, 0, 0, 0, 0, 0, 0}, w(27);
    w[4] = 1, w[9 + 4] = -2, w[18 + 4] = 3;  // sums 2, -4, 6
    const std::vector<float> bias = {10, 1, -20}, residual = {1, 1, 4, 0, 0, 0, 0, 0};
    PostOps post;
    post.bias = bias.data();
    post.residual = residual.data();
    const auto expect = [&](const std::vector<float>& values) {
      bool finite = false;
      const auto y = Compute<float, float, float>(s, x, w, post, WinogradExtras(), &finite);
      for (int o = 0; o < 8; ++o) EXPECT_NEAR(o < 3 ? values[o] : 0, y[o], 1e-5) << o;
    };
    expect({13, -2, -10});
    post.activation = {Activation::RELU, 0., 0.};
    expect({13, 0, 0});
    post.activation = {Activation::RELU, 0.5, 0.};
    expect({13, -1, -5});
    post.activation = {Activation::CLIP, 1., 6.};  // and zeros past the channels
    expect({6, 1, 1});
  });
}

TEST(Winograd, ResidualMayBeTheOutput) {
  WinogradShape s;
  s.num = s.channels = s.outputs = 1;
  s.height = s.width = 9;
  s.pad_h = s.pad_w = 1;
  std::vector<float> x(81 * 8), packed(WinogradPackedSize(s)), y(81 * 8);
  for (int i = 0; i < 81; ++i) x[i * 8] = 1, y[i * 8] = float(i);
  packed[4 * 8] = 3;
  const WinogradConvolution convolution(s);
  const Memory scratch(convolution.scratch_bytes());
  PostOps post;
  post.residual = y.data();
  EXPECT_TRUE(convolution.Run(x.data(), packed.data(), post, y.data(), scratch.get()));
  for (int i = 0; i < 81; ++i) EXPECT_NEAR(i + 3, y[i * 8], 1e-4) << i;
}

TEST(Winograd, SaysWhereSomethingIsNotFinite) {
  std::mt19937 random(TestSeed());
  const float infinity = std::numeric_limits<float>::infinity();
  const TeamSize team(1);
  OnEveryInstructionSet([&] {
    for (const auto& [tile, kernel] : kAlgorithms) {
      WinogradShape s;
      s.num = 2;
      s.channels = 9;
      s.outputs = 10;
      s.height = s.width = 11;
      s.kernel = kernel;
      s.pad_h = s.pad_w = kernel / 2;
      s.tile = tile;
      const size_t spatial = 121;
      const Images images = RandomImages<float>(s.num, s.channels, spatial, 1, &random);
      const Images weights =
          RandomImages<float>(1, s.outputs, s.channels * kernel * kernel, 1, &random);
      std::vector<float> x = images.InBlocks<float>(s.block), w = weights.values;
      const auto finite = [&] {
        bool result = false;
        Compute<float, float, float>(s, x, w, PostOps(), WinogradExtras(), &result);
        return result;
      };
      EXPECT_TRUE(finite());
      for (size_t position = 0; position < spatial; ++position) {
        const size_t at = BlockedIndex(s.channels, s.block, spatial, 1, 8, position);
        const float before = x[at];
        x[at] = position % 2 ? infinity : std::nanf("");
        EXPECT_FALSE(finite()) << "input at " << position;
        x[at] = before;
      }
      for (int k = 0; k < kernel * kernel; ++k) {
        const size_t at = (size_t(9) * s.channels + 8) * kernel * kernel + k;
        const float before = w[at];
        w[at] = k % 2 ? -infinity : std::nanf("");
        EXPECT_FALSE(finite()) << "weight " << k;
        w[at] = before;
      }
      x[0] = 3e38f, x[16] = -3e38f;  // finite, but not what is made of them
      EXPECT_FALSE(finite());
    }
  });
}

// Non-finite FP16 values come from rounding alone.
TEST(Winograd, OverflowOfAHalfIsAnInfinity) {
  WinogradShape s;
  s.num = s.channels = s.outputs = s.height = s.width = 1;
  s.pad_h = s.pad_w = 1;
  std::vector<float16> x(8, float16(0.f));
  x[0] = float16(60000.f);
  std::vector<float> w(9);
  w[4] = -2;
  bool finite = false;
  const auto y = Compute<float16, float16, float16>(s, x, w, PostOps(), WinogradExtras(), &finite);
  EXPECT_TRUE(finite);
  EXPECT_EQ(-std::numeric_limits<float>::infinity(), static_cast<float>(y[0]));
}

TEST(Winograd, BitsDependNeitherOnThreadsNorOnScratch) {
  std::mt19937 random(TestSeed());
  OnEveryInstructionSet([&] {
    WinogradShape s;
    s.num = 2;
    s.channels = 140;
    s.outputs = 36;
    s.height = 30;
    s.width = 21;
    s.pad_h = s.pad_w = 1;
    const auto x = RandomImages<float>(s.num, s.channels, 630, 1, &random).InBlocks<float>(8);
    const auto w = RandomImages<float>(1, s.outputs, s.channels * 9, 1, &random).values;
    std::vector<float> first;
    for (const int count : {1, 2, 7}) {
      for (const size_t max_scratch : {size_t(0), kWinogradScratch, size_t(1) << 26}) {
        const TeamSize team(count);
        WinogradExtras extras;
        extras.max_scratch = max_scratch;
        bool finite;
        const auto y = Compute<float, float, float>(s, x, w, PostOps(), extras, &finite);
        if (first.empty()) first = y;
        EXPECT_EQ(first, y) << count << " threads, " << max_scratch << " bytes";
      }
    }
  });
}

TEST(Winograd, ScratchIsWhatWasAllowed) {
  WinogradShape s;
  s.num = 8;
  s.channels = s.outputs = 512;
  s.height = s.width = 28;
  s.pad_h = s.pad_w = 1;
  for (const size_t most : {size_t(1) << 20, kWinogradScratch, size_t(4) << 20}) {
    const WinogradConvolution convolution(s, most);
    for (const int count : {1, 2, 16}) {
      const TeamSize team(count);
      EXPECT_LE(convolution.scratch_bytes(), count * most) << count << " threads";
      EXPECT_EQ(convolution.scratch_bytes(), WinogradConvolution(s, most).scratch_bytes())
          << "as planned for another number of threads";
    }
  }
}

TEST(Winograd, UnpacksWhatItPacked) {
  std::mt19937 random(TestSeed());
  for (const int kernel : {3, 5}) {
    const int taps = kernel * kernel;
    WinogradShape s;
    s.channels = 5;
    s.outputs = 19;
    s.kernel = kernel;
    const Images w = RandomImages<float16>(1, s.outputs, s.channels * taps, 1, &random);
    std::vector<float16> packed(WinogradPackedSize(s));
    EXPECT_EQ(24u * 5 * taps, packed.size());
    WinogradPackWeights(s, w.values.data(), packed.data());
    EXPECT_EQ(w.values[(17 * 5 + 3) * taps + 7],
              static_cast<float>(packed[((2 * 5 + 3) * taps + 7) * 8 + 1]));
    std::vector<float> back(w.values.size());
    WinogradUnpackWeights(s, packed.data(), back.data());
    EXPECT_EQ(w.values, back);
  }
}

TEST(Winograd, RefusesOtherConvolutions) {
  WinogradShape right;
  right.num = right.channels = right.outputs = 1;
  right.height = right.width = 8;
  EXPECT_NO_THROW(WinogradConvolution convolution(right));
  const auto expect_error = [&](int WinogradShape::*field, int value) {
    WinogradShape wrong = right;
    wrong.*field = value;
    EXPECT_THROW(WinogradConvolution convolution(wrong), Error) << value;
  };
  expect_error(&WinogradShape::block, 4);
  expect_error(&WinogradShape::tile, 6);
  expect_error(&WinogradShape::kernel, 4);
  expect_error(&WinogradShape::groups, 0);
  expect_error(&WinogradShape::groups, 2);
  expect_error(&WinogradShape::kernel, 7);
  expect_error(&WinogradShape::pad_h, 3);
  expect_error(&WinogradShape::pad_w, -1);
  expect_error(&WinogradShape::height, 2);
  expect_error(&WinogradShape::width, 0);
  expect_error(&WinogradShape::channels, 0);
  expect_error(&WinogradShape::outputs, 0);
}

TEST(Winograd, NothingToDoForNoImages) {
  WinogradShape s;
  s.num = 0;
  s.channels = s.outputs = 8;
  s.height = s.width = 8;
  const std::vector<float> packed(WinogradPackedSize(s));
  const WinogradConvolution convolution(s);
  for (const int count : {1, 2}) {
    const TeamSize team(count);
    const Memory scratch(convolution.scratch_bytes());
    EXPECT_TRUE(convolution.Run(static_cast<const float*>(nullptr), packed.data(), PostOps(),
                                static_cast<float*>(nullptr), scratch.get()));
  }
}

// As measured (docs/performance_notes.md).
TEST(Winograd, PaysForManyChannelsAndTiles) {
  const auto pays = [](int num, int channels, int outputs, int extent) {
    WinogradShape s;
    s.num = num;
    s.channels = channels;
    s.outputs = outputs;
    s.height = s.width = extent;
    s.pad_h = s.pad_w = 1;
    return WinogradPays(s);
  };
  EXPECT_TRUE(pays(1, 64, 64, 224));
  EXPECT_TRUE(pays(1, 512, 512, 7));
  EXPECT_TRUE(pays(8, 512, 16, 38));
  EXPECT_FALSE(pays(1, 3, 64, 224)) << "few channels";
  EXPECT_FALSE(pays(1, 8, 256, 7)) << "few channels";
  EXPECT_FALSE(pays(1, 256, 256, 5)) << "few tiles";
  EXPECT_FALSE(pays(1, 8, 8, 4)) << "little to do";
}

}  // namespace
}  // namespace caffe::kernels
