#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

LayerCase ArgmaxCase(const std::string& name, const std::string& param, std::vector<int> shape) {
  return LayerCase(name, "type: 'ArgMax' argmax_param { " + param + " }")
      .Constant(shape, Fill::DISTINCT)
      .WithoutGradients();
}

const std::vector<LayerCase> kArgmaxCases = {
    ArgmaxCase("Images", "", {kOddN, kOddC, kOddH, kOddW}),
    ArgmaxCase("Rows", "", {kOddN, kOddC}),
    ArgmaxCase("Values", "out_max_val: true", {kOddN, kOddC, kOddH}),
    ArgmaxCase("TopThree", "top_k: 3 out_max_val: true", {kOddN, 5, kOddH, kOddW}),
    ArgmaxCase("Axis", "axis: 1", {kOddN, kOddC, kOddH, kOddW}),
    ArgmaxCase("AxisValues", "axis: -1 out_max_val: true", {kOddN, kOddC, kOddH}),
    ArgmaxCase("AxisTopTwo", "axis: 1 top_k: 2", {kOddN, 3, kOddH}),
    ArgmaxCase("AxisTopTwoValues", "axis: 1 top_k: 2 out_max_val: true", {kOddN, 3, kOddH}),
    ArgmaxCase("Batch", "axis: 0", {kOddN, kOddC}),
};
INSTANTIATE_TEST_SUITE_P(ArgMax, LayerCases, ::testing::ValuesIn(kArgmaxCases), CaseName());

const std::vector<BadLayerCase> kArgmaxBadCases = {
    BadLayerCase("None", "type: 'ArgMax' argmax_param { top_k: 0 }")
        .Bottom({2, 3})
        .Says("top_k must be 1 to 3, the number of values that are searched, got 0"),
    BadLayerCase("TooMany", "type: 'ArgMax' argmax_param { top_k: 7 }")
        .Bottom({2, 3, 2})
        .Says("must be 1 to 6.*got 7"),
    BadLayerCase("TooManyOnAnAxis", "type: 'ArgMax' argmax_param { axis: 1 top_k: 4 }")
        .Bottom({2, 3, 2})
        .Says("must be 1 to 3.*got 4"),
    BadLayerCase("Axis", "type: 'ArgMax' argmax_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("axis 2 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(ArgMax, BadLayerCases, ::testing::ValuesIn(kArgmaxBadCases), CaseName());

const Floats kX = {1, 9, 5, 3, 2, 7};

TEST(ArgMaxValues, WithoutAnAxisIndicesThenValues) {
  Example indices("type: 'ArgMax' argmax_param { top_k: 2 }");
  indices.Bottom({2, 3}, kX).SetUp();
  EXPECT_EQ(indices.Forward(), (Floats{1, 2, 2, 0}));
  EXPECT_EQ(indices.TopShape(), (std::vector<int>{2, 1, 2}));
  Example both("type: 'ArgMax' argmax_param { top_k: 2 out_max_val: true }");
  both.Bottom({2, 3, 1, 1}, kX).SetUp();
  EXPECT_EQ(both.Forward(), (Floats{1, 2, 9, 5, 2, 0, 7, 3}));
  EXPECT_EQ(both.TopShape(), (std::vector<int>{2, 2, 2, 1}));
}

TEST(ArgMaxValues, AlongAnAxis) {
  Example indices("type: 'ArgMax' argmax_param { axis: 0 }");
  indices.Bottom({2, 3}, kX).SetUp();
  EXPECT_EQ(indices.Forward(), (Floats{1, 0, 1}));
  EXPECT_EQ(indices.TopShape(), (std::vector<int>{1, 3}));
  Example values("type: 'ArgMax' argmax_param { axis: 1 top_k: 2 out_max_val: true }");
  values.Bottom({2, 3}, kX).SetUp();
  EXPECT_EQ(values.Forward(), (Floats{9, 5, 7, 3}));
}

// As pairs (value, index) in falling order, which is how Caffe ranks them.
TEST(ArgMaxValues, OfEqualsTheLastComesFirst) {
  Example one("type: 'ArgMax'");
  EXPECT_EQ(one.Bottom({1, 4}, {5, 5, 1, 5}).SetUp().Forward(), (Floats{3}));
  Example two("type: 'ArgMax' argmax_param { top_k: 2 }");
  EXPECT_EQ(two.Bottom({1, 4}, {5, 5, 1, 5}).SetUp().Forward(), (Floats{3, 1}));
}

TEST(ArgMaxValues, NumbersComeBeforeWhatIsNone) {
  const float nan = std::nanf("");
  Example one("type: 'ArgMax'");
  EXPECT_EQ(one.Bottom({1, 3}, {nan, -3, nan}).SetUp().Forward(), (Floats{1}));
}

TEST(ArgMaxValues, HasNoGradient) {
  Example example("type: 'ArgMax'");
  example.Bottom({2, 3}, kX).SetUp().Forward();
  EXPECT_THROW(example.Backward({1, 1}), Error);
}

}  // namespace
}  // namespace caffe
