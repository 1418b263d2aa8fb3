// Values computed by hand, for what the harness compares with the layers themselves.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"

namespace caffe {
namespace {

TEST(ConvolutionValues, CorrelatesAndAddsTheBias) {
  Example example("type: 'Convolution' convolution_param { num_output: 1 kernel_size: 2 }");
  example.Bottom({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).SetUp();
  example.Parameter(0, {1, 0, 0, 10}).Parameter(1, {100});
  EXPECT_EQ(example.Forward(), (Floats{151, 162, 184, 195}));
}

TEST(ConvolutionValues, PadsWithZerosAndStrides) {
  Example example(
      "type: 'Convolution' convolution_param { num_output: 1 kernel_size: 3 pad: 1 stride: 2 "
      "bias_term: false }");
  example.Bottom({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).SetUp();
  example.Parameter(0, Floats(9, 1));
  EXPECT_EQ(example.Forward(), (Floats{12, 16, 24, 28}));
}

TEST(ConvolutionValues, GroupsSeeTheirOwnChannels) {
  Example example(
      "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 group: 2 bias_term: "
      "false }");
  example.Bottom({1, 2, 1, 2}, {1, 2, 3, 4}).SetUp();
  example.Parameter(0, {10, 100});
  EXPECT_EQ(example.Forward(), (Floats{10, 20, 300, 400}));
}

TEST(InnerProductValues, MultipliesRows) {
  Example example("type: 'InnerProduct' inner_product_param { num_output: 2 }");
  example.Bottom({2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  example.Parameter(0, {1, 0, 0, 0, 1, 1}).Parameter(1, {0.5, -1});
  EXPECT_EQ(example.Forward(), (Floats{1.5, 4, 4.5, 10}));
}

TEST(PoolingValues, TheFirstMaximumWins) {
  Example example("type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 1 }", 2);
  example.Bottom({1, 1, 2, 3}, {5, 5, 1, 2, 3, 9}).SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{5, 9}));
  EXPECT_EQ(example.Forward(1), (Floats{0, 5}));
}

TEST(PoolingValues, GradientsGoToTheMaxima) {
  Example example("type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 1 }");
  example.Bottom({1, 1, 2, 3}, {1, 7, 1, 2, 3, 4}).SetUp();
  example.Forward();
  EXPECT_EQ(example.Backward({10, 1}), (Floats{0, 11, 0, 0, 0, 0}));
}

// Averages count padding, but not what lies behind the padding.
TEST(PoolingValues, AveragesCountPadding) {
  Example example("type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }");
  example.Bottom({1, 1, 3, 3}, Floats(9, 9)).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{4, 4, 4, 4}));
}

TEST(PoolingValues, SizesRoundUpUnlessToldOtherwise) {
  const std::string param = "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 ";
  const Floats zeros(25, 0);
  EXPECT_EQ(Example(param + "}").Bottom({1, 1, 5, 5}, zeros).SetUp().TopShape(),
            (std::vector<int>{1, 1, 3, 3}));
  EXPECT_EQ(Example(param + "round_mode: FLOOR }").Bottom({1, 1, 5, 5}, zeros).SetUp().TopShape(),
            (std::vector<int>{1, 1, 2, 2}));
  // The last window would begin behind the image: left out.
  EXPECT_EQ(Example(param + "pad: 1 }").Bottom({1, 1, 5, 5}, zeros).SetUp().TopShape(),
            (std::vector<int>{1, 1, 3, 3}));
}

TEST(LrnValues, AcrossChannels) {
  Example example("type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 1 k: 1 }");
  example.Bottom({1, 3, 1, 1}, {1, 2, 3}).SetUp();
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 1 / (1 + 1 + 4.f));
  EXPECT_FLOAT_EQ(y[1], 2 / (1 + 1 + 4 + 9.f));
  EXPECT_FLOAT_EQ(y[2], 3 / (1 + 4 + 9.f));
}

TEST(LrnValues, WithinAChannelWindowsCountTheirPadding) {
  Example example(
      "type: 'LRN' lrn_param { local_size: 3 alpha: 9 beta: 1 norm_region: WITHIN_CHANNEL }");
  example.Bottom({1, 1, 1, 2}, {1, 2}).SetUp();
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 1 / (1 + 5.f));
  EXPECT_FLOAT_EQ(y[1], 2 / (1 + 5.f));
}

TEST(ReluValues, SlopesBelowZero) {
  Example example("type: 'ReLU' relu_param { negative_slope: 0.5 }");
  example.Bottom({4}, {-2, 0, 3, -1}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, 0, 3, -0.5}));
  EXPECT_EQ(example.Backward({1, 1, 1, 2}), (Floats{0.5, 0.5, 1, 1}));
}

TEST(SoftmaxValues, LargeLogitsDoNotOverflow) {
  Example example("type: 'Softmax'");
  example.Bottom({1, 2}, {10000, 10000}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0.5, 0.5}));
}

TEST(SoftmaxLossValues, IsTheMeanNegativeLogarithm) {
  Example example("type: 'SoftmaxWithLoss'");
  example.Bottom({2, 2}, {0, std::log(3.f), 0, 0}).Bottom({2}, {1, 0}).SetUp();
  EXPECT_NEAR(example.loss(), (std::log(4. / 3) + std::log(2.)) / 2, 1e-6);
}

TEST(SoftmaxLossValues, IgnoredLabelsCountForNothing) {
  Example example("type: 'SoftmaxWithLoss' loss_param { ignore_label: 9 }");
  example.Bottom({2, 2}, {0, std::log(3.f), 5, 0}).Bottom({2}, {1, 9}).SetUp();
  EXPECT_NEAR(example.loss(), std::log(4. / 3), 1e-6);
  const Floats gradient = example.Backward({1});
  EXPECT_NEAR(gradient[0], 0.25, 1e-6);
  EXPECT_NEAR(gradient[1], -0.25, 1e-6);
  EXPECT_EQ(gradient[2], 0);
  EXPECT_EQ(gradient[3], 0);
}

TEST(SoftmaxLossValues, AVanishingProbabilityIsNoInfinity) {
  Example example("type: 'SoftmaxWithLoss'");
  example.Bottom({1, 2}, {0, 1000}).Bottom({1}, {0}).SetUp();
  EXPECT_FLOAT_EQ(example.loss(), 1000);
}

TEST(AccuracyValues, CountsRankAndTies) {
  Example example("type: 'Accuracy' accuracy_param { top_k: 1 }", 2);
  example.Bottom({4, 3}, {3, 2, 1, 1, 2, 3, 5, 5, 0, 0, 1, 0}).Bottom({4}, {0, 1, 0, 1}).SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{0.5})) << "a tie is no hit";
  EXPECT_EQ(example.Forward(1), (Floats{0.5, 0.5, 0}));
}

TEST(BatchNormValues, NormalizesAndKeepsRunningSums) {
  Example example("type: 'BatchNorm' batch_norm_param { eps: 0 moving_average_fraction: 0.5 }");
  example.Bottom({2, 2}, {1, 10, 3, 30}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, -1, 1, 1}));
  const auto& blobs = example.layer().blobs();
  EXPECT_FLOAT_EQ(blobs[0]->cpu_data()[0], 2);
  EXPECT_FLOAT_EQ(blobs[1]->cpu_data()[1], 200) << "the unbiased variance";
  EXPECT_FLOAT_EQ(blobs[2]->cpu_data()[0], 1);
  example.Forward();
  EXPECT_FLOAT_EQ(blobs[0]->cpu_data()[0], 3);
  EXPECT_FLOAT_EQ(blobs[2]->cpu_data()[0], 1.5);
}

TEST(BatchNormValues, TheTestPhaseUsesTheStatistics) {
  Example example("type: 'BatchNorm' phase: TEST batch_norm_param { eps: 0 }");
  example.Bottom({1, 1}, {7}).SetUp();
  example.Parameter(0, {6}).Parameter(1, {8}).Parameter(2, {2});  // mean 3, variance 4
  EXPECT_EQ(example.Forward(), (Floats{2}));
}

TEST(ScaleValues, OnePerChannel) {
  Example example("type: 'Scale' scale_param { bias_term: true }");
  example.Bottom({1, 2, 2}, {1, 2, 3, 4}).SetUp();
  example.Parameter(0, {10, 100}).Parameter(1, {1, 2});
  EXPECT_EQ(example.Forward(), (Floats{11, 21, 302, 402}));
}

TEST(EltwiseValues, SumsWithCoefficients) {
  Example example("type: 'Eltwise' eltwise_param { coeff: 2 coeff: -1 }");
  example.Bottom({2}, {1, 2}).Bottom({2}, {10, 20}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-8, -16}));
}

// Of two that are equal, Caffe gives the gradient to the second.
TEST(EltwiseValues, OneOfEqualMaximaGetsTheGradient) {
  Example example("type: 'Eltwise' eltwise_param { operation: MAX }");
  example.Bottom({3}, {1, 5, 6}).Bottom({3}, {1, 9, 2}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 9, 6}));
  EXPECT_EQ(example.Backward({3, 4, 5}), (Floats{0, 0, 5}));
}

TEST(DropoutValues, KeepsTheExpectation) {
  Example example("type: 'Dropout' dropout_param { dropout_ratio: 0.75 }");
  example.Bottom({10000}, Floats(10000, 1)).SetUp();
  double sum = 0;
  for (float y : example.Forward()) {
    EXPECT_TRUE(y == 0 || y == 4);
    sum += y;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.1);
}

TEST(ConcatValues, OneBehindTheOther) {
  Example example("type: 'Concat'");
  example.Bottom({2, 1}, {1, 2}).Bottom({2, 2}, {3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 3, 4, 2, 5, 6}));
}

TEST(DummyDataValues, ConstantsOnceRandomNumbersAnew) {
  Example example(
      "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { shape { dim: 2 } shape { dim: 2 } "
      "data_filler { type: 'constant' value: 3 } data_filler { type: 'gaussian' std: 1 } }",
      2);
  example.SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{3, 3}));
  EXPECT_NE(example.Forward(1), example.Forward(1));
}

}  // namespace
}  // namespace caffe
