// Pooling of 16 and 8 bits in blocks of channels against the definition, on every instruction set
// that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

using SetAndBlock = std::tuple<InstructionSet, int>;

class BlockedPooling : public ::testing::TestWithParam<SetAndBlock> {
 protected:
  void SetUp() override { SetCpuInstructionSet(std::get<0>(GetParam())); }
  void TearDown() override { SetCpuInstructionSet(before_); }
  int block() const { return std::get<1>(GetParam()); }

 private:
  const InstructionSet before_ = CpuInstructionSet();
};

PoolingShape Windows(int planes, int height, int width, int kernel, int stride, int pad,
                     int pooled_height, int pooled_width) {
  PoolingShape s;
  s.planes = planes;
  s.height = height;
  s.width = width;
  s.kernel_h = s.kernel_w = kernel;
  s.stride_h = s.stride_w = stride;
  s.pad_h = s.pad_w = pad;
  s.pooled_height = pooled_height;
  s.pooled_width = pooled_width;
  return s;
}

/// (planes, spatial, block) to (planes, block, spatial).
template <typename T>
std::vector<T> Plain(const std::vector<T>& blocked, size_t planes, size_t block) {
  const size_t spatial = blocked.size() / planes / block;
  std::vector<T> result(blocked.size());
  for (size_t i = 0; i < blocked.size(); ++i) {
    const size_t plane = i / (spatial * block), position = i / block % spatial;
    result[(plane * block + i % block) * spatial + position] = blocked[i];
  }
  return result;
}

const PoolingShape kShapes[] = {Windows(3, 8, 8, 2, 2, 0, 4, 4), Windows(2, 13, 11, 3, 2, 0, 6, 5),
                                Windows(2, 14, 14, 3, 2, 1, 8, 8), Windows(4, 7, 7, 7, 1, 0, 1, 1),
                                Windows(1, 9, 30, 3, 1, 1, 9, 30)};

/// Pools random numbers stored as T, whose rounding is at most `rounding`.
template <typename T>
void AgreesWithTheDefinition(int block, double rounding) {
  for (const PoolingShape& shape : kShapes) {
    const unsigned seed = TestSeed();
    SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    std::vector<T> x(shape.planes * shape.input_plane() * block);
    for (T& v : x) v = static_cast<T>(value(random));
    PoolingShape plain = shape;
    plain.planes *= block;
    std::vector<T> y(shape.planes * shape.output_plane() * block);
    std::vector<float> wide_x, expected(y.size());
    for (const T& v : Plain(x, shape.planes, block)) wide_x.push_back(static_cast<float>(v));
    const auto check = [&](double bound) {
      const std::vector<T> result = Plain(y, shape.planes, block);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(static_cast<float>(result[i]), expected[i],
                    bound * std::fabs(expected[i]) + (bound > 0) * 1e-6)
            << i;
      }
    };
    BlockedMaxPoolingForward(shape, block, x.data(), y.data());
    ReferenceMaxPooling(plain, wide_x.data(), expected.data());
    check(0);
    BlockedAveragePoolingForward(shape, block, x.data(), y.data());
    ReferenceAveragePooling(plain, wide_x.data(), expected.data());
    check(rounding);
  }
}

TEST_P(BlockedPooling, AgreesWithTheDefinition) {
  AgreesWithTheDefinition<float16>(block(), std::ldexp(1, -11));
  AgreesWithTheDefinition<bfloat16>(block(), std::ldexp(1, -8));
}

/// The window of an output, as Caffe counts it.
struct Window {
  int size = 0;
  std::vector<size_t> positions;
};

Window WindowOf(const PoolingShape& s, int row, int column) {
  Window w;
  for (int i = row * s.stride_h - s.pad_h; i < row * s.stride_h - s.pad_h + s.kernel_h; ++i) {
    for (int j = column * s.stride_w - s.pad_w; j < column * s.stride_w - s.pad_w + s.kernel_w;
         ++j) {
      w.size += i < s.height + s.pad_h && j < s.width + s.pad_w;
      if (i >= 0 && i < s.height && j >= 0 && j < s.width) w.positions.push_back(i * s.width + j);
    }
  }
  return w;
}

/// To the bit.
template <typename T>
void PoolsBytes(int block) {
  const int least = std::is_signed<T>::value ? -127 : 0, most = least ? 127 : 255;
  for (const PoolingShape& shape : kShapes) {
    const unsigned seed = TestSeed();
    SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> value(least, most);
    std::vector<T> x(shape.planes * shape.input_plane() * block);
    for (T& v : x) v = static_cast<T>(value(random));
    std::vector<T> maxima(shape.planes * shape.output_plane() * block), means(maxima.size());
    BlockedMaxPoolingForward(shape, block, x.data(), maxima.data());
    for (const float factor : {1.f, 0.7f, 3.f}) {
      BlockedAveragePoolingForward(shape, block, factor, x.data(), means.data());
      for (size_t i = 0; i < maxima.size(); ++i) {
        const size_t output = i / block % shape.output_plane();
        const Window w = WindowOf(shape, output / shape.pooled_width, output % shape.pooled_width);
        int largest = least, sum = 0;
        for (const size_t position : w.positions) {
          const size_t plane = i / block / shape.output_plane();
          const int v = x[(plane * shape.input_plane() + position) * block + i % block];
          largest = std::max(largest, v);
          sum += v;
        }
        ASSERT_EQ(int(maxima[i]), largest) << i;
        const volatile float mean = static_cast<float>(sum) / static_cast<float>(w.size);
        const volatile float scaled = mean * factor;
        const float rounded = std::nearbyint(scaled);
        ASSERT_EQ(float(means[i]), std::min<float>(most, std::max<float>(least, rounded))) << i;
      }
    }
  }
}

TEST_P(BlockedPooling, OfBytesIsExact) {
  PoolsBytes<int8_t>(block());
  PoolsBytes<uint8_t>(block());
}

TEST_P(BlockedPooling, MeansOfBytesAreRoundedToEvenAndSaturate) {
  const PoolingShape two = Windows(1, 1, 2, 2, 1, 0, 1, 1);
  const auto mean = [&](auto first, auto second, float factor) {
    std::vector<decltype(first)> x(2 * block()), y(block());
    x[0] = first;
    x[block()] = second;
    PoolingShape shape = two;
    shape.kernel_h = 1;
    BlockedAveragePoolingForward(shape, block(), factor, x.data(), y.data());
    return int(y[0]);
  };
  EXPECT_EQ(mean(int8_t(1), int8_t(2), 1), 2);  // 1.5
  EXPECT_EQ(mean(int8_t(2), int8_t(3), 1), 2);  // 2.5
  EXPECT_EQ(mean(int8_t(-2), int8_t(-3), 1), -2);
  EXPECT_EQ(mean(int8_t(-127), int8_t(-127), 2), -127);
  EXPECT_EQ(mean(uint8_t(250), uint8_t(251), 1), 250);  // 250.5
  EXPECT_EQ(mean(uint8_t(250), uint8_t(251), 1.5), 255);
}

TEST_P(BlockedPooling, MaximaOfBytesOfNothingAreTheLeast) {
  const PoolingShape beyond = Windows(1, 2, 2, 1, 1, 1, 4, 4);  // corners lie in the padding
  const std::vector<int8_t> x(4 * block(), 5);
  std::vector<int8_t> y(16 * block());
  BlockedMaxPoolingForward(beyond, block(), x.data(), y.data());
  EXPECT_EQ(y[0], -127);
  EXPECT_EQ(y[5 * block()], 5);
}

/// As in Caffe: finite, so that what follows does not make NaNs of it.
template <typename T>
void MaximaOfNothingAreTheLowest(int block) {
  const PoolingShape beyond = Windows(1, 2, 2, 1, 1, 1, 4, 4);
  const std::vector<T> x(4 * block, T(5.f));
  std::vector<T> y(16 * block), plain(16);
  BlockedMaxPoolingForward(beyond, block, x.data(), y.data());
  const float lowest = static_cast<float>(std::numeric_limits<T>::lowest());
  EXPECT_EQ(static_cast<float>(y[0]), lowest);
  EXPECT_EQ(static_cast<float>(y[5 * block]), 5.f);
  ReferenceMaxPooling(beyond, x.data(), plain.data());
  EXPECT_EQ(static_cast<float>(plain[0]), lowest);
  MaxPoolingForward<T, uint8_t>(beyond, x.data(), plain.data(), nullptr);
  EXPECT_EQ(static_cast<float>(plain[0]), lowest);
}

TEST_P(BlockedPooling, MaximaOfNothingAreTheLowestNumber) {
  MaximaOfNothingAreTheLowest<float>(block());
  MaximaOfNothingAreTheLowest<float16>(block());
}

TEST_P(BlockedPooling, KeepsSubnormalsAndInfinities) {
  const float least = std::ldexp(1.f, -24), infinity = std::numeric_limits<float>::infinity();
  std::vector<float16> x(4 * block(), float16(-infinity)), y(block());
  x[0] = float16(-least);
  x[1 + 2 * block()] = float16(3 * least);
  x[2 + 3 * block()] = float16(infinity);
  BlockedMaxPoolingForward(Windows(1, 2, 2, 2, 1, 0, 1, 1), block(), x.data(), y.data());
  EXPECT_EQ(static_cast<float>(y[0]), -least);
  EXPECT_EQ(static_cast<float>(y[1]), 3 * least);
  EXPECT_EQ(static_cast<float>(y[2]), infinity);
  EXPECT_EQ(y[3], std::numeric_limits<float16>::lowest());
}

/// Of random values, of which a maximum must take the largest that is a number.
template <typename T>
void KeepsInfinitiesAndIgnoresNaNs(int block, int channels) {
  const float infinity = std::numeric_limits<float>::infinity(), least = std::ldexp(1.f, -24);
  const float numbers[] = {-infinity, -1.5f, -least, 0.f, least, 2.25f, infinity, NAN, -NAN};
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<T> x(9 * channels), y(channels);
    for (T& v : x) v = T(numbers[random() % 9]);
    const PoolingShape shape = Windows(1, 3, 3, 3, 1, 0, 1, 1);
    if (channels == block) {
      BlockedMaxPoolingForward(shape, block, x.data(), y.data());
    } else {
      ChannelsLastMaxPoolingForward(shape, {size_t(channels), size_t(channels), size_t(channels)},
                                    x.data(), y.data());
    }
    for (int channel = 0; channel < channels; ++channel) {
      float expected = static_cast<float>(std::numeric_limits<T>::lowest());
      for (int i = 0; i < 9; ++i) {
        const float value = static_cast<float>(x[i * channels + channel]);
        if (value > expected) expected = value;
      }
      EXPECT_EQ(static_cast<float>(y[channel]), expected) << "channel " << channel;
    }
  }
}

TEST_P(BlockedPooling, Of16BitsKeepsInfinitiesAndIgnoresNaNs) {
  for (const int channels : {block(), 32 + block() + 8}) {
    KeepsInfinitiesAndIgnoresNaNs<float16>(block(), channels);
    KeepsInfinitiesAndIgnoresNaNs<bfloat16>(block(), channels);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, BlockedPooling,
                         ::testing::Combine(::testing::ValuesIn(SupportedInstructionSets()),
                                            ::testing::Values(8, 16)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace caffe::kernels
