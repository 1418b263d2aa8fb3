#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kParameterCases = {
    LayerCase("Random",
              "type: 'Parameter' parameter_param { shape { dim: 3 dim: 5 } blob_filler { type: "
              "'gaussian' std: 1 } }"),
    LayerCase("OneNumber", "type: 'Parameter' parameter_param { shape { } }"),
};
INSTANTIATE_TEST_SUITE_P(Parameter, LayerCases, ::testing::ValuesIn(kParameterCases), CaseName());

const std::vector<BadLayerCase> kParameterBadCases = {
    BadLayerCase("Without", "type: 'Parameter'").Says("parameter_param: give the shape"),
    BadLayerCase("Zero", "type: 'Parameter' parameter_param { shape { dim: 0 } }")
        .Says("shape has dim 0"),
    BadLayerCase("Huge", "type: 'Parameter' parameter_param { shape { dim: 4294967296 } }")
        .Says("shape has dim 4294967296"),
    BadLayerCase(
        "Blob",
        "type: 'Parameter' parameter_param { shape { dim: 2 } } blobs { shape { dim: 1 } data: 1 }")
        .Says("parameter blob 0 has shape 1 \\(1\\) where 2 \\(2\\) is needed"),
    BadLayerCase("Bottom", "type: 'Parameter' parameter_param { shape { dim: 2 } }")
        .Bottom({2})
        .Says("0 bottom"),
};
INSTANTIATE_TEST_SUITE_P(Parameter, BadLayerCases, ::testing::ValuesIn(kParameterBadCases),
                         CaseName());

TEST(ParameterValues, ShowsItsParameter) {
  Example example("type: 'Parameter' parameter_param { shape { dim: 2 } }");
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0}));
  example.Parameter(0, {3, 4});
  EXPECT_EQ(example.Forward(), (Floats{3, 4}));
}

}  // namespace
}  // namespace caffe
