// Statistics and linear functions of channels in blocks: what they are of doubles in Caffe's order,
// on every instruction set; zeros stay in the padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "caffe/kernels/blocked_channels.hpp"
#include "caffe/kernels/channels.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::kernels {
namespace {

using Doubles = std::vector<double>;

/// An array in Caffe's order and in blocks.
template <typename T>
struct Array {
  Doubles plain;
  std::vector<T> blocks;
};

class BlockedChannelKernels : public OnInstructionSet {
 protected:
  template <typename T>
  Array<T> Normal(const BlockedChannels& s, float mean = 0) {
    std::normal_distribution<float> normal(mean);
    std::vector<T> plain(s.outer * s.channels * s.inner);
    for (T& value : plain) value = static_cast<T>(normal(random_));
    return {Doubles(plain.begin(), plain.end()),
            ToBlocks(plain, s.outer, s.channels, s.inner, s.block)};
  }
  std::vector<float> Factors(const BlockedChannels& s) {
    std::normal_distribution<float> normal;
    std::vector<float> values(s.channels);
    for (float& value : values) value = normal(random_);
    return values;
  }
  /// Calls f(shape) for whole blocks or not, few or many images and positions, none.
  template <typename Function>
  void ForEachShape(Function&& f) {
    const auto number = [&](int most) {
      return size_t(std::uniform_int_distribution<int>(1, most)(random_));
    };
    for (const size_t block : {8, 16}) {
      for (const BlockedChannels& s :
           {BlockedChannels{1, 1, 1, block}, BlockedChannels{3, 16, 1, block},
            BlockedChannels{2, 20, 49, block}, BlockedChannels{0, 16, 4, block},
            BlockedChannels{2, 5, 0, block}, BlockedChannels{70, 9, 30, block},
            BlockedChannels{1, 3, 5000, block}, BlockedChannels{5, 64, 61, block},
            BlockedChannels{number(9), number(70), number(90), block}}) {
        SCOPED_TRACE(Join(s.outer, " x ", s.channels, " x ", s.inner, " in blocks of ", block));
        f(s);
      }
    }
  }

  const unsigned seed_ = TestSeed();
  std::mt19937 random_{seed_};
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, Join("CAFFE_TEST_SEED=", seed_)};
};

void ExpectNearInBlocks(const Doubles& expected, const Doubles& actual, double bound) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], actual[i], bound * std::max(1., std::fabs(expected[i]))) << i;
  }
}

/// f(c, element) for each element of an array in Caffe's order.
template <typename Function>
void ForEachElement(const BlockedChannels& s, Function&& f) {
  for (size_t i = 0; i < s.outer * s.channels * s.inner; ++i) f(i / s.inner % s.channels, i);
}

/// Numbers in blocks are near those in Caffe's order, and zeros in the padding.
template <typename T>
void ExpectNearInBlocks(const BlockedChannels& s, const Doubles& plain,
                        const std::vector<T>& blocks) {
  const Doubles expected = ToBlocks(plain, s.outer, s.channels, s.inner, s.block);
  ExpectNearInBlocks(expected, Doubles(blocks.begin(), blocks.end()), sizeof(T) == 2 ? 1e-3 : 1e-5);
}

template <typename T>
void ExpectMomentsInBlocks(const BlockedChannels& s, const Array<T>& x) {
  const double count = double(s.outer * s.inner);
  Doubles mean(s.channels), variance(s.channels), means(s.channels, -1), variances(s.channels, -1);
  ForEachElement(s, [&](size_t c, size_t i) { mean[c] += x.plain[i] / count; });
  ForEachElement(s, [&](size_t c, size_t i) {
    variance[c] += (x.plain[i] - mean[c]) * (x.plain[i] - mean[c]) / count;
  });
  BlockedMoments(s, x.blocks.data(), means.data(), variances.data());
  ExpectNearInBlocks(mean, means, 1e-6);
  ExpectNearInBlocks(variance, variances, 1e-5);
}

TEST_P(BlockedChannelKernels, MomentsDoNotCancel) {
  ForEachShape([&](const BlockedChannels& s) {
    for (const float mean : {0.f, 1000.f}) {
      ExpectMomentsInBlocks(s, Normal<float>(s, mean));
      ExpectMomentsInBlocks(s, Normal<float16>(s, mean));
    }
  });
}

template <typename X, typename Z>
void ExpectSumsInBlocks(const BlockedChannels& s, const Array<X>& x, const Array<Z>& z) {
  Doubles sum(s.channels), dot(s.channels), sums(s.channels, -1), dots(s.channels, -1);
  ForEachElement(s, [&](size_t c, size_t i) {
    sum[c] += x.plain[i];
    dot[c] += x.plain[i] * z.plain[i];
  });
  BlockedSums(s, x.blocks.data(), z.blocks.data(), sums.data(), dots.data());
  ExpectNearInBlocks(sum, sums, 1e-4);
  ExpectNearInBlocks(dot, dots, 1e-4);
  Doubles alone(s.channels, -1), product(s.channels, -1);
  BlockedSums<X, Z>(s, x.blocks.data(), nullptr, alone.data(), nullptr);
  EXPECT_EQ(alone, sums);
  BlockedSums(s, x.blocks.data(), z.blocks.data(), nullptr, product.data());
  EXPECT_EQ(product, dots);
}

TEST_P(BlockedChannelKernels, Sum) {
  ForEachShape([&](const BlockedChannels& s) {
    ExpectSumsInBlocks(s, Normal<float>(s), Normal<float>(s));
    ExpectSumsInBlocks(s, Normal<float>(s), Normal<float16>(s));
    ExpectSumsInBlocks(s, Normal<float16>(s), Normal<float>(s));
    ExpectSumsInBlocks(s, Normal<float16>(s), Normal<float16>(s));
  });
}

TEST_P(BlockedChannelKernels, SumsHaveTheSameBitsForAnyNumberOfThreads) {
  const BlockedChannels s = {6, 20, 900, 16};
  const Array<float16> x = Normal<float16>(s), z = Normal<float16>(s);
  const auto sums = [&](int threads) {
    const TeamSize team(threads);
    Doubles all(4 * s.channels);
    BlockedMoments(s, x.blocks.data(), all.data(), all.data() + s.channels);
    BlockedSums(s, x.blocks.data(), z.blocks.data(), all.data() + 2 * s.channels,
                all.data() + 3 * s.channels);
    return all;
  };
  const Doubles alone = sums(1);
  EXPECT_EQ(alone, sums(2));
  EXPECT_EQ(alone, sums(5));
}

template <typename X, typename Z>
void ExpectCombinedInBlocks(const BlockedChannels& s, const Array<X>& x, const Array<Z>& z,
                            const std::vector<float>& a, const std::vector<float>& b,
                            const std::vector<float>& d) {
  Doubles scaled(x.plain.size()), affine(scaled), combined(scaled);
  ForEachElement(s, [&](size_t c, size_t i) {
    scaled[i] = double(a[c]) * x.plain[i];
    affine[i] = scaled[i] + d[c];
    combined[i] = affine[i] + double(b[c]) * z.plain[i];
  });
  std::vector<X> y(x.blocks.size()), also(x.blocks);
  BlockedAffine(s, a.data(), nullptr, x.blocks.data(), y.data());
  ExpectNearInBlocks(s, scaled, y);
  BlockedAffineTwice(s, b.data(), d.data(), a.data(), d.data(), also.data(), y.data(), also.data());
  ExpectNearInBlocks(s, affine, also);
  BlockedAffineTwice(s, a.data(), d.data(), b.data(), b.data(), x.blocks.data(), y.data(),
                     also.data());
  ExpectNearInBlocks(s, affine, y);
  std::vector<X> in_place(x.blocks);
  BlockedAffine(s, a.data(), d.data(), in_place.data(), in_place.data());
  ExpectNearInBlocks(s, affine, in_place);
  in_place = x.blocks;
  BlockedCombine(s, a.data(), in_place.data(), b.data(), z.blocks.data(), d.data(),
                 in_place.data());
  ExpectNearInBlocks(s, combined, in_place);
}

TEST_P(BlockedChannelKernels, Combine) {
  ForEachShape([&](const BlockedChannels& s) {
    const std::vector<float> a = Factors(s), b = Factors(s), d = Factors(s);
    ExpectCombinedInBlocks(s, Normal<float>(s), Normal<float>(s), a, b, d);
    ExpectCombinedInBlocks(s, Normal<float>(s), Normal<float16>(s), a, b, d);
    ExpectCombinedInBlocks(s, Normal<float16>(s), Normal<float>(s), a, b, d);
    ExpectCombinedInBlocks(s, Normal<float16>(s), Normal<float16>(s), a, b, d);
  });
}

// Blocks of as many channels as there are lie as channels last do.
TEST(ChannelOrder, OneWholeBlockIsChannelsLast) {
  EXPECT_TRUE((ChannelOrder{2, 16, 5, 16}.last()));
  EXPECT_FALSE((ChannelOrder{2, 16, 5, 16}.blocked()));
  EXPECT_TRUE((ChannelOrder{2, 10, 5, 16}.blocked()));
  EXPECT_FALSE((ChannelOrder{2, 1, 5, 1}.last() || ChannelOrder{2, 1, 5, 1}.blocked()));
}

INSTANTIATE_ON_EVERY_SET(BlockedChannelKernels);

}  // namespace
}  // namespace caffe::kernels
