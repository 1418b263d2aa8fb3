// Kernels on images whose channels are last: bit for bit what they give in blocks of channels, and
// in views of larger images, of which nothing else changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/integer_pooling.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

class ChannelsLastKernels : public OnInstructionSet, protected SeededNumbers {};

template <typename T>
std::vector<T> RandomNumbers(size_t n, std::mt19937* random) {
  if constexpr (std::is_integral<T>::value) {
    std::uniform_int_distribution<int> byte(std::numeric_limits<T>::min(),
                                            std::numeric_limits<T>::max());
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(byte(*random));
    return values;
  } else {
    std::normal_distribution<float> normal;
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(normal(*random));
    return values;
  }
}

/// Fills what a view leaves out: a NaN or a byte.
template <typename T>
T Outside() {
  if constexpr (std::is_integral<T>::value) return T(77);
  return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
}

/// A view of the channels of larger pixels, from `first` on.
struct View {
  size_t first, pixel;
};

/// Of `channels` channels, in pixels that are larger by whole blocks; at times by none.
View RandomView(size_t channels, size_t block, std::mt19937* random) {
  const size_t before = (*random)() % 3 * block, after = (*random)() % 3 * block;
  return {before, before + RoundUp(channels, block) + after};
}

/// (num, channels / block, spatial, block) as such a view.
template <typename T>
std::vector<T> ViewOf(const std::vector<T>& blocked, size_t num, size_t channels, size_t spatial,
                      size_t block, const View& view) {
  const size_t blocks = CeilDiv(channels, block);
  std::vector<T> result(num * spatial * view.pixel, Outside<T>());
  for (size_t i = 0; i < blocked.size(); ++i) {
    const size_t n = i / (blocks * spatial * block), b = i / (spatial * block) % blocks;
    const size_t pixel = n * spatial + i / block % spatial;
    result[pixel * view.pixel + view.first + b * block + i % block] = blocked[i];
  }
  return result;
}

template <typename T>
void ExpectSameBits(const std::vector<T>& expected, const std::vector<T>& values) {
  ASSERT_EQ(expected.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::memcmp(&expected[i], &values[i], sizeof(T)), 0)
        << "at " << i << ": " << static_cast<float>(values[i]) << " instead of "
        << static_cast<float>(expected[i]);
  }
}

/// Runs a depthwise convolution in blocks, then in views with one thread and with two. `forward`
/// gets x, the residual and where to write.
template <typename X, typename Y, typename R, typename Forward>
void ExpectTheSameOfDepthwise(const ConvolutionShape& s, size_t num, size_t block,
                              std::mt19937* random, bool has_residual, Forward&& forward) {
  SCOPED_TRACE(::testing::Message()
               << num << " images, " << s.channels << " channels, " << s.input.front() << " x "
               << s.input.back() << ", kernel " << s.kernel.front() << " x " << s.kernel.back()
               << ", stride " << s.stride.front() << " x " << s.stride.back());
  const size_t inputs = s.input_spatial(), outputs = s.output_spatial();
  const auto x =
      ToBlocks(RandomNumbers<X>(num * s.input_size(), random), num, s.channels, inputs, block);
  const auto residual =
      ToBlocks(RandomNumbers<R>(num * s.output_size(), random), num, s.outputs, outputs, block);
  std::vector<Y> blocked(RoundUp(s.outputs, block) * outputs * num, Outside<Y>());
  forward(x.data(), has_residual ? residual.data() : nullptr,
          Destination(blocked.data(), ImageStrides()));

  const View of_x = RandomView(s.channels, block, random);
  const View of_y = RandomView(s.outputs, block, random);
  const View of_residual = RandomView(s.outputs, block, random);
  const auto x_last = ViewOf(x, num, s.channels, inputs, block, of_x);
  const auto residual_last = ViewOf(residual, num, s.outputs, outputs, block, of_residual);
  const auto expected = ViewOf(blocked, num, s.outputs, outputs, block, of_y);
  ImageStrides strides;
  strides.x_pixel = of_x.pixel;
  strides.y_pixel = of_y.pixel;
  if (has_residual) strides.residual_pixel = of_residual.pixel;
  if ((*random)() % 2) strides.y = of_y.pixel * outputs;
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(expected.size(), Outside<Y>());
    forward(x_last.data() + of_x.first,
            has_residual ? residual_last.data() + of_residual.first : nullptr,
            Destination(y.data() + of_y.first, strides));
    ExpectSameBits(expected, y);
  }
}

const Activation kActivations[] = {{},
                                   {Activation::RELU, 0, 0},
                                   {Activation::RELU, 0.1, 0},
                                   {Activation::CLIP, 0.5, 6},
                                   {Activation::SWISH, 1, 0}};

Activation RandomActivation(std::mt19937* random) { return kActivations[(*random)() % 5]; }

template <typename X, typename W, typename Y>
void CheckDepthwise(const ConvolutionShape& s, size_t num, std::mt19937* random) {
  const auto convolution = PackedConvolution::Make(s, false);
  ASSERT_TRUE(convolution);
  const auto weights = RandomNumbers<W>(s.weight_count(), random);
  std::vector<W> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), nullptr, packed.data());
  const auto bias = RandomNumbers<float>(s.outputs, random);
  const Activation activation = RandomActivation(random);
  const auto forward = [&](const X* x, const Y* residual, const Destination& y) {
    std::vector<float> scratch(convolution->scratch_size(static_cast<int>(num)), NAN);
    PostOps post(bias.data(), {}, activation);
    if (residual) post.residual = residual;
    convolution->Forward(static_cast<int>(num), x, packed.data(), post, scratch.data(), y);
  };
  const bool has_residual = (*random)() % 2;
  ExpectTheSameOfDepthwise<X, Y, Y>(s, num, convolution->block(), random, has_residual, forward);
}

/// For as many threads as there are now.
std::vector<double> ByteScratch(const Int8Convolution& convolution, size_t num) {
  return std::vector<double>(convolution.scratch_bytes(static_cast<int>(num)) / sizeof(double) + 1,
                             NAN);
}

template <typename X, typename Y, typename R>
void CheckByteDepthwise(const ConvolutionShape& s, size_t num, std::mt19937* random) {
  const auto convolution = Int8Convolution::Make(s, false);
  ASSERT_TRUE(convolution);
  const auto weights = RandomNumbers<int8_t>(s.weight_count(), random);
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  const bool has_residual = (*random)() % 2;
  const int zero_point = static_cast<int>((*random)() % 100);

  const auto scale = std::vector<float>(s.outputs, 1.f / 4096);
  const auto bias = RandomNumbers<float>(s.outputs, random);
  PostOps post;
  post.scale = scale.data();
  post.bias = bias.data();
  post.activation = RandomActivation(random);
  post.residual_scale = 0.03125f;
  post.factor = 16;
  post.zero_point = std::is_same<Y, float>::value ? 0 : static_cast<int>((*random)() % 50);
  ExpectTheSameOfDepthwise<X, Y, R>(s, num, convolution->block(), random, has_residual,
                                    [&](const X* x, const R* residual, const Destination& y) {
                                      std::vector<double> scratch = ByteScratch(*convolution, num);
                                      if (residual) post.residual = residual;
                                      convolution->Forward(static_cast<int>(num), x, packed.data(),
                                                           post, scratch.data(), y, zero_point);
                                    });
}

/// The same with integers alone.
template <typename X, typename Y, typename R>
void CheckIntegerDepthwise(const ConvolutionShape& s, size_t num, std::mt19937* random) {
  const auto convolution = Int8Convolution::Make(s, false);
  ASSERT_TRUE(convolution);
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  const auto weights = RandomNumbers<int8_t>(s.weight_count(), random);
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  std::vector<int32_t> bias(s.outputs), multipliers(s.outputs), shifts(s.outputs);
  for (int o = 0; o < s.outputs; ++o) {
    bias[o] = between(-20000, 20000);
    multipliers[o] = between(1 << 30, 2147483647);
    shifts[o] = between(-11, -7);
  }
  Rescaling by;
  by.bias = bias.data();
  by.multipliers = multipliers.data();
  by.shifts = shifts.data();
  by.input_zero_point = between(0, 100);
  by.zero_point = between(1, 100);
  by.least = std::numeric_limits<Y>::min();
  by.most = std::numeric_limits<Y>::max();

  Residual added;
  added.is_unsigned = std::is_unsigned<R>::value;
  added.sum.zero_point = by.zero_point;
  added.sum.residual_zero_point = between(0, 100);
  added.sum.by = {1 << 30, 0};
  added.sum.residual_by = {between(1 << 30, 2147483647), -1};
  added.sum.result.by = {between(1 << 30, 2147483647), -19};
  added.sum.result.zero_point = between(0, 100);
  added.sum.result.least = by.least;
  added.sum.result.most = by.most;
  const FoundByteSum found(added.sum, by.least, by.most, added.is_unsigned,
                           std::is_unsigned<Y>::value);
  added.form = &found.form();
  ExpectTheSameOfDepthwise<X, Y, R>(s, num, convolution->block(), random, between(0, 1) == 1,
                                    [&](const X* x, const R* residual, const Destination& y) {
                                      std::vector<double> scratch = ByteScratch(*convolution, num);
                                      added.data = residual;
                                      convolution->Forward(static_cast<int>(num), x, packed.data(),
                                                           by, scratch.data(), y,
                                                           residual ? &added : nullptr);
                                    });
}

ConvolutionShape Depthwise(int channels, const std::vector<Extents>& axes) {
  return Shape(channels, channels, channels, axes);
}

/// Kernels of all sizes; with `direct` those of 3 and 5 columns, which are computed from the input.
ConvolutionShape RandomDepthwise(bool direct, std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  std::vector<Extents> axes;
  for (int axis = 0; axis < 2; ++axis) {
    Extents e{1, between(1, 6)};
    if (direct) {
      e.kernel = between(0, 2) ? 3 : 5;
      e.stride = between(1, 2);
    } else {
      e.stride = between(1, 3);
      e.dilation = between(1, 2);
    }
    e.pad = between(0, e.kernel - 1);
    e.input = e.dilation * (e.kernel - 1) + between(1, 30);
    axes.push_back(e);
  }
  return Depthwise(between(2, 200), axes);
}

void CheckDepthwiseOfAllTypes(const ConvolutionShape& s, size_t num, std::mt19937* random) {
  CheckDepthwise<float, float, float>(s, num, random);
  CheckDepthwise<float16, float16, float16>(s, num, random);
  CheckDepthwise<bfloat16, bfloat16, bfloat16>(s, num, random);
  CheckDepthwise<float16, float, float>(s, num, random);
  CheckDepthwise<float, float16, bfloat16>(s, num, random);
  CheckByteDepthwise<uint8_t, uint8_t, uint8_t>(s, num, random);
  CheckByteDepthwise<int8_t, int8_t, uint8_t>(s, num, random);
  CheckByteDepthwise<uint8_t, float, float>(s, num, random);
  CheckByteDepthwise<int8_t, uint8_t, float>(s, num, random);
  CheckIntegerDepthwise<uint8_t, uint8_t, uint8_t>(s, num, random);
  CheckIntegerDepthwise<int8_t, int8_t, int8_t>(s, num, random);
  CheckIntegerDepthwise<int8_t, uint8_t, int8_t>(s, num, random);
}

TEST_P(ChannelsLastKernels, DepthwiseConvolutionsDirectlyFromTheInput) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (const int stride : {1, 2}) {
    CheckDepthwiseOfAllTypes(Depthwise(24, {{14, 3, stride, 1}, {17, 3, stride, 1}}), 2, &random_);
    CheckDepthwiseOfAllTypes(Depthwise(150, {{7, 5, stride, 2}, {28, 5, stride, 2}}), 1, &random_);
  }
  CheckDepthwiseOfAllTypes(Depthwise(5, {{40, 3, 1, 1}}), 3, &random_);
  for (int i = 0; i < 6; ++i) {
    CheckDepthwiseOfAllTypes(RandomDepthwise(true, &random_), Number(1, 3), &random_);
  }
}

TEST_P(ChannelsLastKernels, DepthwiseConvolutionsByWayOfABuffer) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  CheckDepthwiseOfAllTypes(Depthwise(19, {{60, 7, 2, 3}, {50, 7, 1, 3}}), 1, &random_);
  CheckDepthwiseOfAllTypes(Depthwise(40, {{9, 1}, {8, 1}}), 2, &random_);
  CheckDepthwiseOfAllTypes(Depthwise(40, {{9, 1, 2}, {8, 1, 3}}), 2, &random_);
  for (int i = 0; i < 6; ++i) {
    CheckDepthwiseOfAllTypes(RandomDepthwise(false, &random_), Number(1, 3), &random_);
  }
}

// An activation of 0 other than 0 does not reach the channels that fill up the last block, and a
// NaN does not reach other channels.
TEST_P(ChannelsLastKernels, DepthwiseConvolutionsLeaveZerosInTheLastBlock) {
  const ConvolutionShape s = Depthwise(5, {{6, 3, 1, 1}, {6, 3, 1, 1}});
  const auto convolution = PackedConvolution::Make(s, false);
  const size_t block = convolution->block();
  std::vector<float> x(36 * block, 0.f), y(36 * block, NAN);
  for (size_t i = 0; i < 36; ++i) std::fill_n(x.begin() + i * block, 5, 1.f);
  x[14 * block + 2] = NAN;
  const std::vector<float> weights(s.weight_count(), 1.f);
  std::vector<float> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), nullptr, packed.data());
  std::vector<float> scratch(convolution->scratch_size(1));
  ImageStrides strides;
  strides.x_pixel = strides.y_pixel = block;
  convolution->Forward(1, x.data(), packed.data(),
                       PostOps(nullptr, {}, {Activation::CLIP, 0.5, 100}), scratch.data(),
                       {y.data(), strides});
  for (size_t i = 0; i < y.size(); ++i) {
    const int channel = i % block, row = i / block / 6, column = i / block % 6;
    const bool reached = channel == 2 && std::abs(row - 2) <= 1 && std::abs(column - 2) <= 1;
    if (channel >= 5) {
      ASSERT_EQ(y[i], 0) << i;
    } else {
      ASSERT_EQ(std::isnan(y[i]), reached) << i;
    }
  }
}

/// Calls `forward(strides)` with strides that it has to refuse, of images of 6 x 6 pixels with
/// `channels` channels, padded to whole blocks.
template <typename Forward>
void ExpectRefusals(size_t channels, size_t block, Forward&& forward) {
  ImageStrides good;
  good.x_pixel = good.y_pixel = good.residual_pixel = channels;
  EXPECT_NO_THROW(forward(good));
  ImageStrides bad = good;
  bad.x_pixel = channels - block;
  EXPECT_THROW(forward(bad), Error) << "pixels that overlap";
  bad = good;
  bad.y_pixel = channels + 1;
  EXPECT_THROW(forward(bad), Error) << "pixels that begin within a block";
  bad = good;
  bad.y = channels * 36 + block;
  EXPECT_THROW(forward(bad), Error) << "images that are no whole pixels apart";
  bad = good;
  bad.x_pixel = 0;
  EXPECT_THROW(forward(bad), Error) << "x in blocks";
  bad = good;
  bad.y_pixel = 0;
  EXPECT_THROW(forward(bad), Error) << "y in blocks";
  bad = good;
  bad.residual_pixel = 0;
  EXPECT_THROW(forward(bad), Error) << "the residual in blocks";
}

TEST_P(ChannelsLastKernels, ConvolutionsRefuseStridesThatDoNotFit) {
  const ConvolutionShape s = Depthwise(40, {{6, 3, 1, 1}, {6, 3, 1, 1}});
  const auto floats = PackedConvolution::Make(s, false);
  const size_t block = floats->block(), channels = RoundUp(40, block);
  std::vector<float> x(36 * channels), y(37 * channels), packed(floats->packed_size());
  std::vector<float> scratch(floats->scratch_size(1));
  PostOps post(nullptr, x.data());
  ExpectRefusals(channels, block, [&](const ImageStrides& strides) {
    floats->Forward(1, x.data(), packed.data(), post, scratch.data(), {y.data(), strides});
  });

  const auto bytes = Int8Convolution::Make(s, false);
  std::vector<int8_t> x8(36 * channels), y8(37 * channels), packed8(bytes->packed_size());
  std::vector<double> scratch8(bytes->scratch_bytes(1) / sizeof(double) + 1);
  const std::vector<float> scale(40, 1.f);
  post = PostOps(nullptr, x8.data());
  post.scale = scale.data();
  ExpectRefusals(channels, block, [&](const ImageStrides& strides) {
    bytes->Forward(1, x8.data(), packed8.data(), post, scratch8.data(), {y8.data(), strides});
  });
}

/// Runs a function on images in blocks, then on views of them with one thread and with two: f(x, y)
/// and f(x, y, channels).
template <typename X, typename Y, typename InBlocks, typename InPixels>
void ExpectTheSame(size_t num, size_t channels, size_t inputs, size_t outputs, size_t block,
                   const std::vector<X>& blocked_x, std::mt19937* random, InBlocks&& in_blocks,
                   InPixels&& in_pixels) {
  const size_t padded = RoundUp(channels, block);
  std::vector<Y> blocked_y(num * padded * outputs, Outside<Y>());
  in_blocks(blocked_x.data(), blocked_y.data());
  const View of_x = RandomView(channels, block, random);
  const View of_y = RandomView(channels, block, random);
  const auto x = ViewOf(blocked_x, num, channels, inputs, block, of_x);
  const auto expected = ViewOf(blocked_y, num, channels, outputs, block, of_y);
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(expected.size(), Outside<Y>());
    in_pixels(x.data() + of_x.first, y.data() + of_y.first,
              ChannelsLast{padded, of_x.pixel, of_y.pixel});
    ExpectSameBits(expected, y);
  }
}

PoolingShape RandomPooling(std::mt19937* random) {
  const auto between = [&](int least, int most) { return DrawInt(least, most, random); };
  PoolingShape s;
  s.height = between(3, 20);
  s.width = between(3, 20);
  if (between(0, 3) == 0) {  // one window
    s.kernel_h = s.height;
    s.kernel_w = s.width;
  } else {
    s.kernel_h = between(1, 3);
    s.kernel_w = between(0, 1) ? s.kernel_h : between(1, 3);
    s.stride_h = between(1, 3);
    s.stride_w = between(1, 3);
    s.pad_h = between(0, s.kernel_h - 1);
    s.pad_w = between(0, s.kernel_w - 1);
  }
  // At times a last window that reaches beyond the padding, as Caffe's shapes have it.
  const auto outputs = [&](int input, int kernel, int stride, int pad) {
    const int all = (input + 2 * pad - kernel + between(0, stride - 1)) / stride + 1;
    return (all - 1) * stride >= input + pad ? all - 1 : all;
  };
  s.pooled_height = outputs(s.height, s.kernel_h, s.stride_h, s.pad_h);
  s.pooled_width = outputs(s.width, s.kernel_w, s.stride_w, s.pad_w);
  return s;
}

/// The shape of images, and of planes of blocks.
struct PoolingShapes {
  PoolingShapes(const PoolingShape& shape, size_t num, size_t channels, size_t block)
      : images(shape), blocks(shape) {
    images.planes = num;
    blocks.planes = num * CeilDiv(channels, block);
  }
  PoolingShape images, blocks;
};

template <typename T>
void CheckPooling(const PoolingShape& shape, size_t block, std::mt19937* random) {
  const size_t num = 1 + (*random)() % 3, channels = 1 + (*random)() % 300;
  SCOPED_TRACE(::testing::Message()
               << num << " images, " << channels << " channels in blocks of " << block << ", "
               << shape.height << " x " << shape.width << ", windows " << shape.kernel_h << " x "
               << shape.kernel_w << ", stride " << shape.stride_h << " x " << shape.stride_w);
  const PoolingShapes s(shape, num, channels, block);
  const auto x = ToBlocks(RandomNumbers<T>(num * channels * shape.input_plane(), random), num,
                          channels, shape.input_plane(), block);
  const int width = static_cast<int>(block);
  const auto check = [&](auto&& in_blocks, auto&& in_pixels) {
    ExpectTheSame<T, T>(num, channels, shape.input_plane(), shape.output_plane(), block, x, random,
                        in_blocks, in_pixels);
  };
  check([&](const T* from, T* to) { BlockedMaxPoolingForward(s.blocks, width, from, to); },
        [&](const T* from, T* to, const ChannelsLast& channels_last) {
          ChannelsLastMaxPoolingForward(s.images, channels_last, from, to);
        });
  if constexpr (std::is_integral<T>::value) {
    check([&](const T* from,
              T* to) { BlockedAveragePoolingForward(s.blocks, width, 1.3f, from, to); },
          [&](const T* from, T* to, const ChannelsLast& channels_last) {
            ChannelsLastAveragePoolingForward(s.images, channels_last, 1.3f, from, to);
          });
    const ByteRange whole = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    for (const ByteRange& range : {whole, ByteRange{whole.least + 100, whole.most - 10}}) {
      const int32_t zero = range.least + static_cast<int>((*random)() % 100);
      check([&](const T* from,
                T* to) { AveragePoolIntegers(s.blocks, width, zero, range, from, to); },
            [&](const T* from, T* to, const ChannelsLast& channels_last) {
              AveragePoolIntegers(s.images, channels_last, zero, range, from, to);
            });
      check([&](const T* from, T* to) { MaxPoolIntegers(s.blocks, width, range, from, to); },
            [&](const T* from, T* to, const ChannelsLast& channels_last) {
              MaxPoolIntegers(s.images, channels_last, range, from, to);
            });
    }
  } else {
    check([&](const T* from, T* to) { BlockedAveragePoolingForward(s.blocks, width, from, to); },
          [&](const T* from, T* to, const ChannelsLast& channels_last) {
            ChannelsLastAveragePoolingForward(s.images, channels_last, from, to);
          });
  }
}

TEST_P(ChannelsLastKernels, Pooling) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int i = 0; i < 20; ++i) {
    const PoolingShape shape = RandomPooling(&random_);
    for (const size_t block : {8, 16}) {
      CheckPooling<float>(shape, block, &random_);
      CheckPooling<float16>(shape, block, &random_);
      CheckPooling<bfloat16>(shape, block, &random_);
      CheckPooling<int8_t>(shape, block, &random_);
      CheckPooling<uint8_t>(shape, block, &random_);
    }
  }
}

template <typename T>
void CheckLrn(const LrnShape& s, size_t block, std::mt19937* random) {
  const size_t plane = size_t(s.height) * s.width, padded = RoundUp(s.channels, block);
  const auto x = ToBlocks(RandomNumbers<T>(s.num * s.channels * plane, random), s.num, s.channels,
                          plane, block);
  ExpectTheSame<T, T>(
      s.num, s.channels, plane, plane, block, x, random,
      [&](const T* from, T* to) {
        if constexpr (!std::is_same<T, bfloat16>::value) {
          BlockedLrnForward(s, static_cast<int>(block), from, to);
        } else {  // rounded once
          std::vector<float> wide(s.num * padded * plane);
          Convert(wide.size(), from, wide.data());
          BlockedLrnForward(s, static_cast<int>(block), wide.data(), wide.data());
          Convert(wide.size(), wide.data(), to);
        }
      },
      [&](const T* from, T* to, const ChannelsLast& channels) {
        ChannelsLastLrnForward(s, channels, from, to);
      });
}

template <typename X, typename Y>
void CheckByteLrn(const LrnShape& s, size_t block, std::mt19937* random) {
  const size_t plane = size_t(s.height) * s.width;
  const auto x = ToBlocks(RandomNumbers<X>(s.num * s.channels * plane, random), s.num, s.channels,
                          plane, block);
  ExpectTheSame<X, Y>(
      s.num, s.channels, plane, plane, block, x, random,
      [&](const X* from, Y* to) {
        BlockedLrnForward(s, static_cast<int>(block), 0.03f, from, 50, to);
      },
      [&](const X* from, Y* to, const ChannelsLast& channels) {
        ChannelsLastLrnForward(s, channels, 0.03f, from, 50, to);
      });
}

TEST_P(ChannelsLastKernels, LocalResponseNormalization) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int i = 0; i < 6; ++i) {
    LrnShape s;
    s.num = Number(1, 2);
    s.channels = Number(1, 100);
    s.height = Number(1, 16);
    s.width = Number(1, 16);
    s.size = 2 * Number(0, 3) + 1;
    s.alpha = 0.3;
    s.beta = i % 2 ? 0.75 : 0.5;
    s.k = i % 3 ? 2 : 1;
    for (const size_t block : {8, 16}) {
      CheckLrn<float>(s, block, &random_);
      CheckLrn<float16>(s, block, &random_);
      CheckLrn<bfloat16>(s, block, &random_);
      CheckByteLrn<int8_t, int8_t>(s, block, &random_);
      CheckByteLrn<uint8_t, int8_t>(s, block, &random_);
      CheckByteLrn<int8_t, uint8_t>(s, block, &random_);
      CheckByteLrn<uint8_t, uint8_t>(s, block, &random_);
    }
  }
}

TEST_P(ChannelsLastKernels, LocalResponseNormalizationInPlace) {
  LrnShape s;
  s.num = 2;
  s.channels = 21;
  s.height = 9;
  s.width = 40;
  std::vector<float> x = RandomNumbers<float>(2 * 360 * 24, &random_), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 24 < 21 ? x[i] : 0;
  ChannelsLastLrnForward(s, ChannelsLast{24, 24, 24}, x.data(), y.data());
  ChannelsLastLrnForward(s, ChannelsLast{24, 24, 24}, x.data(), x.data());
  ExpectSameBits(y, x);
}

/// Bit for bit the softmax of contiguous rows.
template <typename T>
void CheckSoftmax(size_t pixels, size_t channels, std::mt19937* random) {
  SCOPED_TRACE(::testing::Message() << pixels << " pixels of " << channels << " channels");
  const auto x = RandomNumbers<T>(pixels * channels, random);
  std::vector<float> wide(x.size());
  Convert(x.size(), x.data(), wide.data());
  Softmax(pixels, channels, 1, wide.data(), wide.data());
  std::vector<T> rows(x.size());
  Convert(rows.size(), wide.data(), rows.data());
  const size_t block = 16, padded = RoundUp(channels, block);
  const View of_x = RandomView(channels, block, random), of_y = RandomView(channels, block, random);
  std::vector<T> from(pixels * of_x.pixel, Outside<T>()), to(pixels * of_y.pixel, Outside<T>());
  std::vector<T> expected = to;
  for (size_t i = 0; i < pixels; ++i) {
    std::copy_n(&x[i * channels], channels, &from[i * of_x.pixel + of_x.first]);
    std::copy_n(&rows[i * channels], channels, &expected[i * of_y.pixel + of_y.first]);
    std::fill_n(&expected[i * of_y.pixel + of_y.first + channels], padded - channels, T(0.f));
  }
  ChannelsLastSoftmax(pixels, channels, ChannelsLast{padded, of_x.pixel, of_y.pixel},
                      from.data() + of_x.first, to.data() + of_y.first);
  ExpectSameBits(expected, to);
}

TEST_P(ChannelsLastKernels, SoftmaxOverChannels) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (const size_t channels : {1, 2, 16, 21, 128, 129, 1000}) {
    const size_t pixels = Number(1, 700);
    CheckSoftmax<float>(pixels, channels, &random_);
    CheckSoftmax<float16>(pixels, channels, &random_);
    CheckSoftmax<bfloat16>(pixels, channels, &random_);
  }
}

TEST_P(ChannelsLastKernels, RefusePixelsThatDoNotFit) {
  const ChannelsLast overlapping[] = {{16, 15, 16}, {16, 16, 8}}, uneven = {12, 16, 16};
  std::vector<float> x(64), y(64);
  std::vector<uint8_t> bytes(64), results(64);
  PoolingShape pooling;
  pooling.planes = 1;
  pooling.height = pooling.width = pooling.pooled_height = pooling.pooled_width = 1;
  pooling.kernel_h = pooling.kernel_w = 1;
  LrnShape lrn;
  lrn.num = lrn.height = lrn.width = 1;
  lrn.channels = 12;
  const auto refuses = [&](const ChannelsLast& channels) {
    EXPECT_THROW(ChannelsLastMaxPoolingForward(pooling, channels, x.data(), y.data()), Error);
    EXPECT_THROW(ChannelsLastAveragePoolingForward(pooling, channels, x.data(), y.data()), Error);
    EXPECT_THROW(
        ChannelsLastAveragePoolingForward(pooling, channels, 1, bytes.data(), results.data()),
        Error);
    EXPECT_THROW(MaxPoolIntegers(pooling, channels, {}, bytes.data(), results.data()), Error);
    EXPECT_THROW(AveragePoolIntegers(pooling, channels, 0, {}, bytes.data(), results.data()),
                 Error);
    EXPECT_THROW(ChannelsLastLrnForward(lrn, channels, x.data(), y.data()), Error);
    EXPECT_THROW(ChannelsLastLrnForward(lrn, channels, 1, bytes.data(), 1, results.data()), Error);
    EXPECT_THROW(ChannelsLastSoftmax(1, 12, channels, x.data(), y.data()), Error);
  };
  for (const ChannelsLast& channels : overlapping) refuses(channels);
  refuses(uneven);
  const ChannelsLast eight = {8, 16, 16};
  EXPECT_THROW(ChannelsLastSoftmax(1, 12, eight, x.data(), y.data()), Error)
      << "more channels than there are";
  EXPECT_THROW(ChannelsLastLrnForward(lrn, eight, x.data(), y.data()), Error);
  lrn.within_channel = true;
  EXPECT_THROW(ChannelsLastLrnForward(lrn, ChannelsLast{16, 16, 16}, x.data(), y.data()), Error);
}

INSTANTIATE_ON_EVERY_SET(ChannelsLastKernels);

}  // namespace
}  // namespace caffe::kernels
