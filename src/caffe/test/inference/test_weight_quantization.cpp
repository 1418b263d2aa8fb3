#include "caffe/inference/quantize/weight_quantization.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "caffe/kernels/weight_pairs.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

LayerParameter LayerOf(const std::string& text) {
  return ParseNet("layer { name: 'it' " + text + " }").layer(0);
}

TEST(WeightScales, AreTheLargestMagnitudeOfARowOver127) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 }");
  const std::vector<float> weights = {1, -127, 3, 254, 0, -2};
  EXPECT_EQ(WeightScales(layer, {2, 3, 1, 1}, weights.data()), (std::vector<float>{1, 2}));
  const QuantizedWeights quantized = QuantizeWeights(layer, {2, 3, 1, 1}, weights.data());
  EXPECT_EQ(quantized.values, (std::vector<int8_t>{1, -127, 3, 127, 0, -1}));
  EXPECT_EQ(DequantizeWeights(layer, {2, 3, 1, 1}, quantized), weights);
}

TEST(WeightScales, OfTransposedInnerProductsGoByColumns) {
  const std::vector<float> weights = {127, 254, -1, 381, 0, 3};  // 2 x 3 or 3 x 2
  EXPECT_EQ(WeightScales(LayerOf("type: 'InnerProduct' inner_product_param { num_output: 2 }"),
                         {2, 3}, weights.data()),
            (std::vector<float>{2, 3}));
  EXPECT_EQ(
      WeightScales(
          LayerOf("type: 'InnerProduct' inner_product_param { num_output: 2 transpose: true }"),
          {3, 2}, weights.data()),
      (std::vector<float>{1, 3}));
}

TEST(WeightScales, OfDeconvolutionsGoByTheSecondAxisInEachGroup) {
  // Four inputs, two groups, two outputs in each; kernels of one element.
  const std::vector<float> weights = {127, 0, 0, 254, 381, 0, 0, 508};
  const LayerParameter layer =
      LayerOf("type: 'Deconvolution' convolution_param { num_output: 4 group: 2 kernel_size: 1 }");
  EXPECT_EQ(WeightScales(layer, {4, 2, 1, 1}, weights.data()), (std::vector<float>{1, 2, 3, 4}));
  const LayerParameter one =
      LayerOf("type: 'Deconvolution' convolution_param { num_output: 2 kernel_size: 1 }");
  EXPECT_EQ(WeightScales(one, {4, 2, 1, 1}, weights.data()), (std::vector<float>{3, 4}));
}

TEST(WeightScales, OfDepthwiseLayersAreOnePerChannel) {
  const std::vector<float> weights = {127, 1, 254, 1, 381, 1};
  for (const char* layer : {"type: 'ConvolutionDepthwise' convolution_param { num_output: 3 }",
                            "type: 'DepthwiseConvolution' convolution_param { num_output: 3 }",
                            "type: 'DepthwiseConvolution' convolution_param { }"}) {
    EXPECT_EQ(WeightScales(LayerOf(layer), {3, 1, 1, 2}, weights.data()),
              (std::vector<float>{1, 2, 3}))
        << layer;
  }
}

TEST(WeightScales, OfADeadChannelIs1) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 3 kernel_size: 1 }");
  const std::vector<float> weights = {0, 1e-40f, 127};
  const QuantizedWeights quantized = QuantizeWeights(layer, {3, 1, 1, 1}, weights.data());
  EXPECT_EQ(quantized.scales, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(quantized.values, (std::vector<int8_t>{0, 0, 127}));
}

TEST(QuantizeWeights, KeepsTheSumsOfKernelsOfOneChannel) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 2 group: 2 kernel_size: 2 }");
  // In steps of 1; rounded one by one the first four are 1.3 steps less.
  const std::vector<float> weights = {127, 0.4f, 1.46f, -3.56f, /**/ -127, -0.4f, -0.45f, 2.45f};
  EXPECT_EQ(QuantizeWeights(layer, {2, 1, 2, 2}, weights.data()).values,
            (std::vector<int8_t>{127, 0, 2, -4, /**/ -127, 0, 0, 2}));
  const std::vector<float> more = {127, 0.4f, 1.46f, 3.44f, /**/ 127, 0, 0, 0};
  EXPECT_EQ(QuantizeWeights(layer, {2, 1, 2, 2}, more.data()).values,
            (std::vector<int8_t>{127, 0, 2, 3, /**/ 127, 0, 0, 0}));
}

TEST(QuantizeWeights, RoundsKernelsOfManyChannelsOneByOne) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 1 kernel_size: 2 }");
  const std::vector<float> weights = {127, 0.4f, 1.46f, -3.56f, /**/ -127, -0.4f, -0.45f, 2.45f};
  EXPECT_EQ(QuantizeWeights(layer, {1, 2, 2, 2}, weights.data()).values,
            (std::vector<int8_t>{127, 0, 1, -4, /**/ -127, 0, 0, 2}));
}

using kernels::WeightPairs;

TEST(QuantizeWeights, ReducesTheRangeWhereNeighboursAreTooLarge) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 3 kernel_size: 1 }");
  const std::vector<int> shape = {3, 6, 1, 1};
  // In steps of 1. The first two of the second filter fit with a scale of 1.5, those of the others
  // with any.
  const std::vector<float> weights = {127,  1,    -100, 90, 0, 0,  //
                                      -127, -63,  1,    1,  0, 0,  //
                                      127,  -127, 64,   64, 0, 0};
  const QuantizedWeights reduced = QuantizeWeights(layer, shape, weights.data(), true);
  const QuantizedWeights whole = QuantizeWeights(layer, shape, weights.data());
  EXPECT_EQ(whole.values, (std::vector<int8_t>(weights.begin(), weights.end()))) << "not asked for";
  for (const size_t first : {0, 12}) {
    for (size_t i = first; i < first + 6; ++i) EXPECT_EQ(reduced.values[i], whole.values[i]);
  }
  EXPECT_EQ(reduced.scales[0], 1);
  EXPECT_EQ(reduced.scales[2], 1);
  EXPECT_GT(reduced.scales[1], 1.4f);
  EXPECT_LT(reduced.scales[1], 1.6f);
  EXPECT_LE(std::abs(reduced.values[6] + reduced.values[7]), 128);
  EXPECT_NEAR(reduced.values[6] * reduced.scales[1], -127, 2);
  EXPECT_NEAR(reduced.values[7] * reduced.scales[1], -63, 2);
}

// A larger scale would cost the many more than it saves the two.
TEST(QuantizeWeights, MakesTwoWeightsSmallerWhereThatIsLess) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 1 kernel_size: 1 }");
  std::vector<float> weights = {127, 4};
  for (int i = 0; i < 400; ++i) weights.push_back(static_cast<float>(i % 60));
  const std::vector<int> shape = {1, 402, 1, 1};
  const QuantizedWeights reduced = QuantizeWeights(layer, shape, weights.data(), true);
  EXPECT_EQ(reduced.scales[0], 1);
  EXPECT_EQ(reduced.values[0], 126) << "127 and 4 are 3 too much";
  EXPECT_EQ(reduced.values[1], 2);
  EXPECT_TRUE(std::equal(weights.begin() + 2, weights.end(), reduced.values.begin() + 2));
}

TEST(QuantizeWeights, ReducesTheRangeOfFewChannelsByColumns) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 1 kernel_h: 1 kernel_w: 3 }");
  const std::vector<float> weights = {127, 0, 127, /**/ 100, 0, 100};
  EXPECT_EQ(QuantizeWeights(layer, {1, 2, 1, 3}, weights.data(), true).values,
            (std::vector<int8_t>{127, 0, 127, /**/ 100, 0, 100}));
  const std::vector<float> columns = {127, 50, 0, /**/ 0, 0, 0};
  const std::vector<int8_t> values =
      QuantizeWeights(layer, {1, 2, 1, 3}, columns.data(), true).values;
  EXPECT_LE(values[0] + values[1], 128);
}

TEST(QuantizeWeights, ReducesOnlyTheRangeOfConvolutionsOfSeveralChannels) {
  const std::vector<float> weights(8, 127);
  const std::vector<int8_t> whole(8, 127);
  const auto reduced = [&](const char* layer, const std::vector<int>& shape) {
    return QuantizeWeights(LayerOf(layer), shape, weights.data(), true).values;
  };
  EXPECT_EQ(
      reduced("type: 'ConvolutionDepthwise' convolution_param { num_output: 2 }", {2, 1, 2, 2}),
      whole);
  EXPECT_EQ(reduced("type: 'Deconvolution' convolution_param { num_output: 2 kernel_size: 2 }",
                    {1, 2, 2, 2}),
            whole);
  EXPECT_EQ(reduced("type: 'InnerProduct' inner_product_param { num_output: 1 }", {1, 8}), whole);
  EXPECT_NE(reduced("type: 'Convolution' convolution_param { num_output: 1 kernel_size: 2 }",
                    {1, 2, 2, 2}),
            whole);
}

/// The mean square of what rounding does to weights, in squared steps of whole range.
double MeanSquareOf(const LayerParameter& layer, const std::vector<int>& shape,
                    const std::vector<float>& weights, const QuantizedWeights& quantized,
                    const std::vector<float>& scales) {
  const std::vector<float> back = DequantizeWeights(layer, shape, quantized);
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double off =
        (back[i] - double(weights[i])) / scales[i / (weights.size() / scales.size())];
    sum += off * off;
  }
  return sum / static_cast<double>(weights.size());
}

TEST(QuantizeWeights, AReducedRangeCostsLessThanABit) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int run = 0; run < 20; ++run) {
    const int group = 1 + run % 2, inputs = 2 + random() % 64, kernel = 1 + 2 * (random() % 2);
    const int outputs = group * (1 + random() % 8);
    const LayerParameter layer =
        LayerOf(Join("type: 'Convolution' convolution_param { num_output: ", outputs,
                     " group: ", group, " kernel_size: ", kernel, " }"));
    const std::vector<int> shape = {outputs, inputs, kernel, kernel};
    std::vector<float> weights(size_t(outputs) * inputs * kernel * kernel);
    for (float& weight : weights) weight = normal(random);
    const QuantizedWeights whole = QuantizeWeights(layer, shape, weights.data());
    const QuantizedWeights reduced = QuantizeWeights(layer, shape, weights.data(), true);
    const bool plain = group == 1 && inputs <= 4;
    const WeightPairs pairs(inputs, {kernel, kernel}, /*column_dilation=*/1, plain);
    const size_t filter = weights.size() / outputs;
    for (int o = 0; o < outputs; ++o) {
      EXPECT_GE(reduced.scales[o], whole.scales[o]);
      EXPECT_LE(reduced.scales[o], 2 * whole.scales[o]);
      pairs.ForEach([&](size_t i, size_t j) {
        EXPECT_TRUE(
            WeightPairs::Fits(reduced.values[o * filter + i], reduced.values[o * filter + j]));
      });
    }
    // With a bit less, twice the step, it would be four times that of all 8 bits.
    const double eight = MeanSquareOf(layer, shape, weights, whole, whole.scales);
    EXPECT_LT(MeanSquareOf(layer, shape, weights, reduced, whole.scales), 2.5 * eight + 0.02);
  }
}

TEST(RoundWithinRange, SaturatesAndMakesPairsFit) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 }");
  const std::vector<float> weights = {300, 2, -100, -60, 5, 6};
  std::vector<int8_t> values(6);
  RoundWithinRange(layer, {2, 6, 1, 1}, weights.data(), 1, values.data());
  EXPECT_EQ(values, (std::vector<int8_t>{127, 1, -84, -44, 5, 6}));
}

TEST(WeightScales, NoWeightSaturatesAndKernelsAreOffByHalfAStepAtMost) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int run = 0; run < 20; ++run) {
    const int groups = 1 + random() % 3, inputs = groups * (1 + random() % 5);
    const int outputs = groups * (1 + random() % 6), kernel = 1 + random() % 3;
    const bool transposed = random() % 2;
    const LayerParameter layer =
        LayerOf(Join("type: '", transposed ? "Deconvolution" : "Convolution",
                     "' convolution_param { num_output: ", outputs, " group: ", groups,
                     " kernel_size: ", kernel, " }"));
    const std::vector<int> shape = transposed
                                       ? std::vector<int>{inputs, outputs / groups, kernel, kernel}
                                       : std::vector<int>{outputs, inputs / groups, kernel, kernel};
    std::vector<float> weights(size_t(inputs / groups) * outputs * kernel * kernel);
    for (float& weight : weights) weight = std::exp(2 * normal(random)) * normal(random);
    const QuantizedWeights quantized = QuantizeWeights(layer, shape, weights.data());
    const std::vector<float> back = DequantizeWeights(layer, shape, quantized);
    std::vector<int> largest(outputs, 0);
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const int plane = kernel * kernel, first = int(i) / plane;
      const int channel =
          transposed ? first / (outputs / groups) / (inputs / groups) * (outputs / groups) +
                           first % (outputs / groups)
                     : first / (inputs / groups);
      const double scale = quantized.scales[channel];
      const bool alone = transposed || kernel == 1 || inputs > groups;
      ASSERT_LE(std::fabs(back[i] - double(weights[i])), (alone ? 0.5001 : 1.0001) * scale);
      sum = (int(i) % plane == 0 ? 0 : sum) + back[i] - double(weights[i]);
      if (!alone && int(i) % plane == plane - 1) {
        ASSERT_LE(std::fabs(sum), 0.501 * scale);
      }
      largest[channel] = std::max(largest[channel], std::abs(int(quantized.values[i])));
    }
    EXPECT_EQ(largest, std::vector<int>(outputs, 127));
  }
}

TEST(WeightScales, RefuseWhatIsNotFiniteAndWhatDoesNotFit) {
  const LayerParameter layer =
      LayerOf("type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 }");
  const std::vector<float> weights = {1, NAN, 3, 4};
  ExpectContains(ErrorOf([&] {
                   WeightScales(layer, {2, 2, 1, 1}, weights.data());
                 }),
                 "layer 'it' (Convolution): there are NaN or infinities");
  ExpectContains(ErrorOf([&] {
                   WeightScales(layer, {3, 1, 1, 1}, weights.data());
                 }),
                 "3 weights do not fall into 2 output channels");
  EXPECT_FALSE(HasWeightScales("ReLU"));
}

}  // namespace
}  // namespace caffe
