#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kMvnCases = {
    LayerCase("Channels", "type: 'MVN'").Bottom({kOddN, kOddC, 5, 3}).InPlace(),
    LayerCase("Images", "type: 'MVN' mvn_param { across_channels: true }")
        .Bottom({kOddN, 3, kOddH, 5})
        .InPlace(),
    LayerCase("MeanOnly", "type: 'MVN' mvn_param { normalize_variance: false }")
        .Bottom({kOddN, kOddC, 5, 3})
        .InPlace(),
    LayerCase("MeanOfImages",
              "type: 'MVN' mvn_param { normalize_variance: false across_channels: true }")
        .Bottom({kOddN, kOddC, 3})
        .InPlace(),
    LayerCase("LargeEps", "type: 'MVN' mvn_param { eps: 0.5 }").Bottom({kOddN, kOddC, 7}).InPlace(),
    LayerCase("Long", "type: 'MVN'").Bottom({2, 2, 1031}).InPlace(),
    LayerCase("Rows", "type: 'MVN' mvn_param { across_channels: true }")
        .Bottom({kOddN, 9})
        .InPlace(),
};
INSTANTIATE_TEST_SUITE_P(MVN, LayerCases, ::testing::ValuesIn(kMvnCases), CaseName());

TEST(MvnValues, MeanZeroDeviationOne) {
  Example example("type: 'MVN'");
  example.Bottom({1, 2, 1, 2}, {1, 3, 10, 50}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, 1, -1, 1}));
}

TEST(MvnValues, EpsIsAddedToTheDeviation) {
  Example example("type: 'MVN' mvn_param { eps: 1 }");
  example.Bottom({1, 1, 1, 2}, {1, 7}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-0.75, 0.75}));
}

// A constant has no deviation; its gradient is a number all the same.
TEST(MvnValues, AConstantBecomesZero) {
  Example example("type: 'MVN' mvn_param { eps: 0.5 }");
  example.Bottom({1, 1, 1, 2}, {4, 4}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0}));
  EXPECT_EQ(example.Backward({1, 3}), (Floats{-2, 2}));
}

}  // namespace
}  // namespace caffe
