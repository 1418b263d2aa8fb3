#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kReshapeCases = {
    LayerCase("Copies", "type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 2 } }")
        .Bottom({kOddN, kOddC, 4})
        .Terms(1),
    LayerCase("FlattensAll", "type: 'Reshape' reshape_param { shape { dim: -1 } }")
        .Bottom({kOddN, kOddC, kOddH})
        .Terms(1),
    LayerCase("Middle",
              "type: 'Reshape' reshape_param { axis: 1 num_axes: 1 shape { dim: 2 dim: -1 } }")
        .Bottom({kOddN, 6, kOddH})
        .Terms(1),
    LayerCase("Inserts",
              "type: 'Reshape' reshape_param { axis: 1 num_axes: 0 shape { dim: 1 dim: 1 } }")
        .Bottom({kOddN, kOddC})
        .Terms(1),
    LayerCase("Appends", "type: 'Reshape' reshape_param { axis: -1 shape { dim: 1 } }")
        .Bottom({kOddN, kOddC})
        .Terms(1),
    LayerCase("Fixed", "type: 'Reshape' reshape_param { shape { dim: 3 dim: 4 } }")
        .Bottom({2, 6})
        .Terms(1)
        .Detour({{12, 1}}),
};
INSTANTIATE_TEST_SUITE_P(Reshape, LayerCases, ::testing::ValuesIn(kReshapeCases), CaseName());

const std::vector<BadLayerCase> kReshapeBadCases = {
    BadLayerCase("TwoUnknown", "type: 'Reshape' reshape_param { shape { dim: -1 dim: -1 } }")
        .Bottom({2, 6})
        .Says("more than one dim -1"),
    BadLayerCase("Negative", "type: 'Reshape' reshape_param { shape { dim: -2 } }")
        .Bottom({2, 6})
        .Says("has dim -2"),
    BadLayerCase("Huge", "type: 'Reshape' reshape_param { shape { dim: 4294967296 dim: -1 } }")
        .Bottom({2, 6})
        .Says("has dim 4294967296"),
    BadLayerCase("Overflow",
                 "type: 'Reshape' reshape_param { shape { dim: 65536 dim: 65536 dim: 65536 dim: "
                 "65536 dim: -1 } }")
        .Bottom({2, 6})
        .Says("dim -1 cannot make shape"),
    BadLayerCase("Count", "type: 'Reshape' reshape_param { shape { dim: 5 dim: 2 } }")
        .Bottom({2, 6})
        .Says("a bottom of shape 2 6 \\(12\\) does not fit into shape 5 2"),
    BadLayerCase("NotDivisible", "type: 'Reshape' reshape_param { shape { dim: 5 dim: -1 } }")
        .Bottom({2, 6})
        .Says("dim -1 cannot make shape 5 1"),
    BadLayerCase("CopyBehind", "type: 'Reshape' reshape_param { shape { dim: 0 dim: 0 dim: 0 } }")
        .Bottom({2, 6})
        .Says("number 2 would copy axis 2"),
    BadLayerCase("Axis", "type: 'Reshape' reshape_param { axis: 3 }")
        .Bottom({2, 6})
        .Says("axis 3 is out of range"),
    BadLayerCase("NegativeAxis", "type: 'Reshape' reshape_param { axis: -4 }")
        .Bottom({2, 6})
        .Says("axis -4 is out of range"),
    BadLayerCase("NumAxes", "type: 'Reshape' reshape_param { num_axes: -2 }")
        .Bottom({2, 6})
        .Says("num_axes must be -1 or more, got -2"),
    BadLayerCase("TooManyAxes", "type: 'Reshape' reshape_param { axis: 1 num_axes: 2 }")
        .Bottom({2, 6})
        .Says("2 axes from axis 1 on are more than"),
};
INSTANTIATE_TEST_SUITE_P(Reshape, BadLayerCases, ::testing::ValuesIn(kReshapeBadCases), CaseName());

TEST(ReshapeValues, KeepsTheOrder) {
  Example example("type: 'Reshape' reshape_param { shape { dim: 3 dim: -1 } }");
  example.Bottom({2, 3}, {1, 2, 3, 4, 5, 6}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 2}));
  EXPECT_EQ(example.Backward({6, 5, 4, 3, 2, 1}), (Floats{6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace caffe
