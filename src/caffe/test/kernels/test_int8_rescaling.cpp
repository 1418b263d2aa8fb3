// Sums of 8-bit kernels that become bytes with integers alone, and zero points: to the bit, on
// every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/inner_product.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/rescalings.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

class Int8Rescaling : public OnInstructionSet {};

/// All of a type's bytes, its ends more often than others.
template <typename T>
std::vector<T> Bytes(size_t n, std::mt19937* random) {
  std::uniform_int_distribution<int> value(kFirst<T> - 40, kLast<T> + 40);
  std::vector<T> bytes(n);
  for (T& byte : bytes)
    byte = static_cast<T>(std::min(kLast<T>, std::max(kFirst<T>, value(*random))));
  return bytes;
}

/// How a convolution is to be computed.
struct Way {
  bool plain = false;
  int winograd = 0;  ///< the side of tiles
  size_t gap = 0;    ///< behind each image, and twice that in the output
};

std::shared_ptr<const Int8Convolution> Make(const ConvolutionShape& s, const Way& way) {
  return way.winograd ? Int8Convolution::MakeWinograd(s, way.winograd)
                      : Int8Convolution::Make(s, way.plain);
}

/// Runs it with one thread and with two; every element, those that fill up blocks included, must be
/// as expected. `end`: a Rescaling or PostOps. A residual is where the outputs are to be.
template <typename X, typename Y, typename End>
void ExpectOutputs(const ConvolutionShape& s, int num, const Way& way, const std::vector<X>& x,
                   const std::vector<int8_t>& weights, const End& end,
                   const std::vector<Y>& expected, const std::vector<Y>& residual = {},
                   const Residual& added = {}, int input_zero_point = 0) {
  const auto convolution = Make(s, way);
  ASSERT_TRUE(convolution);
  const size_t block = convolution->block();
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), packed.data());
  const std::vector<X> input = WithGaps(
      way.plain ? x : ToBlocks(x, num, s.channels, s.input_spatial(), block), num, way.gap, X(99));
  const auto as_it_lies = [&](const std::vector<Y>& y) {
    return WithGaps(ToBlocks(y, num, s.outputs, s.output_spatial(), block), num, 2 * way.gap,
                    Y(77));
  };
  const std::vector<Y> blocked = as_it_lies(expected);
  const ImageStrides strides = {input.size() / num, blocked.size() / num, blocked.size() / num};
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y =
        residual.empty() ? std::vector<Y>(blocked.size(), Y(77)) : as_it_lies(residual);
    std::vector<double> scratch(convolution->scratch_bytes(num) / sizeof(double) + 1, NAN);
    const auto run = [&](const auto&... more) {
      convolution->Forward(num, input.data(), packed.data(), end, scratch.data(),
                           {y.data(), strides}, more...);
    };
    if constexpr (std::is_same<End, Rescaling>::value) {
      Residual in_place = added;
      in_place.data = y.data();
      run(residual.empty() ? nullptr : &in_place);
    } else {
      run(input_zero_point);
    }
    EXPECT_EQ(y, blocked) << threads << " threads";
  }
}

/// The outputs of `by` with a residual. Y: of what is written.
template <typename X, typename Y, typename Own>
void ExpectExactSums(const ConvolutionShape& s, int num, const Way& way, const std::vector<X>& x,
                     const std::vector<int8_t>& weights, const Rescaling& by,
                     const std::vector<Own>& outputs, std::mt19937* random) {
  const bool steep = (*random)() % 4 == 0;
  Residual residual;
  residual.is_unsigned = (*random)() % 2 == 0;
  residual.sum = RandomSum<Y>(by, residual.is_unsigned, steep, random);
  const FoundByteSum found(residual.sum, by.least, by.most, residual.is_unsigned,
                           std::is_unsigned<Y>::value);
  residual.form = &found.form();
  const std::vector<Y> added = Bytes<Y>(outputs.size(), random);
  std::vector<Y> expected;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const IntegerOperand r = {added.data(), residual.is_unsigned, 0};
    expected.push_back(static_cast<Y>(residual.sum.Of(outputs[i], r.At(i))));
  }
  SCOPED_TRACE(::testing::Message() << "with a residual, is_linear " << found.form().is_linear);
  ExpectOutputs(s, num, way, x, weights, by, expected, added, residual);
}

template <typename X, typename Y>
void ExpectExactRescaling(const ConvolutionShape& s, int num, Rounding rounding,
                          Multipliers numbers, const Way& way, std::mt19937* random) {
  SCOPED_TRACE(::testing::Message()
               << s.channels << " channels, " << s.outputs << " outputs, group " << s.group
               << ", rounding " << static_cast<int>(rounding) << ", numbers "
               << static_cast<int>(numbers) << ", tiles of " << way.winograd);
  const std::vector<X> x = Bytes<X>(num * s.input_size(), random);
  const std::vector<int8_t> weights = Bytes<int8_t>(s.weight_count(), random);
  const RescalingOf r =
      RandomRescaling<X, Y>(s.outputs, s.column_rows(), rounding, numbers, random);
  const Rescaling by = At(r);
  std::vector<Y> expected;
  for (const int64_t sum : Sums(s, num, x, weights, by.input_zero_point)) {
    const int o = static_cast<int>(expected.size() / s.output_spatial() % s.outputs);
    expected.push_back(static_cast<Y>(Rescaled(by, o, static_cast<int32_t>(sum))));
  }
  ExpectOutputs(s, num, way, x, weights, by, expected);
  ExpectExactSums<X, uint8_t>(s, num, way, x, weights, by, expected, random);
  ExpectExactSums<X, int8_t>(s, num, way, x, weights, by, expected, random);
}

/// For all types, with both roundings and all kinds of numbers between them, without a residual and
/// with one.
void ExpectExactRescalingForAll(const ConvolutionShape& s, int num, const Way& way,
                                std::mt19937* random) {
  ExpectExactRescaling<uint8_t, uint8_t>(s, num, Rounding::DOUBLE, Multipliers::USUAL, way, random);
  ExpectExactRescaling<int8_t, int8_t>(s, num, Rounding::SINGLE, Multipliers::USUAL, way, random);
  ExpectExactRescaling<int8_t, uint8_t>(s, num, Rounding::DOUBLE, Multipliers::ALL, way, random);
  ExpectExactRescaling<uint8_t, int8_t>(s, num, Rounding::SINGLE, Multipliers::ALL, way, random);
  ExpectExactRescaling<uint8_t, int8_t>(s, num, Rounding::DOUBLE, Multipliers::NEGATIVE, way,
                                        random);
  ExpectExactRescaling<int8_t, uint8_t>(s, num, Rounding::SINGLE, Multipliers::NEGATIVE, way,
                                        random);
}

/// Prints its seed with a failure.
#define SEEDED(random)                                              \
  const unsigned seed = TestSeed();                                 \
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed); \
  std::mt19937 random(seed)

TEST_P(Int8Rescaling, IsExactForKernelsOfAllKinds) {
  SEEDED(random);
  ExpectExactRescalingForAll(Shape(16, 16, 1, {{9, 3, 1, 1}, {9, 3, 1, 1}}), 2, {}, &random);
  ExpectExactRescalingForAll(Shape(19, 37, 1, {{7, 1}, {8, 1}}), 3, {}, &random);
  ExpectExactRescalingForAll(Shape(24, 8, 1, {{9, 1, 2, 1}, {10, 1, 2, 1}}), 1, {}, &random);
  ExpectExactRescalingForAll(Shape(10, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1, {}, &random);
  ExpectExactRescalingForAll(Shape(16, 100, 1, {{30, 7, 3, 3}}), 2, {}, &random);
  ExpectExactRescalingForAll(Shape(64, 96, 2, {{6, 3, 1, 1}, {5, 3, 2, 1}}), 2, {}, &random);
  ExpectExactRescalingForAll(Shape(512, 64, 1, {{5, 3, 1, 1}, {5, 3, 1, 1}}), 1, {}, &random);
}

TEST_P(Int8Rescaling, IsExactForImagesInCaffesOrder) {
  SEEDED(random);
  Way way;
  way.plain = true;
  ExpectExactRescalingForAll(Shape(3, 32, 1, {{23, 7, 2, 3}, {23, 7, 2, 3}}), 2, way, &random);
  ExpectExactRescalingForAll(Shape(1, 20, 1, {{12, 4, 1, 1}, {13, 4, 3, 2}}), 1, way, &random);
  ExpectExactRescalingForAll(Shape(3, 9, 1, {{12, 3, 1, 2, 2}, {12, 3, 1, 2, 2}}), 1, way, &random);
}

// By bytes where the processor has an instruction for it, in floats, and by way of a buffer.
TEST_P(Int8Rescaling, IsExactForDepthwiseKernels) {
  SEEDED(random);
  for (const int kernel : {3, 5}) {
    for (const int stride : {1, 2}) {
      for (const int pad : {0, 1, 2}) {
        const ConvolutionShape s =
            Shape(19, 19, 19, {{9, kernel, stride, pad}, {14, kernel, stride, pad}});
        ExpectExactRescalingForAll(s, 2, {}, &random);
      }
    }
  }
  ExpectExactRescalingForAll(Square(35, 35, 35, {23, 3, 1, 1}), 2, {false, 0, 8}, &random);
  ExpectExactRescalingForAll(Square(19, 19, 19, {13, 7, 2, 3}), 1, {}, &random);
  ExpectExactRescalingForAll(Square(24, 24, 24, {11, 3, 1, 2, 2}), 2, {}, &random);
  ExpectExactRescalingForAll(Shape(8, 8, 8, {{20, 4, 3, 2}}), 1, {}, &random);
}

TEST_P(Int8Rescaling, IsExactByWinogradsAlgorithm) {
  SEEDED(random);
  for (const int side : {2, 4}) {
    const Way way = {false, side, 16};
    ExpectExactRescalingForAll(Square(40, 24, 1, {7, 3, 1, 1}), 3, way, &random);
    ExpectExactRescalingForAll(Square(3, 5, 1, {1, 3, 1, 1}), 1, way, &random);
    ExpectExactRescalingForAll(Square(96, 64, 2, {9, 3, 1, 2}), 1, way, &random);
    ExpectExactRescalingForAll(Square(19, 17, 1, {8, 5, 1, 2}), 2, way, &random);
  }
}

TEST_P(Int8Rescaling, IsExactForShapesOfAllKinds) {
  SEEDED(random);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 24; ++i) {
    const bool plain = i % 4 == 0, pointwise = i % 4 == 1, depthwise = i % 4 == 2;
    std::vector<Extents> axes;
    for (int axis = 0; axis < 2; ++axis) {
      const int kernel = pointwise ? 1 : 1 + below(7), dilation = pointwise ? 1 : 1 + below(2);
      axes.push_back({dilation * (kernel - 1) + 1 + below(20), kernel, pointwise ? 1 : 1 + below(3),
                      pointwise ? 0 : below(kernel), dilation});
    }
    const int channels = plain ? 1 + below(4) : 2 + below(70);
    const ConvolutionShape s =
        Shape(channels, depthwise ? channels : 1 + below(100), depthwise ? channels : 1, axes);
    SCOPED_TRACE(::testing::Message() << "shape " << i << ": " << s.input[0] << " x " << s.input[1]
                                      << ", kernel " << s.kernel[0] << " x " << s.kernel[1]);
    Way way;
    way.plain = plain;
    way.gap = below(2) * 16 * below(5);
    ExpectExactRescalingForAll(s, 1 + below(3), way, &random);
  }
}

/// Outputs of sums without weights: a byte each, times 1.
template <typename Y>
std::vector<int> OutputsOf(const std::vector<int8_t>& sums, const Rescaling& by,
                           const Residual* residual = nullptr) {
  const ConvolutionShape s = Shape(1, 1, 1, {{static_cast<int>(sums.size()), 1}});
  const auto convolution = Int8Convolution::Make(s, /*plain_input=*/true);
  const size_t block = convolution->block();
  const int8_t one = 1;
  std::vector<int8_t> packed(convolution->packed_size());
  convolution->PackWeights(&one, packed.data());
  std::vector<double> scratch(convolution->scratch_bytes(1) / sizeof(double) + 1);
  std::vector<Y> y(sums.size() * block);
  convolution->Forward(1, sums.data(), packed.data(), by, scratch.data(), y.data(), residual);
  std::vector<int> result;
  for (size_t i = 0; i < y.size(); i += block) result.push_back(y[i]);
  return result;
}

TEST_P(Int8Rescaling, RoundsHalvesAsItsKindOfRoundingSays) {
  const std::vector<int8_t> sums = {0, 1, 2, 3, 5, 6, -1, -2, -3, -5, -6, -10};
  const int32_t bias = 0, multiplier = 1 << 30;
  int32_t shift;
  Rescaling by;
  by.bias = &bias;
  by.multipliers = &multiplier;
  by.shifts = &shift;
  by.least = -128;
  by.most = 127;
  const auto outputs = [&](Rounding rounding, int32_t with_shift) {
    by.rounding = rounding;
    shift = with_shift;
    return OutputsOf<int8_t>(sums, by);
  };
  const std::vector<int> half = {0, 1, 1, 2, 3, 3, 0, -1, -1, -2, -3, -5};
  EXPECT_EQ(outputs(Rounding::DOUBLE, 0), half) << "halves go up";
  EXPECT_EQ(outputs(Rounding::SINGLE, 0), half) << "halves go up";
  EXPECT_EQ(outputs(Rounding::DOUBLE, -1),
            (std::vector<int>{0, 1, 1, 1, 2, 2, 0, -1, -1, -1, -2, -3}))
      << "a quarter: halves go up, then away from zero";
  EXPECT_EQ(outputs(Rounding::SINGLE, -1),
            (std::vector<int>{0, 0, 1, 1, 1, 2, 0, 0, -1, -1, -1, -2}))
      << "a quarter: halves go up";
  EXPECT_EQ(outputs(Rounding::DOUBLE, 2),
            (std::vector<int>{0, 2, 4, 6, 10, 12, -2, -4, -6, -10, -12, -20}));
  EXPECT_EQ(outputs(Rounding::SINGLE, 2),
            (std::vector<int>{0, 2, 4, 6, 10, 12, -2, -4, -6, -10, -12, -20}));
}

TEST_P(Int8Rescaling, MultipliesNegativeSumsByTheirOwnNumbers) {
  const int32_t bias = 1, multiplier = 1 << 30, shift = 1, other = 3 << 29, other_shift = -1;
  Rescaling by;
  by.bias = &bias;
  by.multipliers = &multiplier;
  by.shifts = &shift;
  by.negative_multipliers = &other;  // 3 / 8
  by.negative_shifts = &other_shift;
  by.zero_point = 10;
  EXPECT_EQ(OutputsOf<uint8_t>({-128, -9, -2, -1, 0, 1, 127}, by),
            (std::vector<int>{0, 7, 9, 10, 11, 12, 138}))
      << "-1 times 3 / 8 becomes -0.75, -1 and -0.5, -1";
  by.least = 7;
  by.most = 100;
  EXPECT_EQ(OutputsOf<uint8_t>({-128, -9, 0, 127}, by), (std::vector<int>{7, 7, 11, 100}));
}

TEST_P(Int8Rescaling, SlopesMayBeNegativeZeroOrAboveOne) {
  const std::vector<int8_t> sums = {-128, -9, -4, -2, -1, 0, 1, 127};
  const int32_t bias = 0, multiplier = 1 << 30, shift = 0;
  int32_t other, other_shift;
  Rescaling by;
  by.bias = &bias;
  by.multipliers = &multiplier;  // a half
  by.shifts = &shift;
  by.negative_multipliers = &other;
  by.negative_shifts = &other_shift;
  by.zero_point = 10;
  const auto outputs = [&](Rounding rounding, int32_t value, int32_t with_shift) {
    by.rounding = rounding;
    other = value;
    other_shift = with_shift;
    return OutputsOf<uint8_t>(sums, by);
  };
  EXPECT_EQ(outputs(Rounding::DOUBLE, -(3 << 29), -1),
            (std::vector<int>{58, 14, 12, 11, 11, 10, 11, 74}))
      << "-3 / 8: products with negative slopes are positive, and their halves go up twice";
  EXPECT_EQ(outputs(Rounding::SINGLE, -(3 << 29), -1),
            (std::vector<int>{58, 13, 12, 11, 10, 10, 11, 74}))
      << "-3 / 8";
  for (const Rounding rounding : {Rounding::DOUBLE, Rounding::SINGLE}) {
    const std::vector<int> none = {10, 10, 10, 10, 10, 10, 11, 74};
    EXPECT_EQ(outputs(rounding, 0, 0), none);
    EXPECT_EQ(outputs(rounding, 1 << 30, -29), none);
    EXPECT_EQ(outputs(rounding, -(1 << 30), -30), none);
    EXPECT_EQ(outputs(rounding, 2147483647, -31), none);
    EXPECT_EQ(outputs(rounding, 3 << 29, 0), (std::vector<int>{0, 3, 7, 9, 9, 10, 11, 74}))
        << "3 / 4, a slope of 3 / 2";
    EXPECT_EQ(outputs(rounding, 1 << 30, 2), (std::vector<int>{0, 0, 2, 6, 8, 10, 11, 74}))
        << "2, a slope of 4";
  }
}

TEST_P(Int8Rescaling, SumsMayUseAll32Bits) {
  const int terms = 66000;
  const ConvolutionShape s = Shape(terms, 2, 1, {{1, 1}});
  const std::vector<uint8_t> x(terms, 255);
  std::vector<int8_t> weights(terms, 127);
  weights.resize(2 * terms, -127);
  const std::vector<int32_t> multipliers = {1 << 30, 1 << 30}, shifts = {-23, -23};
  const Int8InnerProduct product(terms, 2);
  for (const Rounding rounding : {Rounding::DOUBLE, Rounding::SINGLE}) {
    // 66000 * 255 * 127 = 2137410000, which the biases bring to both ends.
    const std::vector<int32_t> bias = {10073647, -10073648};
    Rescaling by;
    by.bias = bias.data();
    by.multipliers = multipliers.data();
    by.shifts = shifts.data();
    by.rounding = rounding;
    by.zero_point = 120;
    by.most = 250;
    const std::vector<uint8_t> expected = {248, 0};
    ExpectOutputs(s, 1, {}, x, weights, by, expected);
    by.zero_point = 130;
    ExpectOutputs(s, 1, {}, x, weights, by, std::vector<uint8_t>{250, 2});
    std::vector<int8_t> packed(product.packed_size());
    product.PackWeights(weights.data(), packed.data());
    std::vector<double> scratch(product.scratch_bytes(1) / sizeof(double) + 1);
    std::vector<uint8_t> y(2);
    product.Forward(1, x.data(), packed.data(), by, scratch.data(), y.data());
    EXPECT_EQ(y, (std::vector<uint8_t>{250, 2}));
  }
}

// What fills up blocks is 0 whether the range of bytes has it or not.
TEST_P(Int8Rescaling, LeavesZerosInWhatFillsUpBlocks) {
  SEEDED(random);
  const ConvolutionShape s = Square(5, 3, 1, {4, 3, 1, 1});
  RescalingOf r = RandomRescaling<uint8_t, uint8_t>(3, s.column_rows(), Rounding::DOUBLE,
                                                    Multipliers::USUAL, &random);
  const auto check = [&](int zero_point, int least) {
    r.by.zero_point = zero_point;
    r.by.least = least;
    r.by.most = 255;
    const Rescaling by = At(r);
    const auto x = Bytes<uint8_t>(s.input_size(), &random);
    const auto weights = Bytes<int8_t>(s.weight_count(), &random);
    std::vector<uint8_t> expected;
    for (const int64_t sum : Sums(s, 1, x, weights, by.input_zero_point)) {
      const int o = static_cast<int>(expected.size() / s.output_spatial());
      expected.push_back(static_cast<uint8_t>(Rescaled(by, o, static_cast<int32_t>(sum))));
    }
    ExpectOutputs(s, 1, {}, x, weights, by, expected);
  };
  check(255, 0);
  check(9, 9);
  check(0, 0);
}

template <typename X, typename Y>
void ExpectExactProduct(int num, int inputs, int outputs, Rounding rounding, Multipliers numbers,
                        std::mt19937* random) {
  SCOPED_TRACE(::testing::Message() << num << " x " << inputs << " to " << outputs);
  const auto x = Bytes<X>(size_t(num) * inputs, random);
  const auto w = Bytes<int8_t>(size_t(outputs) * inputs, random);
  const RescalingOf r = RandomRescaling<X, Y>(outputs, inputs, rounding, numbers, random);
  const Rescaling by = At(r);
  std::vector<Y> expected;
  for (int n = 0; n < num; ++n) {
    for (int o = 0; o < outputs; ++o) {
      int32_t sum = 0;
      for (int k = 0; k < inputs; ++k) sum += int(x[n * inputs + k]) * w[o * inputs + k];
      expected.push_back(static_cast<Y>(Rescaled(by, o, sum)));
    }
  }
  expected.push_back(Y(77));
  const Int8InnerProduct product(inputs, outputs);
  std::vector<int8_t> packed(product.packed_size());
  product.PackWeights(w.data(), packed.data());
  for (const int threads : {1, 2}) {
    const TeamSize team(threads);
    std::vector<Y> y(expected.size(), Y(77));
    std::vector<double> scratch(product.scratch_bytes(num) / sizeof(double) + 1, NAN);
    product.Forward(num, x.data(), packed.data(), by, scratch.data(), y.data());
    EXPECT_EQ(y, expected) << threads << " threads";
  }
}

TEST_P(Int8Rescaling, IsExactForInnerProducts) {
  SEEDED(random);
  for (int num = 1; num < 9; ++num) {
    const int inputs = 1 + random() % 700, outputs = 1 + random() % 150;
    ExpectExactProduct<uint8_t, uint8_t>(num, inputs, outputs, Rounding::DOUBLE, Multipliers::USUAL,
                                         &random);
    ExpectExactProduct<int8_t, int8_t>(num, inputs, outputs, Rounding::SINGLE, Multipliers::ALL,
                                       &random);
    ExpectExactProduct<uint8_t, int8_t>(num, inputs, outputs, Rounding::DOUBLE,
                                        Multipliers::NEGATIVE, &random);
    ExpectExactProduct<int8_t, uint8_t>(num, inputs, outputs, Rounding::SINGLE, Multipliers::USUAL,
                                        &random);
  }
  ExpectExactProduct<int8_t, int8_t>(70, 3000, 24, Rounding::DOUBLE, Multipliers::USUAL, &random);
}

TEST_P(Int8Rescaling, RefusesZeroPointsAndRangesThatAreNoBytes) {
  const int32_t number = 0;
  Rescaling by;
  by.bias = by.multipliers = by.shifts = &number;
  EXPECT_THROW(OutputsOf<int8_t>({0}, by), Error) << "most is 255";
  EXPECT_NO_THROW(OutputsOf<uint8_t>({0}, by));
  by.zero_point = 256;
  EXPECT_THROW(OutputsOf<uint8_t>({0}, by), Error);
  by.zero_point = 0;
  by.least = -1;
  EXPECT_THROW(OutputsOf<uint8_t>({0}, by), Error);
}

TEST_P(Int8Rescaling, RefusesAResidualWhoseSumIsOfOtherBytes) {
  const int32_t number = 0;
  const uint8_t added[16] = {};
  Residual residual;
  residual.data = added;
  Rescaling by;
  by.bias = by.multipliers = by.shifts = &number;
  EXPECT_THROW(OutputsOf<uint8_t>({0}, by, &residual), Error) << "no form";
  const FoundByteSum found(residual.sum, 0, 255, true, true);
  residual.form = &found.form();
  EXPECT_NO_THROW(OutputsOf<uint8_t>({0}, by, &residual));
  EXPECT_THROW(OutputsOf<int8_t>({0}, by, &residual), Error) << "the sum's most is 255";
  by.least = 3;
  EXPECT_THROW(OutputsOf<uint8_t>({0}, by, &residual), Error);
}

/// The end in floats, with zero points.
template <typename X, typename Y>
void ExpectExactFloats(const ConvolutionShape& s, const Activation& activation,
                       int input_zero_point, int zero_point, const Way& way, std::mt19937* random) {
  SCOPED_TRACE(::testing::Message() << s.channels << " channels, zero points " << input_zero_point
                                    << " and " << zero_point);
  const int num = 2;
  const std::vector<X> x = Bytes<X>(num * s.input_size(), random);
  const std::vector<int8_t> weights = Bytes<int8_t>(s.weight_count(), random);
  const std::vector<float> scale(s.outputs, 1.f / 4096), bias = Floats(s.outputs, 1, random);
  PostOps post;
  post.scale = scale.data();
  post.bias = bias.data();
  post.activation = activation;
  post.factor = 2;
  post.zero_point = zero_point;
  std::vector<Y> expected;
  for (const int64_t sum : Sums(s, num, x, weights, input_zero_point)) {
    const size_t o = expected.size() / s.output_spatial() % s.outputs;
    expected.push_back(Finished<Y, Y>(post, sum, o, static_cast<const Y*>(nullptr)));
  }
  ExpectOutputs<X, Y>(s, num, way, x, weights, post, expected, {}, {}, input_zero_point);
}

TEST_P(Int8Rescaling, ZeroPointsAreForTheEndInFloatsToo) {
  SEEDED(random);
  const Activation nothing, relu = {Activation::RELU, 0, 0}, clip = {Activation::CLIP, -1, 6};
  for (const Activation& activation : {nothing, relu, clip}) {
    const auto check = [&](const ConvolutionShape& s, const Way& way) {
      ExpectExactFloats<uint8_t, uint8_t>(s, activation, 200, 77, way, &random);
      ExpectExactFloats<int8_t, int8_t>(s, activation, -128, -100, way, &random);
      ExpectExactFloats<int8_t, uint8_t>(s, activation, 5, 255, way, &random);
      ExpectExactFloats<uint8_t, float>(s, activation, 128, 9, way, &random);
    };
    check(Square(20, 19, 1, {9, 3, 1, 1}), {});
    check(Square(19, 19, 19, {9, 3, 1, 1}), {});
    check(Square(19, 19, 19, {9, 5, 2, 2}), {});
    check(Square(3, 19, 1, {9, 3, 2, 1}), {true, 0, 0});
    check(Square(20, 19, 1, {9, 3, 1, 1}), {false, 4, 0});
  }
}

INSTANTIATE_ON_EVERY_SET(Int8Rescaling);

}  // namespace
}  // namespace caffe::kernels
