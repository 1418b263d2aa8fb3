#include <algorithm>

#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kBatchNormCases = {
    LayerCase("Batch", "type: 'BatchNorm'").Bottom({4, 3, 2, 3}).InPlace().Tolerance(10),
    LayerCase("TwoAxes", "type: 'BatchNorm'").Bottom({6, 3}).InPlace().Tolerance(10),
    LayerCase("ScaleBias",
              "type: 'BatchNorm' batch_norm_param { scale_bias: true scale_filler { type: "
              "'gaussian' mean: 1 std: 0.5 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({4, 3, 2, 3})
        .InPlace()
        .Tolerance(10),
    LayerCase(
        "StoredStatistics",
        "type: 'BatchNorm' batch_norm_param { use_global_stats: true eps: 0.5 scale_bias: true }")
        .Bottom({2, 3, 2, 3})
        .InPlace()
        .Tolerance(10),
    LayerCase("InTest", "type: 'BatchNorm' phase: TEST")
        .Bottom({2, 3, 2, 3})
        .InPlace()
        .WithoutGradients()
        .Tolerance(10),
    LayerCase("OneAxis", "type: 'BatchNorm'").Bottom({7}).InPlace().Tolerance(10),
    // More than one piece of a row and of the channels, far from zero.
    LayerCase("Large", "type: 'BatchNorm'")
        .Bottom({2, 2, 40, 30}, Fill::POSITIVE)
        .InPlace()
        .WithoutGradients()
        .Tolerance(10),
    LayerCase("ManyChannels", "type: 'BatchNorm'")
        .Bottom({20, 1100}, Fill::POSITIVE)
        .InPlace()
        .WithoutGradients()
        .Tolerance(10),
};
INSTANTIATE_TEST_SUITE_P(BatchNorm, LayerCases, ::testing::ValuesIn(kBatchNormCases), CaseName());

const std::vector<BadLayerCase> kBatchNormBadCases = {
    BadLayerCase("Fraction", "type: 'BatchNorm' batch_norm_param { moving_average_fraction: 2 }")
        .Bottom({2, 3})
        .Says("moving_average_fraction"),
};
INSTANTIATE_TEST_SUITE_P(BatchNorm, BadLayerCases, ::testing::ValuesIn(kBatchNormBadCases),
                         CaseName());

/// What a BatchNorm layer of one channel has as mean and variance after batches of two values.
std::vector<double> StatisticsAfter(const std::vector<std::vector<double>>& batches,
                                    const std::vector<double>& loaded = {0, 0}) {
  const auto net = MakeNet(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 1 } } }"
      "layer { name: 'normal' type: 'BatchNorm' bottom: 'x' top: 'y' batch_norm_param { "
      "scale_bias: true moving_average_fraction: 0.75 } }",
      TRAIN);
  const auto& blobs = net->layer_by_name("normal")->blobs();
  for (int i = 0; i < 2; ++i) SetValues(blobs[i].get(), {loaded[i]});
  for (const std::vector<double>& batch : batches) {
    SetValues(net->input_blobs()[0], batch);
    net->Forward();
  }
  return {Values(*blobs[0])[0], Values(*blobs[1])[0], Values(*blobs[2])[0]};
}

// The variances of {1, 3} and {5, 9} are 2 and 8.
TEST(BatchNormStatistics, OfNVCaffesFormBeginWithTheFirstBatch) {
  EXPECT_EQ(StatisticsAfter({{1, 3}}), (std::vector<double>{2, 2, 1}));
  EXPECT_EQ(StatisticsAfter({{1, 3}, {5, 9}}), (std::vector<double>{3.25, 3.5, 1}));
  EXPECT_EQ(StatisticsAfter({{0, 0}, {1, 3}}), (std::vector<double>{2, 2, 1}));
  EXPECT_EQ(StatisticsAfter({{1, 3}}, {10, 4}), (std::vector<double>{8, 3.5, 1})) << "loaded ones";
  EXPECT_EQ(StatisticsAfter({{1, 3}}, {0, 4}), (std::vector<double>{0.5, 3.5, 1})) << "loaded ones";
}

// NVCaffe's own examples state rates for statistics.
TEST(BatchNormStatistics, AreNotLearnedWhateverTheNetSays) {
  const string learned = "param { lr_mult: 1 decay_mult: 2 } ";
  const auto multipliers = [](const string& params) {
    const auto net = MakeNet(
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 3 } } }"
        "layer { name: 'normal' type: 'BatchNorm' bottom: 'x' top: 'y' " +
            params + " batch_norm_param { scale_bias: true } }",
        TRAIN);
    std::vector<float> all = net->params_lr();
    all.insert(all.end(), net->params_weight_decay().begin(), net->params_weight_decay().end());
    return all;
  };
  const auto warnings = [](const CapturedLog& log) {
    return std::count_if(log.lines().begin(), log.lines().end(), [](const string& line) {
      return line.find("BatchNorm layer 'normal'") == 0;
    });
  };
  {
    const CapturedLog log;
    EXPECT_EQ(multipliers(learned), (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
    EXPECT_EQ(multipliers(learned + learned + learned + learned + learned),
              (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 0, 2, 2}));
    EXPECT_EQ(warnings(log), 2) << "one of each net";
  }
  const CapturedLog log;
  const string fixed = "param { lr_mult: 0 decay_mult: 0 } ";
  EXPECT_EQ(multipliers(fixed + fixed + fixed), (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(multipliers(""), (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(warnings(log), 0);
}

}  // namespace
}  // namespace caffe
