#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kInnerProductCases = {
    LayerCase("Plain",
              "type: 'InnerProduct' inner_product_param { num_output: 5 weight_filler { type: "
              "'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 2, 3, 2}),
    LayerCase("OneRow",
              "type: 'InnerProduct' inner_product_param { num_output: 7 weight_filler { type: "
              "'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({1, 33}),
    LayerCase("Transposed",
              "type: 'InnerProduct' inner_product_param { num_output: 4 transpose: true "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({3, 6}),
    LayerCase("TransposedOneRow",
              "type: 'InnerProduct' inner_product_param { num_output: 4 transpose: true "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({1, 6}),
    // Of which FLOAT16 packs the weights.
    LayerCase("WholeBlocks",
              "type: 'InnerProduct' inner_product_param { num_output: 48 weight_filler { type: "
              "'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } }")
        .Bottom({9, 4, 2, 4}),
    LayerCase("WholeBlocksOneRow",
              "type: 'InnerProduct' inner_product_param { num_output: 16 bias_term: false "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({1, 64}),
    LayerCase("Axis",
              "type: 'InnerProduct' inner_product_param { num_output: 4 axis: 2 bias_term: false "
              "weight_filler { type: 'gaussian' std: 1 } }")
        .Bottom({2, 3, 5}),
};
INSTANTIATE_TEST_SUITE_P(InnerProduct, LayerCases, ::testing::ValuesIn(kInnerProductCases),
                         CaseName());

const std::vector<BadLayerCase> kInnerProductBadCases = {
    BadLayerCase("NoOutputs", "type: 'InnerProduct'")
        .Bottom({2, 3})
        .Says("num_output must be positive, got 0"),
    BadLayerCase("Axis", "type: 'InnerProduct' inner_product_param { num_output: 2 axis: 3 }")
        .Bottom({2, 3})
        .Says("axis 3 is out of range"),
    BadLayerCase("Overflow", "type: 'InnerProduct' inner_product_param { num_output: 2000000000 }")
        .Bottom({2, 30})
        .Says("2.31 - 1 elements"),
};
INSTANTIATE_TEST_SUITE_P(InnerProduct, BadLayerCases, ::testing::ValuesIn(kInnerProductBadCases),
                         CaseName());

// y = relu(W x + b) with W = [1 .. 1; -1 .. -1; ...]: 16 outputs of 16 inputs.
TEST(InnerProductLayer, InHalvesComputesTheActivationAndGivesItsPackedWeightsBack) {
  const auto net = MakeNet(R"(
      default_forward_type: FLOAT16
      layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 16 } } }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y'
              inner_product_param { num_output: 16 bias_filler { type: 'constant' value: 3 } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'y' top: 'y' })");
  std::vector<float16> weights;
  for (int i = 0; i < 256; ++i) weights.push_back(float16(i / 16 % 2 ? -1.f : 1.f + i % 16));
  Blob<float>& blob = *net->layers()[1]->blobs()[0];
  std::copy(weights.begin(), weights.end(), blob.overwrite_cpu_data_as<float16>());
  std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), 32, 1.f);
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<double> y = Values(*net->Forward()[0]);
    for (int i = 0; i < 32; ++i) ASSERT_EQ(y[i], i % 2 ? 0 : 136 + 3) << i;
  }
  const float16* restored = blob.cpu_data_as<float16>();
  for (int i = 0; i < 256; ++i) ASSERT_EQ(float(restored[i]), float(weights[i])) << i;
}

}  // namespace
}  // namespace caffe
