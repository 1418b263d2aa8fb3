// Trained nets lose next to nothing by INT8 with thresholds from a few training images: the proof
// of histograms, choosers, weight scales and the rounding together.
#include <gtest/gtest.h>

#include <map>

#include "caffe/inference/quantize/calibration_data.hpp"
#include "caffe/inference/quantize/simulated_int8.hpp"
#include "caffe/test/support/first_images.hpp"
#include "caffe/test/support/slow_tests.hpp"

namespace caffe {
namespace {

/// Right answers out of the images by method, all methods from one run of the float net.
std::map<string, int> CountRightInInt8(const string& model, const LabelledImages& training,
                                       const LabelledImages& test) {
  const auto calibrated = TrainedNet(model);
  FirstImages batches(training, 1000);
  const CalibrationData data = CollectCalibrationData(calibrated.get(), &batches);
  EXPECT_EQ(data.images, 1000);
  std::map<string, int> right;
  for (const char* method : {"entropy", "minmax", "percentile", "mse"}) {
    const auto calibrator =
        MakeCalibrator(method, nullptr, 0, PercentileCalibrator::kDefaultPercent);
    const CalibrationTable table = MakeCalibrationTable(data, *calibrator);
    const auto net = TrainedNet(model);
    const SimulatedInt8 simulated(net.get(), table);
    EXPECT_TRUE(simulated.float_layers().empty());
    right[method] = CountRight(net.get(), test);
    ::testing::Test::RecordProperty(method, right[method]);
  }
  return right;
}

constexpr int kMayLose = 30;  // of 10000 images: 0.3 points

TEST(AccuracyOfInt8, LeNetOnMnist) {
  SLOW_TEST();
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  for (const auto& right :
       CountRightInInt8("lenet_v1format", MnistImages::Training(), MnistImages::Test())) {
    EXPECT_GE(right.second, 9905 - kMayLose) << right.first;
  }
}

#ifdef USE_OPENCV
TEST(AccuracyOfInt8, QuickNetOnCifar10) {
  SLOW_TEST();
  if (!HasSharedData() || !CifarImages::IsThere()) GTEST_SKIP() << kNoSharedData;
  for (const auto& right : CountRightInInt8("cifar10_quick_current", CifarImages("train", 100),
                                            CifarImages("test", 1000))) {
    EXPECT_GE(right.second, 7387 - kMayLose) << right.first;
  }
}
#endif

}  // namespace
}  // namespace caffe
