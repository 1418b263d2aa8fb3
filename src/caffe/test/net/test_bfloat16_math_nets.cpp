#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

// Nets that multiply in BFLOAT16 say nearly what those that multiply in FLOAT say, and keep their
// weights as they are. Where the processor has no such products both are the same.
namespace caffe {
namespace {

constexpr char kBFloat16Math[] = "default_forward_math: BFLOAT16 default_backward_math: BFLOAT16\n";
constexpr char kStoredInHalf[] = "default_forward_type: FLOAT16 default_backward_type: FLOAT16\n";
// Layers of 1x1, of strides and of several followers, which a net computes together.
constexpr char kMultiplyingLayers[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 20 dim: 20 } } }
  layer { name: "label" type: "DummyData" top: "label" dummy_data_param { shape { dim: 4 }
          data_filler { type: "constant" value: 1 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" convolution_param {
          num_output: 32 kernel_size: 5 stride: 2 bias_term: false weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "conv1" }
  layer { name: "scale1" type: "Scale" bottom: "conv1" top: "conv1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2" convolution_param {
          num_output: 48 kernel_size: 1 weight_filler { type: "xavier" }
          bias_filler { type: "gaussian" std: 0.1 } } }
  layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
  layer { name: "ip" type: "InnerProduct" bottom: "conv2" top: "ip" inner_product_param {
          num_output: 5 weight_filler { type: "xavier" } } })";
constexpr char kSoftmaxLoss[] =
    R"(layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";

std::unique_ptr<Net<float>> FilledNet(const std::string& text, Phase phase) {
  Caffe::set_random_seed(TestSeed());
  std::unique_ptr<Net<float>> net = MakeNet(text, phase);
  Blob<float>* data = net->input_blobs()[0];
  FillWithSines(data);
  return net;
}

/// The length of the difference, relative to the expected vector's.
double Difference(const std::vector<double>& actual, const std::vector<double>& expected) {
  double squares = 1e-20, differences = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    squares += expected[i] * expected[i];
    differences += (actual[i] - expected[i]) * (actual[i] - expected[i]);
  }
  return std::sqrt(differences / squares);
}

void ExpectNearlyTheScoresOfFloatMath(const std::string& layers) {
  for (const std::string types : {"", kStoredInHalf}) {
    const auto expected = FilledNet(types + layers, TEST);
    const auto net = FilledNet(kBFloat16Math + types + layers, TEST);
    expected->Forward();
    net->Forward();
    EXPECT_LT(Difference(Values(*net->blob_by_name("ip")), Values(*expected->blob_by_name("ip"))),
              0.02);
  }
}

TEST(BFloat16MathNets, GiveNearlyTheOutputsOfFloatMath) {
  ExpectNearlyTheScoresOfFloatMath(kMultiplyingLayers);
}

// Of many rows an inner product is oneDNN's, which computes no ReLU.
TEST(BFloat16MathNets, ComputeWhatIsBehindAnInnerProduct) {
  constexpr char kNet[] = R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 256 dim: 48 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param {
            num_output: 64 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" })";
  ExpectNearlyTheScoresOfFloatMath(kNet);
}

// Others run as in a net without those fields.
TEST(BFloat16MathNets, LeaveOtherLayersToWhatComputesThem) {
  constexpr char kNet[] = R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 32 dim: 9 dim: 9 } } }
    layer { name: "norm" type: "LRN" bottom: "data" top: "norm" }
    layer { name: "prob" type: "Softmax" bottom: "norm" top: "prob" })";
  const auto expected = FilledNet(kNet, TEST);
  const auto net = FilledNet(kBFloat16Math + std::string(kNet), TEST);
  expected->Forward();
  net->Forward();
  for (const char* layer : {"norm", "prob"}) {
    EXPECT_STREQ(net->layer_by_name(layer)->forward_engine(),
                 expected->layer_by_name(layer)->forward_engine());
  }
  EXPECT_EQ(Values(*net->blob_by_name("prob")), Values(*expected->blob_by_name("prob")));
}

// Rounded copies are what is multiplied; what a snapshot saves are the weights.
TEST(BFloat16MathNets, KeepTheirWeights) {
  const auto net = FilledNet(kBFloat16Math + std::string(kMultiplyingLayers), TEST);
  std::vector<std::vector<double>> before;
  for (const auto& blob : net->params()) before.push_back(Values(*blob));
  // Not looked at since.
  for (const auto& blob : net->params()) blob->data_tensor().ForgetPointers();
  net->Forward();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(Values(*net->params()[i]), before[i]) << i;
}

// Forward passes of both are the same: what is rounded there makes other ReLUs pass gradients.
TEST(BFloat16MathNets, HaveNearlyTheGradientsOfFloatMath) {
  for (const std::string types : {"", kStoredInHalf}) {
    const std::string text = types + kMultiplyingLayers + kSoftmaxLoss;
    const auto expected = FilledNet(text, TRAIN);
    const auto net = FilledNet("default_backward_math: BFLOAT16 " + text, TRAIN);
    EXPECT_EQ(net->ForwardBackward(), expected->ForwardBackward());
    for (size_t i = 0; i < net->learnable_params().size(); ++i) {
      EXPECT_LT(Difference(Gradients(*net->learnable_params()[i]),
                           Gradients(*expected->learnable_params()[i])),
                0.03)
          << i;
    }
  }
}

TEST(BFloat16MathNets, LearnAsThoseOfFloatMathDo) {
  const auto loss_after = [](const std::string& text) {
    const auto net = FilledNet(text + kMultiplyingLayers + kSoftmaxLoss, TRAIN);
    double loss = 0;
    for (int i = 0; i < 10; ++i) {
      net->ClearParamDiffs();
      loss = net->ForwardBackward();
      for (Blob<float>* blob : net->learnable_params()) blob->scale_diff(0.05f);
      net->Update();
    }
    return loss;
  };
  const double expected = loss_after("");
  EXPECT_LT(expected, 0.5);
  EXPECT_NEAR(loss_after(kBFloat16Math), expected, 0.05 * expected + 0.01);
}

}  // namespace
}  // namespace caffe
