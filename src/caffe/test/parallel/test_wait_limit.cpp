#include "caffe/parallel/wait_limit.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace caffe {
namespace {

std::vector<bool> Ticks(WaitTicks* ticks, int count) {
  std::vector<bool> late;
  for (int i = 0; i < count; ++i) late.push_back(ticks->Tick());
  return late;
}

TEST(WaitTicks, AWaitIsTooLongOnce) {
  WaitTicks ticks(3);
  ticks.Begin();
  // The first tick may come at once.
  EXPECT_EQ(Ticks(&ticks, 6), (std::vector<bool>{false, false, false, true, false, false}));
}

TEST(WaitTicks, WaitsDoNotAddUp) {
  WaitTicks ticks(3);
  for (int wait = 0; wait < 4; ++wait) {
    ticks.Begin();
    EXPECT_EQ(Ticks(&ticks, 3), std::vector<bool>(3)) << wait;
    ticks.End();
    const int pause = wait % 2 * 5;
    EXPECT_EQ(Ticks(&ticks, pause), std::vector<bool>(pause)) << wait;
  }
  ticks.Begin();
  EXPECT_EQ(Ticks(&ticks, 4), (std::vector<bool>{false, false, false, true}));
}

TEST(WaitLimit, TellsOfAWaitThatDoesNotEnd) {
  std::promise<void> expired;
  WaitLimit limit(std::chrono::milliseconds(20), [&] { expired.set_value(); });
  { const WaitLimit::Wait over(&limit); }
  const WaitLimit::Wait wait(&limit);
  expired.get_future().wait();
}

}  // namespace
}  // namespace caffe
