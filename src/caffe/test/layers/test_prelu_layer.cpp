#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kPreluCases = {
    LayerCase("PerChannel", "type: 'PReLU'")
        .Bottom({kOddN, kOddC, kOddH, kOddW}, Fill::DISTINCT)
        .InPlace(),
    LayerCase("Shared", "type: 'PReLU' prelu_param { channel_shared: true }")
        .Bottom({kOddN, kOddC, kOddH}, Fill::DISTINCT)
        .InPlace(),
    LayerCase("Rows", "type: 'PReLU'").Bottom({kOddN, kOddC}, Fill::DISTINCT).InPlace(),
    LayerCase("LongRows", "type: 'PReLU'").Bottom({2, 1031}, Fill::DISTINCT).InPlace(),
    LayerCase("LargePlanes", "type: 'PReLU'").Bottom({2, 2, 521}, Fill::DISTINCT).InPlace(),
    // Slopes of both signs.
    LayerCase("Random", "type: 'PReLU' prelu_param { filler { type: 'gaussian' std: 1 } }")
        .Bottom({kOddN, 5, kOddH}, Fill::DISTINCT)
        .InPlace(),
};
INSTANTIATE_TEST_SUITE_P(PReLU, LayerCases, ::testing::ValuesIn(kPreluCases), CaseName());

const std::vector<BadLayerCase> kPreluBadCases = {
    BadLayerCase("OneAxis", "type: 'PReLU'")
        .Bottom({3})
        .Says("PReLU takes a bottom of 2 axes or more"),
    BadLayerCase("Blobs", "type: 'PReLU' blobs { shape { dim: 2 } data: 1 data: 1 }")
        .Bottom({2, 3})
        .Says("parameter blob 0 has shape 2 \\(2\\) where 3 \\(3\\) is needed"),
};
INSTANTIATE_TEST_SUITE_P(PReLU, BadLayerCases, ::testing::ValuesIn(kPreluBadCases), CaseName());

TEST(PReluValues, OneSlopeAChannel) {
  Example example("type: 'PReLU'");
  example.Bottom({1, 2, 2}, {-4, 2, -1, -2}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{-1, 2, -0.25, -0.5})) << "0.25 at first";
  example.Parameter(0, {0.5, -2});
  EXPECT_EQ(example.Forward(), (Floats{-2, 2, 2, 4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}), (Floats{0.5, 2, -6, -8}));
  const float* slopes = example.layer().blobs()[0]->cpu_diff();
  EXPECT_EQ(slopes[0], -4);
  EXPECT_EQ(slopes[1], -11);
}

TEST(PReluValues, ASharedSlopeHasNoAxes) {
  Example example("type: 'PReLU' prelu_param { channel_shared: true }");
  example.Bottom({1, 2}, {-4, -8}).SetUp();
  EXPECT_TRUE(example.layer().blobs()[0]->shape().empty());
  EXPECT_EQ(example.Forward(), (Floats{-1, -2}));
  example.Backward({1, 2});
  EXPECT_EQ(example.layer().blobs()[0]->cpu_diff()[0], -20);
}

// In place in the TEST phase nothing is kept: the output serves while it has the input's sign.
TEST(PReluValues, HasGradientsInPlaceInTheTestPhase) {
  LayerParameter param;
  param.set_type("PReLU");
  param.set_phase(TEST);
  shared_ptr<Layer<float>> layer = LayerRegistry<float>::CreateLayer(param);
  Blob<float> blob(std::vector<int>{1, 2});
  blob.mutable_cpu_data()[0] = -8;
  blob.mutable_cpu_data()[1] = 2;
  layer->SetUp({&blob}, {&blob});
  layer->Forward({&blob}, {&blob});
  blob.mutable_cpu_diff()[0] = 3;
  blob.mutable_cpu_diff()[1] = 5;
  layer->Backward({&blob}, {true}, {&blob});
  EXPECT_EQ(blob.cpu_diff()[0], 0.75);
  EXPECT_EQ(blob.cpu_diff()[1], 5);
  EXPECT_EQ(layer->blobs()[0]->cpu_diff()[0], -24);
  EXPECT_EQ(layer->blobs()[0]->cpu_diff()[1], 0);
  layer->blobs()[0]->mutable_cpu_data()[1] = -1;
  EXPECT_THROW(layer->Backward({&blob}, {true}, {&blob}), Error);
}

}  // namespace
}  // namespace caffe
