#include <cmath>

#include "caffe/net.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kDropoutCases = {
    LayerCase("Half", "type: 'Dropout'").Bottom({3, 7, 5}).InPlace(),
    LayerCase("Quarter", "type: 'Dropout' dropout_param { dropout_ratio: 0.25 }")
        .Bottom({2, 1500})
        .InPlace(),
    LayerCase("Test", "type: 'Dropout' phase: TEST").Bottom({3, 7}).InPlace(),
    LayerCase("Sampled", "type: 'Dropout' phase: TEST dropout_param { sample_weights_test: true }")
        .Bottom({3, 7, 5})
        .InPlace(),
};
INSTANTIATE_TEST_SUITE_P(Dropout, LayerCases, ::testing::ValuesIn(kDropoutCases), CaseName());

const std::vector<BadLayerCase> kDropoutBadCases = {
    BadLayerCase("RatioOne", "type: 'Dropout' dropout_param { dropout_ratio: 1 }")
        .Bottom({2})
        .Says("dropout_ratio must be at least 0 and less than 1, got 1"),
    BadLayerCase("RatioNegative", "type: 'Dropout' dropout_param { dropout_ratio: -0.5 }")
        .Bottom({2})
        .Says("dropout_ratio"),
};
INSTANTIATE_TEST_SUITE_P(Dropout, BadLayerCases, ::testing::ValuesIn(kDropoutBadCases), CaseName());

// Bayesian SegNet: each pass in the TEST phase is another sample.
TEST(DropoutValues, BackwardNeedsAMask) {
  Example example("type: 'Dropout'");
  example.Bottom({2}, {1, 2}).SetUp();
  EXPECT_THROW(example.Backward({1, 1}), Error);
  example.Forward();
  EXPECT_EQ(example.Backward({1, 1}).size(), 2u);
}

TEST(DropoutValues, SampleWeightsTestDropsInTheTestPhase) {
  constexpr int kCount = 10000;
  Example example(
      "type: 'Dropout' phase: TEST dropout_param { dropout_ratio: 0.25 sample_weights_test: true "
      "}");
  example.Bottom({kCount}, Floats(kCount, 3)).SetUp();
  const auto sample = [&](unsigned seed) {
    Caffe::set_random_seed(seed);
    return example.Forward();
  };
  const unsigned seed = TestSeed();
  const Floats y = sample(seed);
  const auto dropped = std::count(y.begin(), y.end(), 0.f);
  EXPECT_NEAR(dropped, kCount / 4, 6 * std::sqrt(kCount * 0.25 * 0.75));
  EXPECT_EQ(std::count(y.begin(), y.end(), 4.f), kCount - dropped);
  EXPECT_EQ(sample(seed), y);
  EXPECT_NE(sample(seed + 1), y);
  EXPECT_EQ(example.Backward(Floats(kCount, 3)), sample(seed + 1)) << "of the latest pass";
}

TEST(DropoutValues, SampleWeightsTestChangesNothingInTheTrainPhase) {
  const auto run = [](const std::string& field) {
    Example example("type: 'Dropout' dropout_param { " + field + " }");
    example.Bottom({100}, Floats(100, 1)).SetUp();
    Caffe::set_random_seed(TestSeed());
    return example.Forward();
  };
  EXPECT_EQ(run("sample_weights_test: true"), run(""));
}

// Its blobs are kept: another pass would give other values.
TEST(DropoutValues, ATestNetsSamplesAreNotComputedAgain) {
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      state { phase: TEST }
      layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 64 } } }
      layer { name: 'drop' type: 'Dropout' bottom: 'data' top: 'drop'
              dropout_param { sample_weights_test: true } }
      layer { name: 'double' type: 'Power' bottom: 'drop' top: 'double' power_param { scale: 2 } })",
                                                            &param));
  Net<float> net(param);
  std::fill_n(net.input_blobs()[0]->mutable_cpu_data(), 64, 1.f);
  net.Forward();
  const float* twice = net.output_blobs()[0]->cpu_data();
  const Floats before(twice, twice + 64);
  const float* once = net.blob_by_name("drop")->cpu_data();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(2 * once[i], before[i]) << i;
}

}  // namespace
}  // namespace caffe
