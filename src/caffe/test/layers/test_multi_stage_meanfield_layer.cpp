#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::string kField = "type: 'MultiStageMeanfield' multi_stage_meanfield_param { ";
const std::string kThetas = "theta_alpha: 2 theta_beta: 1 theta_gamma: 1.5 ";

LayerCase MultiStageMeanfieldCase(const std::string& name, const std::string& param,
                                  int channels = 3) {
  return LayerCase(name, kField + kThetas + param + " }")
      .Bottom({2, 3, 4, 3})
      .Bottom({2, 3, 4, 3})
      .Constant({2, channels, 4, 3})
      .Tolerance(4);
}

const std::vector<LayerCase> kMultiStageMeanfieldCases = {
    MultiStageMeanfieldCase("OneStep", "spatial_filter_weight: 3 bilateral_filter_weight: 5"),
    MultiStageMeanfieldCase(
        "Steps", "num_iterations: 3 spatial_filter_weight: 1 bilateral_filter_weight: 2"),
    MultiStageMeanfieldCase(
        "WeightsOfClasses",
        "num_iterations: 2 spatial_filter_weights_str: '1 2 3' bilateral_filter_weights_str: '0.5 "
        "-1 2'"),
    MultiStageMeanfieldCase("GreyImages", "num_iterations: 2", 1),
};
INSTANTIATE_TEST_SUITE_P(MultiStageMeanfield, LayerCases,
                         ::testing::ValuesIn(kMultiStageMeanfieldCases), CaseName());

BadLayerCase MultiStageMeanfieldBad(const std::string& name, const std::string& param,
                                    const std::string& wanted,
                                    std::vector<int> first = {1, 2, 3, 4},
                                    std::vector<int> image = {1, 3, 3, 4}) {
  return BadLayerCase(name, kField + param + " }")
      .Bottom({1, 2, 3, 4})
      .Bottom(first)
      .Bottom(image)
      .Says(wanted);
}

/// A parameter of this shape, as a net has it.
std::string Given(int rows, int columns, const std::string& values) {
  return Join("blobs { shape { dim: 1 dim: 1 dim: ", rows, " dim: ", columns, " } data: [", values,
              "] } ");
}
const std::string kUnit = Given(2, 2, "1, 0, 0, 1");

BadLayerCase BadNextToBlobs(const std::string& name, const std::string& param,
                            const std::string& blobs, const std::string& wanted) {
  BadLayerCase bad = MultiStageMeanfieldBad(name, param, wanted);
  bad.prototxt += " " + blobs;
  return bad;
}

const std::vector<BadLayerCase> kMultiStageMeanfieldBadCases = {
    BadNextToBlobs("BlobsTooFew", "", kUnit, "3 parameter blob.*, 1 are given"),
    BadNextToBlobs("ShapeOfABlob", "", kUnit + Given(3, 2, "1, 2, 3, 4, 5, 6") + kUnit,
                   "parameter blob 1 has shape 1 1 3 2 .*where 1 1 2 2"),
    BadNextToBlobs("WeightsNextToBlobs", "spatial_filter_weights_str: '1 2 3'",
                   kUnit + kUnit + kUnit, "spatial_filter_weights_str must be 2 numbers"),
    MultiStageMeanfieldBad("Iterations", "num_iterations: 0",
                           "num_iterations must be positive, got 0"),
    MultiStageMeanfieldBad("Theta", "theta_beta: 0", "theta_beta must be positive, got 0"),
    MultiStageMeanfieldBad(
        "Weights", "spatial_filter_weights_str: '1 2 3'",
        "spatial_filter_weights_str must be 2 numbers, one for each class, not '1 2 3'"),
    MultiStageMeanfieldBad("NoNumbers", "bilateral_filter_weights_str: '1 x'", "must be 2 numbers"),
    MultiStageMeanfieldBad("NoClassWeights", "is_no_class_weights: true",
                           "is_no_class_weights is not available"),
    MultiStageMeanfieldBad("Scores", "", "they are .* and 1 3 3 4", {1, 3, 3, 4}),
    MultiStageMeanfieldBad("Image", "", "as large as the scores .*: bottom 2 is 1 3 4 4",
                           {1, 2, 3, 4}, {1, 3, 4, 4}),
    BadLayerCase("NotFinite", kField + "}")
        .Bottom({1, 1, 1, 1})
        .Bottom({1, 1, 1, 1})
        .Values({1, 1, 1, 1}, {std::nan("")})
        .InForward()
        .Says("not finite"),
};
INSTANTIATE_TEST_SUITE_P(MultiStageMeanfield, BadLayerCases,
                         ::testing::ValuesIn(kMultiStageMeanfieldBadCases), CaseName());

// One pixel is all that its filters see: scores = unary + (S + B) q by Potts' model.
TEST(MultiStageMeanfieldValues, APixelAloneAgreesWithItself) {
  Example example(
      kField + "spatial_filter_weights_str: '1 2' bilateral_filter_weight: 4 num_iterations: 2 }");
  example.Bottom({1, 2, 1, 1}, {0.5f, 0.25f}).Bottom({1, 2, 1, 1}, {0, std::log(3.f)});
  example.Bottom({1, 3, 1, 1}, {7, 8, 9}).SetUp();
  double scores[] = {0.5 + 5 * 0.25, 0.25 + 6 * 0.75};
  const double q = 1 / (1 + std::exp(scores[1] - scores[0]));
  const Floats y = example.Forward();
  EXPECT_NEAR(y[0], 0.5 + 5 * q, 1e-5);
  EXPECT_NEAR(y[1], 0.25 + 6 * (1 - q), 1e-5);
}

TEST(MultiStageMeanfieldValues, ParametersAreDiagonalsAndPottsModel) {
  Example example(kField + "spatial_filter_weight: 3 bilateral_filter_weights_str: '5 6' }");
  example.Bottom({1, 2, 1, 1}, {0, 0}).Bottom({1, 2, 1, 1}, {0, 0}).Bottom({1, 1, 1, 1}, {0});
  example.SetUp();
  const Floats wanted[] = {{3, 0, 0, 3}, {5, 0, 0, 6}, {-1, 0, 0, -1}};
  ASSERT_EQ(example.layer().blobs().size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Blob<float>& blob = *example.layer().blobs()[i];
    EXPECT_EQ(blob.shape(), (std::vector<int>{1, 1, 2, 2}));
    EXPECT_EQ(Floats(blob.cpu_data(), blob.cpu_data() + 4), wanted[i]);
  }
}

// By one pixel, scores = unary - C (S + B) q with q = (1/2, 1/2).
TEST(MultiStageMeanfieldValues, GivenParametersAreKeptAndLearned) {
  Example example(kField + "num_iterations: 1 } " + Given(2, 2, "1, 2, 3, 4") +
                  Given(2, 2, "0, 2, 0, 0") + Given(2, 2, "0, -1, -2, 0"));
  example.Bottom({1, 2, 1, 1}, {1, 2}).Bottom({1, 2, 1, 1}, {0, 0}).Bottom({1, 1, 1, 1}, {0});
  example.SetUp();
  // (S + B) q = (2.5, 3.5)
  const Floats y = example.Forward();
  EXPECT_NEAR(y[0], 1 + 3.5, 1e-5);
  EXPECT_NEAR(y[1], 2 + 5, 1e-5);
  example.Backward({1, 10});
  // dC = -dy (2.5, 3.5)^T; dS and dB are -C^T dy q^T = (20, 1)^T (1/2, 1/2).
  const Floats wanted[] = {{10, 10, 0.5, 0.5}, {10, 10, 0.5, 0.5}, {-2.5, -3.5, -25, -35}};
  for (int i = 0; i < 3; ++i) {
    const float* diff = example.layer().blobs()[i]->cpu_diff();
    for (int k = 0; k < 4; ++k) EXPECT_NEAR(diff[k], wanted[i][k], 1e-4) << i << ", " << k;
  }
}

// A dark left half whose scores say class 0 and a bright right half that says class 1, each with
// one pixel that says the opposite.
class MeanfieldOfAnImage : public ::testing::Test {
 protected:
  static constexpr int kHeight = 8, kWidth = 10;

  static int ClassOf(int w) { return w < kWidth / 2 ? 0 : 1; }

  Floats Labels(const std::string& param) {
    Floats unary(2 * kHeight * kWidth), image;
    for (int h = 0; h < kHeight; ++h) {
      for (int w = 0; w < kWidth; ++w) {
        const bool opposite = h == 3 && (w == 2 || w == 7);
        unary[((ClassOf(w) ^ opposite) * kHeight + h) * kWidth + w] = 1;
        image.push_back(ClassOf(w) ? 200 : 40);
      }
    }
    Example example(kField + param + " num_iterations: 5 }");
    example.Bottom({1, 2, kHeight, kWidth}, unary).Bottom({1, 2, kHeight, kWidth}, unary);
    example.Bottom({1, 1, kHeight, kWidth}, image).SetUp();
    const Floats y = example.Forward();
    Floats labels(kHeight * kWidth);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = y[labels.size() + i] > y[i];
    return labels;
  }
};

TEST_F(MeanfieldOfAnImage, PixelsOfAColorAgree) {
  const Floats labels =
      Labels("theta_alpha: 5 theta_beta: 10 spatial_filter_weight: 0 bilateral_filter_weight: 6");
  for (int i = 0; i < kHeight * kWidth; ++i) EXPECT_EQ(labels[i], ClassOf(i % kWidth)) << i;
}

TEST_F(MeanfieldOfAnImage, WithoutWeightsTheScoresStay) {
  const Floats labels = Labels("spatial_filter_weight: 0 bilateral_filter_weight: 0");
  EXPECT_EQ(labels[3 * kWidth + 2], 1);
  EXPECT_EQ(labels[3 * kWidth + 7], 0);
}

}  // namespace
}  // namespace caffe
