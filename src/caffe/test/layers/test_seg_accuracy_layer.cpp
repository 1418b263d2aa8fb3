#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSegAccuracyCases = {
    LayerCase("Classes", "type: 'SegAccuracy'")
        .Bottom({kOddN, 4, kOddH, 3}, Fill::DISTINCT)
        .Labels({kOddN, 1, kOddH, 3}, 4)
        .WithoutGradients(),
    LayerCase("TwoByOneProbability", "type: 'SegAccuracy' seg_accuracy_param { ignore_label: 7 }")
        .Bottom({kOddN, 1, 5, kOddW}, Fill::DISTINCT)
        .Labels({kOddN, 1, 5, kOddW}, 2)
        .WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(SegAccuracy, LayerCases, ::testing::ValuesIn(kSegAccuracyCases),
                         CaseName());

const std::vector<BadLayerCase> kSegAccuracyBadCases = {
    BadLayerCase("Labels", "type: 'SegAccuracy'")
        .Bottom({1, 3, 2, 2})
        .Bottom({1, 1, 2, 3})
        .Says("one label for each of the 4 predictions"),
    BadLayerCase("Label", "type: 'SegAccuracy' seg_accuracy_param { ignore_label: 255 }")
        .Bottom({1, 3, 1, 2})
        .Values({1, 1, 1, 2}, {255, 3})
        .InForward()
        .Says("label number 1 is 3: with 3 classes valid are 0 to 2"),
    BadLayerCase("LabelOfTwo", "type: 'SegAccuracy'")
        .Bottom({1, 1, 1, 1})
        .Values({1, 1, 1, 1}, {2})
        .InForward()
        .Says("with 2 classes valid are 0 to 1"),
};
INSTANTIATE_TEST_SUITE_P(SegAccuracy, BadLayerCases, ::testing::ValuesIn(kSegAccuracyBadCases),
                         CaseName());

void ExpectNear(const Floats& expected, const Floats& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(expected[i], actual[i]) << i;
}

// Found: 0 0 1 0 | 2; labels: 0 1 1 0 | ignored. Class 0: 2 of 2, IoU 2 / 3; class 1: 1 of 2, 1 /
// 2; class 2 is neither there nor found: IoU 1.
const Floats kPixelScores = {9, 9, 0, 9, 0,  //
                             0, 0, 9, 0, 0,  //
                             0, 0, 0, 0, 9};

TEST(SegAccuracyValues, CountsPixelsByClass) {
  Example example("type: 'SegAccuracy' seg_accuracy_param { ignore_label: 255 ignore_label: 254 }");
  example.Bottom({1, 3, 1, 5}, kPixelScores).Bottom({1, 1, 1, 5}, {0, 1, 1, 0, 255}).SetUp();
  EXPECT_EQ(example.TopShape(), (std::vector<int>{1, 1, 1, 3}));
  ExpectNear({3 / 4.f, (1 + 1 / 2.f) / 2, (2 / 3.f + 1 / 2.f + 1) / 3}, example.Forward());
}

TEST(SegAccuracyValues, NothingThatCountsIsNoAccuracy) {
  Example example("type: 'SegAccuracy' seg_accuracy_param { ignore_label: 255 }");
  example.Bottom({1, 3, 1, 5}, kPixelScores).Bottom({1, 1, 1, 5}, Floats(5, 255)).SetUp();
  ExpectNear({0, 0, 1}, example.Forward());
}

TEST(SegAccuracyValues, OneChannelIsAProbability) {
  Example example("type: 'SegAccuracy'");
  example.Bottom({2, 1, 1, 2}, {0.4f, 0.6f, 0.7f, 0.5f}).Bottom({2, 1, 1, 2}, {0, 1, 0, 0}).SetUp();
  ExpectNear({3 / 4.f, (2 / 3.f + 1) / 2, (2 / 3.f + 1 / 2.f) / 2}, example.Forward());
}

TEST(SegAccuracyValues, CountsOfOneBatchOrOfAll) {
  for (const bool reset : {true, false}) {
    Example example(reset ? "type: 'SegAccuracy'"
                          : "type: 'SegAccuracy' seg_accuracy_param { reset: false }");
    example.Bottom({1, 2, 1, 1}, {1, 0}).Bottom({1, 1, 1, 1}, {0}).SetUp();
    EXPECT_EQ(example.Forward()[0], 1);
    example.Change(1, {1});
    EXPECT_EQ(example.Forward()[0], reset ? 0 : 0.5f);
  }
}

}  // namespace
}  // namespace caffe
