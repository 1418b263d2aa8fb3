// What differentiates nets of the TEST phase: force_backward, where layers work in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

using Numbers = std::vector<double>;

/// The layer that ends in `fields`, behind one that has its bottom to itself; in place or not. The
/// loss is the sum of its magnitudes.
std::unique_ptr<Net<float>> NetOf(const std::string& fields, bool in_place,
                                  const std::string& head = "force_backward: true",
                                  Phase phase = TEST) {
  const char* top = in_place ? "z" : "y";
  return MakeNet(Join(head, R"(
      layer { name: 'in' type: 'Input' top: 'x' input_param {
        shape { dim: 3 dim: 2 dim: 4 dim: 1 } } }
      layer { name: 'before' type: 'Scale' bottom: 'x' top: 'z' scale_param {
        filler { value: 0.7 } } }
      layer { name: 'layer' bottom: 'z' top: ')",
                      top, "' ", fields, R"( }
      layer { name: 'loss' type: 'Reduction' bottom: ')",
                      top, "' top: 'loss' loss_weight: 1 reduction_param { operation: ASUM } }"),
                 phase);
}

/// The gradients of the net's input and of all parameters, of random values.
std::vector<Numbers> GradientsOf(Net<float>* net) {
  std::mt19937 random(TestSeed());
  std::normal_distribution<float> normal;
  Blob<float>& input = *net->input_blobs()[0];
  std::generate_n(input.mutable_cpu_data(), input.count(), [&] { return normal(random); });
  net->Forward();
  net->ClearParamDiffs();
  net->Backward();
  std::vector<Numbers> found = {Gradients(input)};
  for (const Blob<float>* param : net->learnable_params()) found.push_back(Gradients(*param));
  return found;
}

void ExpectNearGradients(const std::vector<Numbers>& found, const std::vector<Numbers>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (size_t j = 0; j < found[i].size(); ++j) {
      EXPECT_NEAR(found[i][j], expected[i][j], 1e-5) << "blob " << i << ", number " << j;
    }
  }
}

const char* const kLayers[] = {
    "type: 'PReLU' prelu_param { filler { value: -0.3 } }",
    "type: 'PReLU' prelu_param { filler { value: 0 } }",
    "type: 'Swish'",
    "type: 'GELU'",
    "type: 'HardSwish'",
    "type: 'BNLL'",
    "type: 'Clip' clip_param { min: -0.5 max: 0.5 }",
    "type: 'Scale' scale_param { bias_term: true filler { value: 1.5 } }",
    "type: 'BatchNorm' batch_norm_param { use_global_stats: false }",
    "type: 'BatchNorm' batch_norm_param { use_global_stats: false scale_bias: true }",
    "type: 'BatchNorm' batch_norm_param { scale_bias: true }",
    "type: 'BatchNorm' engine: 'REFERENCE' batch_norm_param { use_global_stats: false }",
    "type: 'BN'",
};

class GradientsInTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GradientsInTest, InPlaceAreThoseOfATopOfItsOwn) {
  const auto in_place = NetOf(GetParam(), true), apart = NetOf(GetParam(), false);
  ExpectNearGradients(GradientsOf(in_place.get()), GradientsOf(apart.get()));
}
INSTANTIATE_TEST_SUITE_P(Layers, GradientsInTest, ::testing::ValuesIn(kLayers));

TEST(GradientsInTestPhase, OfBatchStatisticsAreThoseOfTheTrainPhase) {
  for (const std::string engine : {"", "engine: 'REFERENCE' ", "engine: 'ONEDNN' "}) {
    const std::string fields = "type: 'BatchNorm' " + engine +
                               "batch_norm_param { use_global_stats: false scale_bias: true }";
    const auto expected = GradientsOf(NetOf(fields, false, "force_backward: true", TRAIN).get());
    ExpectNearGradients(GradientsOf(NetOf(fields, false).get()), expected);
    // Nothing is kept, and computed from the bottom.
    const auto plain = NetOf(fields, false, "");
    const std::vector<Numbers> found = GradientsOf(plain.get());
    for (size_t i = 1; i < found.size(); ++i) ExpectNearGradients({found[i]}, {expected[i]});
  }
}

TEST(GradientsInTestPhase, WhatWasNotKeptIsRefusedWithARemedy) {
  for (const char* fields : {"type: 'PReLU' prelu_param { filler { value: 0 } }", "type: 'Swish'",
                             "type: 'BatchNorm' batch_norm_param { use_global_stats: false }"}) {
    const auto net = NetOf(fields, true, "");
    try {
      GradientsOf(net.get());
      ADD_FAILURE() << fields;
    } catch (const Error& error) {
      EXPECT_EQ(error.layer(), "layer");
      EXPECT_NE(error.remedy().find("force_backward: true"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace caffe
