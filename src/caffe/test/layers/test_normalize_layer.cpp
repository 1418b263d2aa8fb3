#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

// Few channels at many places may all be near 0, where differences say nothing about the gradient:
// such bottoms are POSITIVE.
std::string Norm(const std::string& param) {
  return "type: 'Normalize' norm_param { scale_filler { type: 'gaussian' mean: 2 std: 1 } " +
         param + " }";
}

const std::vector<LayerCase> kNormalizeCases = {
    LayerCase("Image", Norm("")).Bottom({kOddN, 3, kOddH, 5}),
    LayerCase("ImageAndChannels", Norm("channel_shared: false")).Bottom({kOddN, 3, kOddH, 5}),
    LayerCase("Places", Norm("across_spatial: false"))
        .Bottom({kOddN, 5, kOddH, kOddW}, Fill::POSITIVE),
    LayerCase("PlacesAndChannels", Norm("across_spatial: false channel_shared: false"))
        .Bottom({kOddN, 5, kOddH, kOddW}, Fill::POSITIVE),
    LayerCase("Rows", Norm("across_spatial: false channel_shared: false")).Bottom({kOddN, 7}),
    LayerCase("LargeEps", Norm("across_spatial: false eps: 2")).Bottom({kOddN, 3, kOddH}),
    LayerCase("LargePlanes", Norm("across_spatial: false")).Bottom({1, 3, 1031}, Fill::POSITIVE),
    LayerCase("NoFiller", "type: 'Normalize'").Bottom({kOddN, 3, 2}),
    LayerCase("NormFace", "type: 'Normalize' normalize_param { normalize_type: 'L2' }")
        .Bottom({kOddN, 5, kOddH}, Fill::POSITIVE),
};
INSTANTIATE_TEST_SUITE_P(Normalize, LayerCases, ::testing::ValuesIn(kNormalizeCases), CaseName());

const std::vector<BadLayerCase> kNormalizeBadCases = {
    BadLayerCase("OneAxis", "type: 'Normalize'")
        .Bottom({3})
        .Says("Normalize takes a bottom of 2 axes or more"),
    BadLayerCase("Blob",
                 "type: 'Normalize' norm_param { channel_shared: false } blobs { shape { dim: 2 } "
                 "data: 1 data: 1 }")
        .Bottom({2, 3})
        .Says("parameter blob 0 has shape 2 \\(2\\) where 3 \\(3\\) is needed"),
    BadLayerCase("SharedBlob",
                 "type: 'Normalize' blobs { shape { dim: 3 } data: 1 data: 1 data: 1 }")
        .Bottom({2, 3})
        .Says("parameter blob 0 has shape 3 \\(3\\) where \\(1\\) is needed"),
    BadLayerCase("Both", "type: 'Normalize' norm_param { } normalize_param { }")
        .Bottom({2, 3})
        .Says("norm_param \\(SSD\\) or normalize_param \\(NormFace\\), not both"),
    BadLayerCase("L1", "type: 'Normalize' normalize_param { normalize_type: 'L1' }")
        .Bottom({2, 3})
        .Says("normalize_type L1 is not available: use L2"),
    BadLayerCase("NormGradient", "type: 'Normalize' normalize_param { bp_norm: true }")
        .Bottom({2, 3})
        .Says("normalize_param.bp_norm is for a second top with the norms"),
};
INSTANTIATE_TEST_SUITE_P(Normalize, BadLayerCases, ::testing::ValuesIn(kNormalizeBadCases),
                         CaseName());

TEST(NormalizeValues, AcrossChannelsAtEachPlace) {
  Example example(
      "type: 'Normalize' norm_param { across_spatial: false channel_shared: false scale_filler { "
      "type: 'constant' value: 20 } }");
  example.Bottom({1, 2, 1, 2}, {3, 0, 4, 5}).SetUp();
  EXPECT_EQ(example.layer().blobs()[0]->shape(), (std::vector<int>{2}));
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 12);
  EXPECT_FLOAT_EQ(y[1], 0);
  EXPECT_FLOAT_EQ(y[2], 16);
  EXPECT_FLOAT_EQ(y[3], 20);
}

TEST(NormalizeValues, AcrossTheImage) {
  Example example("type: 'Normalize'");
  example.Bottom({2, 2, 1, 2}, {1, 1, 1, 1, 2, 4, 5, 2}).SetUp();
  EXPECT_TRUE(example.layer().blobs()[0]->shape().empty());
  const Floats y = example.Forward();
  EXPECT_FLOAT_EQ(y[0], 0.5);
  EXPECT_FLOAT_EQ(y[5], 4 / 7.f);
}

TEST(NormalizeValues, EpsIsAddedToTheSumOfSquares) {
  Example example("type: 'Normalize' norm_param { eps: 9 }");
  EXPECT_FLOAT_EQ(example.Bottom({1, 1}, {4}).SetUp().Forward()[0], 0.8f);
}

TEST(NormalizeValues, WithFixGradientTheNormIsAConstant) {
  const auto gradient = [](const std::string& fields) {
    Example example("type: 'Normalize' normalize_param { " + fields + " }");
    example.Bottom({1, 2}, {3, 4}).SetUp().Forward();
    return example.Backward({1, 2});
  };
  const Floats whole = gradient(""), fixed = gradient("fix_gradient: true");
  EXPECT_NEAR(whole[0], -0.064, 1e-6);
  EXPECT_NEAR(whole[1], 0.048, 1e-6);
  EXPECT_NEAR(fixed[0], 0.2, 1e-6);
  EXPECT_NEAR(fixed[1], 0.4, 1e-6);
}

}  // namespace
}  // namespace caffe
