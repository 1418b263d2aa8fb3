#include "caffe/util/system/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

TEST(ThreadTeamTest, TakesEveryItemOnce) {
  for (int size : {0, 1, 2, 7}) {
    ThreadTeam team(size);
    EXPECT_EQ(team.size(), std::max(size, 1));
    for (int count : {0, 1, 5, 100, 3}) {
      vector<std::atomic<int>> taken(count);
      team.ForEach(count, [&](int item) { ++taken[item]; });
      for (const auto& times : taken) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadTeamTest, RethrowsTheFirstItemsError) {
  ThreadTeam team(4);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const string error =
        ErrorOf([&] { team.ForEach(50, [](int item) { Require(item % 7 != 5, "item ", item); }); });
    ASSERT_EQ(error, "item 5");
  }
  int sum = 0;
  ThreadTeam(1).ForEach(3, [&](int item) { sum += item; });
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace caffe
