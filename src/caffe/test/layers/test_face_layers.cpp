// CenterLoss, InnerDistance, MarginInnerProduct, SoftTruncation.
#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

std::vector<LayerCase> FaceCases() {
  const std::string centers = "center_filler { type: 'gaussian' std: 1 }";
  const std::string distance = "type: 'InnerDistance' inner_distance_param { ";
  std::vector<LayerCase> cases = {
      LayerCase("Centers", "type: 'CenterLoss' center_loss_param { num_output: 4 " + centers + " }")
          .Bottom({kOddN, kOddC, 2})
          .Labels({kOddN}, 4)
          .WithoutGradients(),
      LayerCase("CentersAxis",
                "type: 'CenterLoss' center_loss_param { num_output: 4 axis: -1 " + centers + " }")
          .Bottom({kOddN, 2, 3})
          .Labels({kOddN, 2}, 4)
          .WithoutGradients(),
      LayerCase("Distance",
                distance + "num_output: 3 bias_filler { type: 'gaussian' std: 1 } " + centers + "}")
          .Bottom({kOddN, 5}),
      LayerCase("DistanceAxis",
                distance + "num_output: 3 axis: 2 bias_term: false " + centers + "}")
          .Bottom({kOddN, 2, 5}),
      LayerCase("DistanceL1", distance + "distance_type: 'L1' }")
          .Bottom({4, 3}, Fill::DISTINCT)
          .Bottom(Bottom({2, 3}).Labels(3))
          .Detour({{2, 3}, {4, 3}}),
      LayerCase("DistanceGiven", distance + "bias_term: false }")
          .Bottom({4, 2, 3})
          .Bottom({kOddC, 6})
          .Detour({{2, 2, 3}, {4, 6}}),
      LayerCase("Truncation", "type: 'SoftTruncation'").Bottom({3, 7}).InPlace(),
      LayerCase("TruncationC", "type: 'SoftTruncation' soft_truncation_param { c: 2 }")
          .Bottom({kOddN, 9})
          .InPlace(),
  };
  for (const std::string type : {"SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"}) {
    cases.push_back(LayerCase("Margin" + type,
                              "type: 'MarginInnerProduct' margin_inner_product_param { num_output: "
                              "4 base: 5 lambda_min: 0.25 type: " +
                                  type + " weight_filler { type: 'xavier' } }")
                        .Bottom({kOddN, 5})
                        .Labels({kOddN}, 4)
                        .Tops(2)
                        .WithoutGradients()
                        .Tolerance(8));
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Face, LayerCases, ::testing::ValuesIn(FaceCases()), CaseName());

const std::string kMargin = "type: 'MarginInnerProduct' margin_inner_product_param { ";

const std::vector<BadLayerCase> kFaceBadCases = {
    BadLayerCase("CenterClasses", "type: 'CenterLoss'")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("center_loss_param: num_output, the number of classes, must be positive, got 0"),
    BadLayerCase("CenterAxis", "type: 'CenterLoss' center_loss_param { num_output: 2 axis: 2 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("center_loss_param: axis 2 is out of range"),
    BadLayerCase("CenterLabels", "type: 'CenterLoss' center_loss_param { num_output: 2 }")
        .Bottom({2, 3})
        .Bottom({3})
        .Says("one label for each of the 2 features"),
    BadLayerCase("CenterLabel", "type: 'CenterLoss' center_loss_param { num_output: 2 }")
        .Bottom({1, 3})
        .Labels({1}, 2, {2})
        .InForward()
        .Says("label number 0 is 2: with 2 classes"),
    BadLayerCase("DistanceOutputs", "type: 'InnerDistance'")
        .Bottom({2, 3})
        .Says("num_output must be positive, got 0"),
    BadLayerCase("DistanceType",
                 "type: 'InnerDistance' inner_distance_param { num_output: 2 distance_type: 'L3' }")
        .Bottom({2, 3})
        .Says("distance_type must be \"L2\" or \"L1\", not \"L3\""),
    BadLayerCase("DistanceAxis",
                 "type: 'InnerDistance' inner_distance_param { num_output: 2 axis: 2 }")
        .Bottom({2, 3})
        .Says("inner_distance_param: axis 2 is out of range"),
    BadLayerCase("DistanceCenters", "type: 'InnerDistance'")
        .Bottom({2, 3})
        .Bottom({4, 2})
        .Says("bottom 1, the centers, must have 3 values each"),
    BadLayerCase("MarginOutputs", "type: 'MarginInnerProduct'")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("num_output must be positive"),
    BadLayerCase("MarginAxis", kMargin + "num_output: 2 axis: -3 }")
        .Bottom({2, 3})
        .Bottom({2})
        .Says("margin_inner_product_param: axis -3 is out of range"),
    BadLayerCase("MarginLabels", kMargin + "num_output: 2 }")
        .Bottom({2, 3})
        .Bottom({3})
        .Says("one label for each of the 2 rows"),
    BadLayerCase("Truncation", "type: 'SoftTruncation' soft_truncation_param { c: 0 }")
        .Bottom({2})
        .Says("soft_truncation_param: c must not be 0"),
};
INSTANTIATE_TEST_SUITE_P(Face, BadLayerCases, ::testing::ValuesIn(kFaceBadCases), CaseName());

TEST(CenterLossValues, CentersFollowTheirOwnRule) {
  Example example("type: 'CenterLoss' center_loss_param { num_output: 3 }");
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).Bottom({3}, {0, 0, 2}).SetUp();
  example.Parameter(0, {1, 1, 0, 0, 5, 4});
  EXPECT_FLOAT_EQ(example.loss(), (0 + 1 + 4 + 9 + 0 + 4) / 6.f);
  Blob<float>& centers = *example.layer().blobs()[0];
  std::fill_n(centers.mutable_cpu_diff(), 6, 10.f);
  EXPECT_EQ(example.Backward({3}), (Floats{0, 1, 2, 3, 0, 2}));
  const Floats d_centers(centers.cpu_diff(), centers.cpu_diff() + 6);
  const Floats wanted = {10 - 2 / 3.f, 10 - 4 / 3.f, 10, 10, 10, 9};
  for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(d_centers[i], wanted[i]) << i;
}

TEST(InnerDistanceValues, SquaresOrNot) {
  const std::string type = "type: 'InnerDistance' inner_distance_param { num_output: 2 ";
  Example l2(type + "}");
  l2.Bottom({1, 2}, {1, 2}).SetUp();
  l2.Parameter(0, {0, 0, 4, -2}).Parameter(1, {100, 200});
  EXPECT_EQ(l2.Forward(), (Floats{105, 225}));
  EXPECT_EQ(l2.Backward({1, 10}), (Floats{2 - 60, 4 + 80}));
  Example l1(type + "distance_type: 'L1' bias_term: false }");
  l1.Bottom({1, 2}, {1, 2}).SetUp();
  l1.Parameter(0, {0, 0, 4, -2});
  EXPECT_EQ(l1.Forward(), (Floats{3, 7}));
  EXPECT_EQ(l1.Backward({1, 10}), (Floats{1 - 10, 1 + 10}));
}

double Psi(int m, double theta) {
  const int k = static_cast<int>(m * theta / M_PI);
  return (k % 2 ? -1 : 1) * std::cos(m * theta) - 2 * k;
}

// x at every 20 degrees from w[1]; with base 0 there is nothing but the margin.
TEST(MarginInnerProductValues, IsTheMarginsFunctionOfTheAngle) {
  const char* types[] = {"SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"};
  for (int m = 1; m <= 4; ++m) {
    Example example(kMargin + "num_output: 2 base: 0 type: " + types[m - 1] + " }");
    Floats x;
    for (int degrees = 10; degrees < 180; degrees += 20) {
      x.push_back(3 * std::sin(degrees * M_PI / 180));
      x.push_back(3 * std::cos(degrees * M_PI / 180));
    }
    const int count = static_cast<int>(x.size()) / 2;
    example.Bottom({count, 2}, x).Bottom({count}, Floats(count, 1)).SetUp();
    example.Parameter(0, {5, 0, 0, 0.5});
    const Floats y = example.Forward();
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(y[2 * i], x[2 * i], 1e-5);
      EXPECT_NEAR(y[2 * i + 1], 3 * Psi(m, (10 + 20 * i) * M_PI / 180), 1e-5) << m << ", " << i;
    }
    const float* weights = example.layer().blobs()[0]->cpu_data();
    EXPECT_EQ(Floats(weights, weights + 4), (Floats{1, 0, 0, 1})) << "scaled to length 1";
  }
}

TEST(MarginInnerProductValues, LambdaFallsWithEveryPass) {
  Example example(
      kMargin + "num_output: 1 type: DOUBLE base: 8 gamma: 1 iteration: 2 lambda_min: 1.75 }", 2);
  example.Bottom({1, 2}, {1, 1}).Bottom({1}, {0}).SetUp();
  example.Parameter(0, {0, 1});
  EXPECT_FLOAT_EQ(example.Forward(1)[0], 2);
  EXPECT_FLOAT_EQ(example.Forward(1)[0], 1.75);
  example.layer().RestoreState("2");
  EXPECT_FLOAT_EQ(example.Forward(1)[0], 2);
  // cos = 1 / sqrt(2), psi = 0.
  EXPECT_FLOAT_EQ(example.Forward(0)[0], 1.75 / 2.75);
}

// DOUBLE at 45 degrees: psi = 2 c^2 - 1 = 0, its slope 4 c; a = 4 c, b = 4 c^2 / |x| = 2 / |x|.
TEST(MarginInnerProductValues, TheMarginsGradientIsScaled) {
  Example example(kMargin + "num_output: 1 type: DOUBLE base: 3 }");
  example.Bottom({1, 2}, {1, 1}).Bottom({1}, {0}).SetUp();
  example.Parameter(0, {0, 2});
  example.Forward();
  const double a = 4 / std::sqrt(2.), b = 2 / std::sqrt(2.), length = std::sqrt(a * a + b * b);
  const Floats dx = example.Backward({4});
  EXPECT_NEAR(dx[0], -b / length, 1e-5);
  EXPECT_NEAR(dx[1], (a - b) / length + 3, 1e-5);
  const Blob<float>& weights = *example.layer().blobs()[0];
  EXPECT_EQ(Floats(weights.cpu_diff(), weights.cpu_diff() + 2), (Floats{4, 4}));
}

TEST(SoftTruncationValues, StaysBelowOne) {
  Example example("type: 'SoftTruncation' soft_truncation_param { c: 2 }");
  example.Bottom({3}, {0, 2, 200}).SetUp();
  const Floats y = example.Forward();
  EXPECT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], 1 - std::exp(-1.));
  EXPECT_EQ(y[2], 1);
  EXPECT_FLOAT_EQ(example.Backward({4, 4, 4})[0], 2);
}

}  // namespace
}  // namespace caffe
