#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kSizes = "num_output: 3 input_dim: 5 ";
const std::string kWeightFiller = "weight_filler { type: 'gaussian' std: 1 } ";

const std::vector<LayerCase> kEmbedCases = {
    LayerCase("Bias", "type: 'Embed' embed_param { " + kSizes + kWeightFiller +
                          "bias_filler { type: 'gaussian' std: 1 } }")
        .Labels({kOddN, kOddC}, 5),
    LayerCase("NoBias",
              "type: 'Embed' embed_param { bias_term: false " + kSizes + kWeightFiller + "}")
        .Labels({kOddN}, 5),
    LayerCase("OneIndex", "type: 'Embed' embed_param { " + kSizes + kWeightFiller + "}")
        .Labels({}, 5),
};
INSTANTIATE_TEST_SUITE_P(Embed, LayerCases, ::testing::ValuesIn(kEmbedCases), CaseName());

const std::vector<BadLayerCase> kEmbedBadCases = {
    BadLayerCase("NumOutput", "type: 'Embed' embed_param { input_dim: 5 }")
        .Bottom({2})
        .Says("embed_param: num_output must be positive, got 0"),
    BadLayerCase("InputDim", "type: 'Embed' embed_param { num_output: 5 }")
        .Bottom({2})
        .Says("embed_param: input_dim, .* must be positive, got 0"),
    BadLayerCase("Blobs",
                 "type: 'Embed' embed_param { num_output: 1 input_dim: 2 } blobs { data: 1 }")
        .Bottom({2})
        .Says("2 parameter blob\\(s\\), 1 are given"),
    BadLayerCase("Large", "type: 'Embed' embed_param { " + kSizes + "}")
        .Labels({2}, 1, {4, 5})
        .InForward()
        .Says("index 5 at place 1 is not a whole number in \\[0, input_dim = 5\\)"),
    BadLayerCase("Negative", "type: 'Embed' embed_param { " + kSizes + "}")
        .Labels({1}, 1, {-1})
        .InForward()
        .Says("index -1 at place 0"),
    BadLayerCase("Fraction", "type: 'Embed' embed_param { " + kSizes + "}")
        .Labels({1}, 1, {1.5})
        .InForward()
        .Says("index 1.5 at place 0 is not a whole number"),
};
INSTANTIATE_TEST_SUITE_P(Embed, BadLayerCases, ::testing::ValuesIn(kEmbedBadCases), CaseName());

TEST(EmbedValues, LooksUpRows) {
  Example example("type: 'Embed' embed_param { num_output: 2 input_dim: 3 }");
  example.Bottom({3}, {2, 0, 2}).SetUp();
  example.Parameter(0, {1, 2, 3, 4, 5, 6}).Parameter(1, {10, 20});
  EXPECT_EQ(example.Forward(), (Floats{15, 26, 11, 22, 15, 26}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 2}));
}

}  // namespace
}  // namespace caffe
