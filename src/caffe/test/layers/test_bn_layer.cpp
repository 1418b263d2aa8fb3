#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kFillers =
    "slope_filler { type: 'gaussian' mean: 1 std: 0.5 } bias_filler { type: 'gaussian' std: 1 } ";
const std::string kSegNetFillers =
    "scale_filler { type: 'gaussian' mean: 1 std: 0.5 } shift_filler { type: 'gaussian' std: 1 } ";

std::string Bn(const std::string& param, const std::string& phase = "TRAIN") {
  return "type: 'BN' phase: " + phase + " bn_param { " + param + " }";
}

const std::vector<LayerCase> kBnCases = {
    LayerCase("Learning", Bn(kFillers)).Bottom({4, 3, 2, 3}).InPlace().Tolerance(10),
    LayerCase("LargeEps", Bn(kFillers + "eps: 0.5 momentum: 0.5"))
        .Bottom({4, 3, 2, 3})
        .InPlace()
        .Tolerance(10),
    LayerCase("TwoAxes", Bn(kFillers)).Bottom({6, 3}).InPlace().Tolerance(10),
    LayerCase("Frozen", Bn(kFillers + "frozen: true"))
        .Bottom({2, 3, kOddH, kOddW})
        .InPlace()
        .Tolerance(10),
    LayerCase("InTest", Bn(kFillers, "TEST"))
        .Bottom({2, 3, 2, 3})
        .InPlace()
        .WithoutGradients()
        .Tolerance(10),
    LayerCase("SegNetLearning", Bn(kSegNetFillers)).Bottom({4, 3, 2, 3}).InPlace().Tolerance(10),
    LayerCase("SegNetStatistics", Bn(kSegNetFillers + "bn_mode: LEARN"))
        .Bottom({4, 3, 2, 3})
        .Tops(3)
        .InPlace()
        .WithoutGradients()
        .Tolerance(10),
    LayerCase("SegNetInference", Bn(kSegNetFillers + "bn_mode: INFERENCE"))
        .Bottom({kOddN, 3, kOddH, 2})
        .InPlace()
        .Tolerance(10),
};
INSTANTIATE_TEST_SUITE_P(BN, LayerCases, ::testing::ValuesIn(kBnCases), CaseName());

const std::vector<BadLayerCase> kBnBadCases = {
    BadLayerCase("TwoForms", Bn("bn_mode: LEARN momentum: 0.5"))
        .Bottom({2, 3})
        .Says("two parameters.*give either"),
    BadLayerCase("Momentum", Bn("momentum: 2"))
        .Bottom({2, 3})
        .Says("momentum must lie between 0 and 1, got 2"),
    BadLayerCase("Eps", Bn("eps: -1")).Bottom({2, 3}).Says("eps must not be negative, got -1"),
    BadLayerCase("Tops", Bn("bn_mode: INFERENCE"))
        .Bottom({2, 3})
        .Tops(2)
        .Says("only bn_mode LEARN has tops"),
    BadLayerCase("TopsOfTheOther", Bn(""))
        .Bottom({2, 3})
        .Tops(3)
        .Says("only bn_mode LEARN has tops"),
};
INSTANTIATE_TEST_SUITE_P(BN, BadLayerCases, ::testing::ValuesIn(kBnBadCases), CaseName());

TEST(BnValues, KeepsAverages) {
  Example example(Bn("momentum: 0.75 eps: 0 slope_filler { value: 2 } bias_filler { value: 1 }"));
  example.Bottom({2, 2}, {1, 10, 3, 30}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, -1, 3, 3}));
  const auto& blobs = example.layer().blobs();
  ASSERT_EQ(blobs.size(), 4u);
  for (const auto& blob : blobs) EXPECT_EQ(blob->shape(), (std::vector<int>{1, 2, 1, 1}));
  EXPECT_FLOAT_EQ(blobs[2]->cpu_data()[0], 0.25f * 2);
  EXPECT_FLOAT_EQ(blobs[2]->cpu_data()[1], 0.25f * 20);
  EXPECT_FLOAT_EQ(blobs[3]->cpu_data()[0], 0.25f * 1) << "the biased variance";
  EXPECT_FLOAT_EQ(blobs[3]->cpu_data()[1], 0.25f * 100);
}

TEST(BnValues, TheTestPhaseAndFrozenLayersUseTheStoredOnes) {
  for (const std::string& layer : {Bn("eps: 0", "TEST"), Bn("eps: 0 frozen: true")}) {
    Example example(layer);
    example.Bottom({1, 1}, {7}).SetUp();
    example.Parameter(0, {10}).Parameter(1, {1}).Parameter(2, {3}).Parameter(3, {4});
    EXPECT_EQ(example.Forward(), (Floats{21})) << layer;
    EXPECT_EQ(example.layer().blobs()[2]->cpu_data()[0], 3);
  }
}

TEST(BnValues, StatisticsAndFrozenLayersAreNotLearned) {
  for (const bool frozen : {false, true}) {
    Example example(Bn(frozen ? "frozen: true" : ""));
    example.Bottom({1, 1}, {7}).SetUp();
    const LayerParameter& param = example.layer().layer_param();
    ASSERT_EQ(param.param_size(), 4);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(param.param(i).lr_mult(), frozen || i >= 2 ? 0 : 1) << i;
  }
}

TEST(BnValues, SegNetsLearnsFromTheBatchInBothPhases) {
  for (const char* phase : {"TRAIN", "TEST"}) {
    Example example(Bn("scale_filler { value: 2 } shift_filler { value: 1 }", phase), 3);
    example.Bottom({2, 2}, {1, 10, 3, 30}).SetUp();
    const Floats y = example.Forward(), expected = {-1, -1, 3, 3};
    for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(y[i], expected[i]);
    EXPECT_EQ(example.Forward(1), (Floats{2, 20}));
    EXPECT_EQ(example.Forward(2), (Floats{1, 100}));
    EXPECT_EQ(example.layer().blobs().size(), 2u);
  }
}

TEST(BnValues, SegNetsInferenceIsScaleAndShift) {
  Example example(Bn("bn_mode: INFERENCE", "TEST"));
  example.Bottom({1, 2, 1, 2}, {1, 2, 3, 4}).SetUp();
  example.Parameter(0, {10, 100}).Parameter(1, {1, 2});
  EXPECT_EQ(example.Forward(), (Floats{11, 21, 302, 402}));
}

}  // namespace
}  // namespace caffe
