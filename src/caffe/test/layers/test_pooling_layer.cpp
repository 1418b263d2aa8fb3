#include <cmath>
#include <map>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kPoolingCases = {
    LayerCase("Max", "type: 'Pooling' pooling_param { pool: MAX kernel_size: 3 stride: 2 }")
        .Bottom({2, 3, 6, 5}, Fill::DISTINCT),
    LayerCase("MaxPadded",
              "type: 'Pooling' pooling_param { pool: MAX kernel_h: 3 kernel_w: 2 stride: 2 pad_h: "
              "1 pad_w: 1 }")
        .Bottom({2, 2, 5, 6}, Fill::DISTINCT),
    LayerCase("Average",
              "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }")
        .Bottom({2, 3, 6, 5}),
    LayerCase("Global", "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }")
        .Bottom({2, 3, 4, 5}),
    LayerCase(
        "Floor",
        "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 round_mode: FLOOR }")
        .Bottom({1, 2, 5, 7}, Fill::DISTINCT),
    LayerCase(
        "TorchRounding",
        "type: 'Pooling' pooling_param { pool: AVE kernel_size: 2 stride: 2 torch_pooling: true }")
        .Bottom({1, 2, 5, 7}),
    LayerCase(
        "PadOnOneAxis",
        "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 pad_h: 1 pad_w: 0 }")
        .Bottom({2, 2, 5, 6}, Fill::DISTINCT),
    LayerCase("LargeWindow",
              "type: 'Pooling' pooling_param { pool: MAX kernel_h: 17 kernel_w: 16 stride: 3 }")
        .Bottom({1, 2, 20, 19}, Fill::DISTINCT),
    LayerCase("InTest",
              "type: 'Pooling' phase: TEST pooling_param { pool: MAX kernel_size: 3 stride: 2 }")
        .Bottom({2, 3, 6, 5}, Fill::DISTINCT),
    LayerCase(
        "StochasticInTest",
        "type: 'Pooling' phase: TEST pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 }")
        .Bottom({2, 3, 6, 5}, Fill::POSITIVE)
        .WithoutGradients(),
    LayerCase("Stochastic",  // no gradients: a small step may draw another element
              "type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 }")
        .Bottom({2, 3, 6, 5}, Fill::POSITIVE)
        .WithoutGradients(),
    LayerCase("Mask", "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 }")
        .Bottom({1, 2, 4, 4}, Fill::DISTINCT)
        .Tops(2)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(Pooling, LayerCases, ::testing::ValuesIn(kPoolingCases), CaseName());

const std::vector<BadLayerCase> kPoolingBadCases = {
    BadLayerCase("Stride", "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2147483647 }")
        .Bottom({1, 1, 4, 4})
        .Says("larger than images are: give up to 16777216"),
    BadLayerCase("NoKernel", "type: 'Pooling'").Bottom({1, 1, 4, 4}).Says("give kernel_size"),
    BadLayerCase("ZeroStride", "type: 'Pooling' pooling_param { kernel_size: 2 stride: 0 }")
        .Bottom({1, 1, 4, 4})
        .Says("stride must be positive"),
    BadLayerCase("PadAsLargeAsKernel", "type: 'Pooling' pooling_param { kernel_size: 2 pad: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("pad must be smaller than the kernel"),
    BadLayerCase("KernelTooLarge", "type: 'Pooling' pooling_param { kernel_size: 5 }")
        .Bottom({1, 1, 4, 4})
        .Says("kernel covers 5 positions, the padded bottom has 4"),
    BadLayerCase("GlobalWithKernel",
                 "type: 'Pooling' pooling_param { global_pooling: true kernel_size: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("do not give kernel_size"),
    BadLayerCase("ThreeAxes", "type: 'Pooling' pooling_param { kernel_size: 2 }")
        .Bottom({1, 4, 4})
        .Says("4 axes"),
    BadLayerCase("StochasticPad",
                 "type: 'Pooling' pooling_param { kernel_size: 2 pad: 1 pool: STOCHASTIC }")
        .Bottom({1, 1, 4, 4})
        .Says("STOCHASTIC takes no pad"),
    BadLayerCase("Dilation", "type: 'Pooling' pooling_param { kernel_size: 2 dilation: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("dilation 2 is not available"),
    BadLayerCase("TwoTopsOfAverages", "type: 'Pooling' pooling_param { kernel_size: 2 pool: AVE }")
        .Bottom({1, 1, 4, 4})
        .Tops(2)
        .Says("top"),
    BadLayerCase("KernelAndKernelH", "type: 'Pooling' pooling_param { kernel_size: 2 kernel_h: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("give kernel_size, or kernel_h and kernel_w"),
    BadLayerCase("HalfAKernel", "type: 'Pooling' pooling_param { kernel_h: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("give both kernel_h and kernel_w"),
    BadLayerCase("BothStrides",
                 "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 stride_h: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("give stride or stride_h and stride_w, not both"),
    BadLayerCase("BothPads", "type: 'Pooling' pooling_param { kernel_size: 2 pad: 1 pad_w: 1 }")
        .Bottom({1, 1, 4, 4})
        .Says("give pad or pad_h and pad_w, not both"),
    BadLayerCase("GlobalStride", "type: 'Pooling' pooling_param { global_pooling: true stride: 2 }")
        .Bottom({1, 1, 4, 4})
        .Says("global_pooling has pad 0 and stride 1"),
};
INSTANTIATE_TEST_SUITE_P(Pooling, BadLayerCases, ::testing::ValuesIn(kPoolingBadCases), CaseName());

TEST(PoolingValues, PaddingOnOneAxisLeavesOutWindowsOnBoth) {
  // Along W a window would begin at 3, behind the image: left out, because H has padding.
  Example example("type: 'Pooling' pooling_param { kernel_size: 1 stride: 3 pad_h: 0 pad_w: 0 }");
  EXPECT_EQ(example.Bottom({1, 1, 3, 3}, Floats(9, 0)).SetUp().TopShape(),
            (std::vector<int>{1, 1, 2, 2}));
  Example padded("type: 'Pooling' pooling_param { kernel_h: 2 kernel_w: 1 stride: 3 pad_h: 1 }");
  EXPECT_EQ(padded.Bottom({1, 1, 3, 3}, Floats(9, 0)).SetUp().TopShape(),
            (std::vector<int>{1, 1, 2, 1}));
}

TEST(PoolingValues, OtherNamesOfRoundingDown) {
  for (const char* name : {"torch_pooling: true", "ceil_mode: false", "round_mode: FLOOR"}) {
    Example example(std::string("type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 ") +
                    name + " }");
    EXPECT_EQ(example.Bottom({1, 1, 5, 5}, Floats(25, 0)).SetUp().TopShape(),
              (std::vector<int>{1, 1, 2, 2}))
        << name;
  }
}

TEST(PoolingValues, LargeWindowsKeepPositionsAndGradients) {
  Example example("type: 'Pooling' pooling_param { kernel_size: 16 stride: 1 }", 2);
  Floats x(16 * 17, 0);
  x[16 * 17 - 1] = 5;  // seen by the second window only
  x[17] = 3;           // by the first only
  example.Bottom({1, 1, 16, 17}, x).SetUp();
  EXPECT_EQ(example.Forward(0), (Floats{3, 5}));
  EXPECT_EQ(example.Forward(1), (Floats{17, 16 * 17 - 1}));
  const Floats dx = example.Backward({7, 9});
  EXPECT_EQ(dx[17], 7);
  EXPECT_EQ(dx[16 * 17 - 1], 9);
}

TEST(PoolingValues, StochasticInTestIsTheExpectedValue) {
  Example example(
      "type: 'Pooling' phase: TEST pooling_param { pool: STOCHASTIC kernel_size: 2 stride: 2 }");
  example.Bottom({1, 1, 2, 4}, {1, 2, 0, 0, 3, 4, 0, 0}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{3, 0}));  // (1 + 4 + 9 + 16) / 10, nothing to draw from
}

TEST(PoolingValues, StochasticDrawsByValueAndGivesTheGradientToWhatItDrew) {
  constexpr int kImages = 4000;
  Floats x;
  for (int i = 0; i < kImages; ++i) x.insert(x.end(), {1, 2, 0, 5});
  Example example("type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 2 }");
  example.Bottom({kImages, 1, 2, 2}, x).SetUp();
  const Floats y = example.Forward();
  const Floats dx = example.Backward(Floats(kImages, 1));
  std::map<float, int> drawn;
  for (int i = 0; i < kImages; ++i) {
    ++drawn[y[i]];
    for (int k = 0; k < 4; ++k) ASSERT_EQ(dx[4 * i + k], x[4 * i + k] == y[i] ? 1 : 0);
  }
  EXPECT_EQ(drawn[0], 0);
  for (const int value : {1, 2, 5}) {
    const double part = value / 8.;
    EXPECT_NEAR(drawn[value], kImages * part, 6 * std::sqrt(kImages * part * (1 - part)));
  }
}

// One uniform number per output, in order.
TEST(PoolingValues, StochasticUsesTheGeneratorsNextNumbers) {
  const Floats x = {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4};  // sums so far: 1, 3, 6, 10
  Example example("type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 2 stride: 2 }");
  example.Bottom({1, 1, 2, 6}, x).SetUp();
  Caffe::set_random_seed(TestSeed());
  const Floats y = example.Forward();
  Caffe::set_random_seed(TestSeed());
  float draws[3];
  caffe_rng_uniform<float>(3, 0, 1, draws);
  for (int i = 0; i < 3; ++i) {
    const float threshold = 10 * draws[i];
    EXPECT_EQ(y[i], threshold <= 1 ? 1 : threshold <= 3 ? 2 : threshold <= 6 ? 3 : 4) << i;
  }
}

TEST(PoolingValues, StochasticHasNoGradientInTest) {
  Example example("type: 'Pooling' phase: TEST pooling_param { pool: STOCHASTIC kernel_size: 2 }");
  example.Bottom({1, 1, 2, 2}, {1, 2, 3, 4}).SetUp();
  example.Forward();
  EXPECT_THROW(example.Backward({1}), Error);
}

}  // namespace
}  // namespace caffe
