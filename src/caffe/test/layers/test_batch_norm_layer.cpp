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
