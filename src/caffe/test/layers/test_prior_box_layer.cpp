#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

LayerCase PriorBoxCase(const char* name, const std::string& prototxt) {
  return LayerCase(name, prototxt)
      .Bottom({kOddN, kOddC, kOddH, kOddW})
      .Bottom({1, 3, 30, 50})
      .WithoutGradients();
}

const std::vector<LayerCase> kPriorBoxCases = {
    PriorBoxCase("Square", "type: 'PriorBox' prior_box_param { min_size: 4 }"),
    PriorBoxCase(
        "Full",
        "type: 'PriorBox' prior_box_param { min_size: 4 min_size: 9.7 max_size: 9 max_size: 14.2 "
        "aspect_ratio: 2 aspect_ratio: 3 clip: true variance: 0.1 variance: 0.1 variance: 0.2 "
        "variance: 0.2 step: 8 offset: 0.25 }"),
    PriorBoxCase(
        "Upright",
        "type: 'PriorBox' prior_box_param { min_size: 4 aspect_ratio: 0.5 flip: false img_h: 20 "
        "img_w: 10 step_h: 2 step_w: 3 variance: 0.3 }"),
    PriorBoxCase(
        "Clustered",
        "type: 'PriorBoxClustered' prior_box_param { width: 2 width: 3.5 height: 4 height: 1 "
        "offset_h: 0.25 offset_h: 0.75 offset_w: 0.5 offset_w: 0.5 }"),
};
INSTANTIATE_TEST_SUITE_P(PriorBox, LayerCases, ::testing::ValuesIn(kPriorBoxCases), CaseName());

BadLayerCase PriorBoxBad(const char* name, const std::string& param, const std::string& wanted) {
  return BadLayerCase(name, "type: 'PriorBox' prior_box_param { " + param + " }")
      .Bottom({1, 1, 2, 2})
      .Bottom({1, 3, 30, 50})
      .Says(wanted);
}

const std::vector<BadLayerCase> kPriorBoxBadCases = {
    PriorBoxBad("NoSize", "", "min_size is missing"),
    PriorBoxBad("Size", "min_size: 0.5", "min_size is in pixels and at least 1, got 0.5"),
    PriorBoxBad("MaxSizes", "min_size: 1 min_size: 2 max_size: 3",
                "max_size is given 1 times for 2 min_size"),
    PriorBoxBad("Order", "min_size: 4 max_size: 4", "max_size 4 must be greater than min_size 4"),
    PriorBoxBad("Ratio", "min_size: 4 aspect_ratio: 0", "aspect_ratio must be positive, got 0"),
    PriorBoxBad("Variances", "min_size: 4 variance: 1 variance: 1",
                "variance once or 4 times, not 2"),
    PriorBoxBad("Variance", "min_size: 4 variance: 0", "variance must be positive, got 0"),
    PriorBoxBad("BothSteps", "min_size: 4 step: 3 step_h: 3",
                "step or step_h and step_w, not both"),
    PriorBoxBad("HalfAStep", "min_size: 4 step_h: 3", "give both step_h and step_w"),
    PriorBoxBad("Step", "min_size: 4 step: -1", "step must not be negative, got -1"),
    PriorBoxBad("ImageSize", "min_size: 4 img_size: 3 img_w: 3",
                "img or img_h and img_w, not both"),
    PriorBoxBad("Boxes", "width: 4", "width and height equally often, got 1 and 0"),
    PriorBoxBad("BoxesAndSizes", "width: 4 height: 4 min_size: 4", "not both"),
    PriorBoxBad("Box", "width: 4 height: 0", "must be positive, got 4 and 0"),
    PriorBoxBad("Offsets", "min_size: 4 offset_h: 1", "offset_h and offset_w equally often"),
    PriorBoxBad("BothOffsets", "min_size: 4 offset: 1 offset_h: 1 offset_w: 1", "not both"),
    BadLayerCase("NoCluster", "type: 'PriorBoxClustered' prior_box_param { min_size: 3 }")
        .Bottom({1, 1, 2, 2})
        .Bottom({1, 3, 30, 50})
        .Says("width and height are missing"),
    BadLayerCase("Axes", "type: 'PriorBox' prior_box_param { min_size: 4 }")
        .Bottom({2, 2})
        .Bottom({1, 3, 30, 50})
        .Says("feature map of 4 axes"),
};
INSTANTIATE_TEST_SUITE_P(PriorBox, BadLayerCases, ::testing::ValuesIn(kPriorBoxBadCases),
                         CaseName());

Example PriorBoxes(const std::string& param, const std::string& type = "PriorBox") {
  return Example("type: '" + type + "' prior_box_param { " + param + " }");
}

TEST(PriorBoxValues, AreCentredInTheirCells) {
  Example example = PriorBoxes("min_size: 10 variance: 0.5");
  example.Bottom({1, 1, 1, 2}, Floats(2, 0)).Bottom({1, 1, 50, 100}, Floats(5000, 0)).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{.2f, .4f, .3f, .6f, .7f, .4f, .8f, .6f,  //
                                       .5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 2, 8}));
}

// In this order: the smallest square, the one between the sizes, the ratios and their inverses.
TEST(PriorBoxValues, HaveSizesAndRatios) {
  Example example = PriorBoxes(
      "min_size: 16.9 max_size: 36.9 aspect_ratio: 4 aspect_ratio: 0.25 aspect_ratio: 1 "
      "img_size: 100 step: 100");
  example.Bottom({1, 1, 1, 1}, {0}).Bottom({1, 1, 1, 1}, {0}).SetUp();
  const Floats boxes = example.Forward();
  ASSERT_EQ(boxes.size(), 2u * 4 * 4);
  const float width[] = {16, 24, 32, 8}, height[] = {16, 24, 8, 32};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(boxes[4 * i], .5 - width[i] / 200, 1e-6) << i;
    EXPECT_NEAR(boxes[4 * i + 1], .5 - height[i] / 200, 1e-6) << i;
    EXPECT_NEAR(boxes[4 * i + 2], .5 + width[i] / 200, 1e-6) << i;
    EXPECT_NEAR(boxes[4 * i + 3], .5 + height[i] / 200, 1e-6) << i;
    EXPECT_FLOAT_EQ(boxes[16 + i], 0.1f) << "the variance that is there if none is given";
  }
}

TEST(PriorBoxValues, AreClippedOnRequest) {
  Example example = PriorBoxes("min_size: 20 clip: true img_size: 10");
  example.Bottom({1, 1, 1, 1}, {0}).Bottom({1, 1, 1, 1}, {0}).SetUp();
  const Floats boxes = example.Forward();
  EXPECT_EQ(Floats(boxes.begin(), boxes.begin() + 4), (Floats{0, 0, 1, 1}));
}

TEST(PriorBoxClusteredValues, ListsItsBoxes) {
  Example example = PriorBoxes("width: 4.5 width: 2 height: 1 height: 3 img_size: 10 step: 5",
                               "PriorBoxClustered");
  example.Bottom({1, 1, 1, 1}, {0}).Bottom({1, 1, 1, 1}, {0}).SetUp();
  const Floats boxes = example.Forward();
  const float wanted[] = {.025f, .2f, .475f, .3f, .15f, .1f, .35f, .4f};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(boxes[i], wanted[i], 1e-6) << i;
}

}  // namespace
}  // namespace caffe
