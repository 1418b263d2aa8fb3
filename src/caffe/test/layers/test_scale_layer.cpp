#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "caffe/net.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kScaleCases = {
    LayerCase("PerChannel",
              "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } "
              "bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 2, 4})
        .InPlace(),
    LayerCase("TwoAxes",
              "type: 'Scale' scale_param { bias_term: true filler { type: 'gaussian' std: 1 } }")
        .Bottom({5, 3})
        .InPlace(),
    LayerCase(
        "AllAxes",
        "type: 'Scale' scale_param { axis: 1 num_axes: -1 filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 2, 4})
        .InPlace(),
    LayerCase("OneNumber",
              "type: 'Scale' scale_param { num_axes: 0 filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 5})
        .InPlace(),
    LayerCase("FromABottom",
              "type: 'Scale' scale_param { axis: 1 bias_term: true bias_filler { type: 'gaussian' "
              "std: 1 } }")
        .Bottom({2, 3, 4})
        .Bottom({3}),
};
INSTANTIATE_TEST_SUITE_P(Scale, LayerCases, ::testing::ValuesIn(kScaleCases), CaseName());

const std::vector<BadLayerCase> kScaleBadCases = {
    BadLayerCase("Shape", "type: 'Scale' scale_param { axis: 1 }")
        .Bottom({2, 3, 4})
        .Bottom({4})
        .Says("does not fit axis 1"),
    BadLayerCase("Axis", "type: 'Scale' scale_param { axis: 5 }")
        .Bottom({2, 3})
        .Says("axis 5 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Scale, BadLayerCases, ::testing::ValuesIn(kScaleBadCases), CaseName());

// A bias learned for one shape is read for no other: with axis 0 it has numbers for each item.
TEST(ScaleLayer, RefusesAnotherShapeOfItsScaleWhereItHasABias) {
  Net<float> net(ParseNet(R"(
      layer { name: "in" type: "Input" top: "x" top: "s"
              input_param { shape { dim: 3 dim: 2 dim: 2 } shape { dim: 3 dim: 2 } } }
      layer { name: "scale" type: "Scale" bottom: "x" bottom: "s" top: "y"
              scale_param { axis: 0 bias_term: true } })"));
  net.Forward();
  net.blob_by_name("x")->Reshape({5, 2, 2});
  net.blob_by_name("s")->Reshape({5, 2});
  for (const auto& pass : {std::function<void()>([&] { net.Reshape(); }),
                           std::function<void()>([&] { net.Forward(); })}) {
    const std::string error = ErrorOf(pass);
    ExpectContains(error, "layer 'scale' (Scale)");
    ExpectContains(error, "the bias of shape 3 2 (6) does not fit the scale of shape 5 2 (10)");
  }
  net.blob_by_name("x")->Reshape({3, 2, 7});  // along other axes it may change
  net.blob_by_name("s")->Reshape({3, 2});
  net.Forward();
  EXPECT_EQ(net.blob_by_name("y")->count(), 42);
}
}  // namespace
}  // namespace caffe
