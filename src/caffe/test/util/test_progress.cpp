#include <gtest/gtest.h>

#include "caffe/util/text/progress.hpp"

namespace caffe {
namespace {

TEST(Progress, SaysHowFarAndHowLong) {
  EXPECT_EQ(ProgressText("layer", 12, 53, 0, 6), "layer 12 of 53, about 21 s left");
  EXPECT_EQ(ProgressText("iteration", 600, 1000, 500, 10),
            "iteration 600 of 1000, about 40 s left");
}

TEST(Progress, DoesNotGuessBeforeAnythingIsDone) {
  EXPECT_EQ(ProgressText("layer", 0, 53, 0, 6), "layer 0 of 53");
  EXPECT_EQ(ProgressText("iteration", 500, 1000, 500, 10), "iteration 500 of 1000");
}

TEST(Progress, ShowsLongTimesInMinutesAndHours) {
  EXPECT_EQ(FormatDuration(12.4), "12 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500), "2 h 5 min");
}

}  // namespace
}  // namespace caffe
