#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/winograd.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#include "caffe/test/support/winograd_images.hpp"

namespace caffe::kernels {
namespace {

/// The gradients by their definition in double, and F of the error bounds.
struct ExpectedGradients {
  std::vector<double> weights, bias;  // (outputs, channels of a group, kernel^2); (outputs)
  std::vector<double> weights_bound, bias_bound;  // (outputs, channels of a group); (outputs)
};

ExpectedGradients GradientsInDouble(const WinogradShape& s, const Images& x, const Images& dy) {
  const int height = s.output_height(), width = s.output_width(), taps = s.kernel * s.kernel;
  const int tiles_y = (height + s.tile - 1) / s.tile, tiles_x = (width + s.tile - 1) / s.tile;
  const std::vector<double> largest = LargestInputs(s, x);
  ExpectedGradients e;
  for (int o = 0; o < s.outputs; ++o) {
    double bias = 0, bias_bound = 0;
    for (int n = 0; n < s.num; ++n) {
      for (int i = 0; i < height * width; ++i) {
        bias += dy.at(n, o, i);
        bias_bound += std::fabs(dy.at(n, o, i));
      }
    }
    e.bias.push_back(bias);
    e.bias_bound.push_back(bias_bound);
    const int channels = s.channels / s.groups, first = o / (s.outputs / s.groups) * channels;
    for (int c = first; c < first + channels; ++c) {
      std::vector<double> sums(taps);
      double bound = 0;
      for (int n = 0; n < s.num; ++n) {
        const double* of_tiles = &largest[(size_t(n) * s.channels + c) * tiles_y * tiles_x];
        for (int y = 0; y < height; ++y) {
          for (int i = 0; i < width; ++i) {
            const double gradient = dy.at(n, o, size_t(y) * width + i);
            bound += std::fabs(gradient) * of_tiles[y / s.tile * tiles_x + i / s.tile];
            for (int k = 0; k < taps; ++k) {
              sums[k] += gradient * InputAt(s, x, n, c, y - s.pad_h + k / s.kernel,
                                            i - s.pad_w + k % s.kernel);
            }
          }
        }
      }
      e.weights.insert(e.weights.end(), sums.begin(), sums.end());
      e.weights_bound.push_back(bound);
    }
  }
  return e;
}

/// Checks one random case: the gradients are added to what is there.
template <typename X, typename D>
void CheckGradients(const WinogradShape& s, bool has_bias, std::mt19937* random) {
  SCOPED_TRACE(Describe(s));
  const size_t spatial = size_t(s.output_height()) * s.output_width();
  const Images x = RandomImages<X>(s.num, s.channels, size_t(s.height) * s.width, 1, random);
  const Images dy = RandomImages<D>(s.num, s.outputs, spatial, 0.5, random);
  const int taps = s.kernel * s.kernel;
  std::vector<float> d_weights(size_t(s.outputs) * (s.channels / s.groups) * taps),
      d_bias(s.outputs, -2.f);
  for (size_t i = 0; i < d_weights.size(); ++i) d_weights[i] = static_cast<float>(i % 3);
  const WinogradWeightsGradient gradient(s);
  const Memory scratch(gradient.scratch_bytes());
  const std::vector<X> x_blocks = x.InBlocks<X>(s.block);
  const std::vector<D> dy_blocks = dy.InBlocks<D>(s.block);
  gradient.Run(x_blocks.data(), dy_blocks.data(), d_weights.data(),
               has_bias ? d_bias.data() : nullptr, scratch.get());
  EXPECT_TRUE(scratch.intact());

  const ExpectedGradients expected = GradientsInDouble(s, x, dy);
  const double unit = std::pow(2., -24), bound = WinogradErrorBound(s.tile, s.kernel) * unit;
  for (size_t i = 0; i < d_weights.size(); ++i) {
    ASSERT_NEAR(d_weights[i], expected.weights[i] + i % 3,
                bound * expected.weights_bound[i / taps] / 2 + 2 * unit * std::fabs(d_weights[i]))
        << "output and channel " << i / taps << " position " << i % taps;
  }
  for (int o = 0; o < s.outputs; ++o) {
    if (has_bias) {
      ASSERT_NEAR(d_bias[o], expected.bias[o] - 2, 16 * unit * expected.bias_bound[o] + 4 * unit);
    } else {
      ASSERT_EQ(-2.f, d_bias[o]);
    }
  }
}

template <typename X, typename D>
void CheckRandomGradients() {
  std::mt19937 random(TestSeed());
  for (int i = 0; i < 24 && !::testing::Test::HasFailure(); ++i) {
    const TeamSize team(1 + i % 3);
    CheckGradients<X, D>(RandomShape(&random), /*has_bias=*/i % 4 != 0, &random);
  }
}

TEST(WinogradGradient, IsTheGradientForAllStorageTypes) {
  OnEveryInstructionSet([] {
    CheckRandomGradients<float, float>();
    CheckRandomGradients<float16, float16>();
    CheckRandomGradients<float16, float>();
    CheckRandomGradients<float, float16>();
    CheckRandomGradients<bfloat16, bfloat16>();
  });
}

// Sums that all threads share, in one strip and in several; parts of several strips.
TEST(WinogradGradient, IsTheGradientInManyPieces) {
  std::mt19937 random(TestSeed());
  OnEveryInstructionSet([&] {
    for (const int threads_count : {2, 5}) {
      const TeamSize team(threads_count);
      WinogradShape s;
      s.num = 2;
      s.block = threads_count == 2 ? 16 : 8;
      s.pad_h = s.pad_w = 1;
      s.channels = 104;
      s.outputs = 89;
      s.height = s.width = 8;
      CheckGradients<float, float>(s, true, &random);
      s.height = 54;
      s.width = 31;
      CheckGradients<float, float>(s, true, &random);
      s.channels = 32;
      s.outputs = 64;
      s.groups = 2;
      s.width = 54;
      CheckGradients<float, float>(s, true, &random);
      s.groups = 1;
      s.channels = 20;
      s.outputs = 18;
      s.kernel = 5;
      for (const int tile : {2, 4}) {
        s.tile = tile;
        CheckGradients<float, float>(s, true, &random);
      }
    }
  });
}

// As many tiles as one thread transforms at a time, if it has them all.
TEST(WinogradGradient, IsTheGradientInOnePiece) {
  std::mt19937 random(TestSeed());
  OnEveryInstructionSet([&] {
    const TeamSize team(1);
    WinogradShape s;
    s.num = 1;
    s.channels = s.outputs = 16;
    s.height = 6;
    for (const int tiles : {226, 227, 228}) {
      s.width = 4 * tiles + 2;
      CheckGradients<float, float>(s, true, &random);
    }
  });
}

TEST(WinogradGradient, HasTheSameBitsEachTime) {
  std::mt19937 random(TestSeed());
  WinogradShape s;
  s.num = 3;
  s.channels = 24;
  s.outputs = 36;
  s.height = s.width = 30;
  s.pad_h = s.pad_w = 1;
  const auto x = RandomImages<float>(3, 24, 900, 1, &random).InBlocks<float>(8);
  const auto dy = RandomImages<float>(3, 36, 900, 1, &random).InBlocks<float>(8);
  const TeamSize team(3);
  const WinogradWeightsGradient gradient(s);
  std::vector<float> first;
  for (int i = 0; i < 5; ++i) {
    const Memory scratch(gradient.scratch_bytes());
    std::vector<float> d_weights(36 * 24 * 9);
    gradient.Run(x.data(), dy.data(), d_weights.data(), nullptr, scratch.get());
    if (i == 0) first = d_weights;
    EXPECT_EQ(first, d_weights);
  }
}

// Sums of 36 points for each pair of a channel and an output.
TEST(WinogradGradient, PaysWithinItsScratchMemory) {
  const auto pays = [](int channels, int outputs, int extent) {
    WinogradShape s;
    s.num = 1;
    s.channels = channels;
    s.outputs = outputs;
    s.height = s.width = extent;
    s.pad_h = s.pad_w = 1;
    return WinogradGradientPays(s);
  };
  EXPECT_TRUE(pays(64, 64, 56));
  EXPECT_TRUE(pays(512, 512, 60));
  EXPECT_FALSE(pays(4096, 512, 60)) << "302 MB of sums";
  EXPECT_FALSE(pays(8, 8, 4)) << "little to do";
}

// Inputs of 1 ... 36 row by row and gradients of 1: a kernel's first position meets the inputs of
// the outputs, whose sum is 16 * 11.5 = 184; a step to the right adds 16, a step down 96.
TEST(WinogradGradient, OneTileByHand) {
  OnEveryInstructionSet([] {
    WinogradShape s;
    s.num = s.channels = s.outputs = 1;
    s.height = s.width = 6;
    Images x{1, 1, 36, {}}, dy{1, 1, 16, std::vector<float>(16, 1.f)};
    for (int i = 1; i <= 36; ++i) x.values.push_back(i);
    const WinogradWeightsGradient gradient(s);
    const Memory scratch(gradient.scratch_bytes());
    std::vector<float> d_weights(9), d_bias(1);
    gradient.Run(x.InBlocks<float>(8).data(), dy.InBlocks<float>(8).data(), d_weights.data(),
                 d_bias.data(), scratch.get());
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(184 + k / 3 * 96 + k % 3 * 16, d_weights[k], 1e-3);
    EXPECT_EQ(16, d_bias[0]);
  });
}

TEST(WinogradGradient, IsZeroForNoImages) {
  WinogradShape s;
  s.num = 0;
  s.channels = s.outputs = s.height = s.width = 8;
  const WinogradWeightsGradient gradient(s);
  const Memory scratch(gradient.scratch_bytes());
  float d_weights = 3, d_bias = 4;
  gradient.Run(static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), &d_weights,
               &d_bias, scratch.get());
  EXPECT_EQ(3, d_weights);
  EXPECT_EQ(4, d_bias);
}

}  // namespace
}  // namespace caffe::kernels
