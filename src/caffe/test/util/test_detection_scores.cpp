#include "caffe/util/detection/detection_scores.hpp"

#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/test_files.hpp"
#include "gtest/gtest.h"

namespace caffe {
namespace {

Blob<float> const& Rows(Blob<float>* blob, const std::vector<std::vector<float>>& rows) {
  blob->Reshape({1, 1, static_cast<int>(rows.size()), 5});
  float* data = blob->mutable_cpu_data();
  for (const auto& row : rows) data = std::copy(row.begin(), row.end(), data);
  return *blob;
}

// Class 1: two true boxes, found by the first and the third of three detections, in two batches.
// Precision 1, 1/2, 2/3 at recall 1/2, 1/2, 1.
TEST(DetectionScores, AddUpBatches) {
  Blob<float> blob;
  DetectionScores scores;
  scores.Add(Rows(&blob, {{-1, 1, 1, -1, -1}, {0, 1, .9f, 1, 0}, {0, 1, .8f, 0, 1}}));
  scores.Add(Rows(&blob, {{-1, 1, 1, -1, -1}, {1, 1, .7f, 1, 0}}));
  EXPECT_NEAR(scores.Mean("Integral"), .5 * 1 + .5 * 2 / 3., 1e-6);
  EXPECT_NEAR(scores.Mean("11point"), (6 * 1 + 5 * 2 / 3.) / 11, 1e-6);
}

// A class without detections counts, one without true boxes does not.
TEST(DetectionScores, AverageOverClassesWithBoxes) {
  Blob<float> blob;
  DetectionScores scores;
  scores.Add(Rows(&blob, {{-1, 1, 1, -1, -1},
                          {-1, 2, 3, -1, -1},
                          {-1, 3, -1, -1, -1},
                          {0, 1, .9f, 1, 0},
                          {0, 3, .9f, 0, 1}}));
  const std::map<int, float> expected = {{1, 1.f}, {2, 0.f}};
  EXPECT_EQ(scores.AveragePrecisions("Integral"), expected);
  EXPECT_FLOAT_EQ(scores.Mean("Integral"), 0.5f);
}

TEST(DetectionScores, RefuseWhatIsNoEvaluation) {
  DetectionScores scores;
  const Blob<float> other(std::vector<int>{1, 1, 2, 7});
  ExpectContains(ErrorOf([&] { scores.Add(other); }), "DetectionEvaluate");
  Blob<float> blob;
  scores.Add(Rows(&blob, {{-1, 1, 1, -1, -1}, {0, 1, .9f, 1, 0}}));
  EXPECT_THROW(scores.Mean("12point"), Error);
}

}  // namespace
}  // namespace caffe
