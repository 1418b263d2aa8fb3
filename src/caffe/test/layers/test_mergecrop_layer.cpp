#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kMergecropCases = {
    LayerCase("Both", "type: 'MergeCrop' mergecrop_param { backward: true backward: true }")
        .Bottom({kOddN, kOddC, 3, 4})
        .Bottom({kOddN, 2, 6, 4})
        .Terms(1),
    LayerCase("Volumes", "type: 'MergeCrop' mergecrop_param { backward: true backward: true }")
        .Bottom({2, 1, 1, 2, 3})
        .Bottom({2, 2, 3, 2, 4})
        .Terms(1),
    LayerCase("ByDefaultTheFirstHasTheGradient", "type: 'MergeCrop'")
        .Bottom({kOddN, kOddC, 3})
        .Constant({kOddN, kOddH, 5})
        .Terms(1),
    LayerCase("OneOnly",
              "type: 'MergeCrop' mergecrop_param { forward: false forward: true backward: false "
              "backward: true }")
        .Bottom({kOddN, kOddC, 3})
        .Bottom({kOddN, kOddH, 5})
        .Terms(1),
};
INSTANTIATE_TEST_SUITE_P(MergeCrop, LayerCases, ::testing::ValuesIn(kMergecropCases), CaseName());

const std::vector<BadLayerCase> kMergecropBadCases = {
    BadLayerCase("Small", "type: 'MergeCrop'")
        .Bottom({1, 1, 3, 3})
        .Bottom({1, 1, 3, 2})
        .Says("the second one at least as large as the first: they are 1 1 3 3"),
    BadLayerCase("Batch", "type: 'MergeCrop'")
        .Bottom({1, 1, 3, 3})
        .Bottom({2, 1, 3, 3})
        .Says("bottoms .* of one batch"),
    BadLayerCase("Axes", "type: 'MergeCrop'")
        .Bottom({1, 1, 3, 3})
        .Bottom({1, 1, 3})
        .Says("of one batch"),
    BadLayerCase("Forward", "type: 'MergeCrop' mergecrop_param { forward: true }")
        .Bottom({1, 1, 3})
        .Bottom({1, 1, 3})
        .Says("forward is given 1 time\\(s\\): give it once per bottom"),
    BadLayerCase("Backward",
                 "type: 'MergeCrop' mergecrop_param { backward: 1 backward: 1 backward: 1 }")
        .Bottom({1, 1, 3})
        .Bottom({1, 1, 3})
        .Says("backward is given 3 time\\(s\\)"),
};
INSTANTIATE_TEST_SUITE_P(MergeCrop, BadLayerCases, ::testing::ValuesIn(kMergecropBadCases),
                         CaseName());

TEST(MergeCropValues, TheMiddleOfTheSecondBehindTheFirst) {
  Example example("type: 'MergeCrop'");
  example.Bottom({1, 1, 1, 2}, {1, 2}).Bottom({1, 1, 2, 5}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 0), (Floats{1, 2}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 1), Floats(10, 0)) << "none by default";
}

}  // namespace
}  // namespace caffe
