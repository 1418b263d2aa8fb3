#include "caffe/communicator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "caffe/error.hpp"
#include "caffe/test/support/rank_threads.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

using Errors = std::vector<std::string>;

TEST(ThreadCommunicator, KnowsItsRank) {
  std::vector<int> sizes(3);
  EXPECT_EQ(RunRanks(3, [&](Communicator* ranks) { sizes[ranks->rank()] = ranks->size(); }),
            Errors(3));
  EXPECT_EQ(sizes, (std::vector<int>{3, 3, 3}));
}

TEST(ThreadCommunicator, AddsUpOverAllRanks) {
  // Rank r has r + 1, 10 (r + 1), ...
  const Errors errors = RunRanks(3, [&](Communicator* ranks) {
    const float own = ranks->rank() + 1;
    std::vector<float> floats = {own, 10 * own, 100 * own, 1000 * own};
    ranks->AllReduceSum(floats.data(), floats.size());
    EXPECT_EQ(floats, (std::vector<float>{6, 60, 600, 6000}));
    double one = own;
    ranks->AllReduceSum(&one, 1);  // fewer values than ranks
    EXPECT_EQ(one, 6);
    ranks->AllReduceSum(&one, 0);
    EXPECT_EQ(one, 6);
  });
  EXPECT_EQ(errors, Errors(3));
}

TEST(ThreadCommunicator, GivesAllRanksTheSameBits) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::vector<std::vector<float>> sums(4);
  const auto values_of = [&](int rank) {
    std::mt19937 random(seed + rank);
    std::vector<float> values(1000);
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
    return values;
  };
  RunRanks(4, [&](Communicator* ranks) {
    std::vector<float> values = values_of(ranks->rank());
    ranks->AllReduceSum(values.data(), values.size());
    sums[ranks->rank()] = values;
  });
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(sums[rank], sums[0]);
  double expected = 0;
  for (int rank = 0; rank < 4; ++rank) expected += values_of(rank)[999];
  EXPECT_NEAR(sums[0][999], expected, 1e-6);
}

TEST(ThreadCommunicator, CopiesWhatTheRootHas) {
  for (int root = 0; root < 3; ++root) {
    const Errors errors = RunRanks(3, [&](Communicator* ranks) {
      int values[2] = {ranks->rank(), 10 * ranks->rank()};
      ranks->Broadcast(values, sizeof values, root);
      EXPECT_EQ(values[0], root);
      EXPECT_EQ(values[1], 10 * root);
      const std::string text(7 * ranks->rank(), 'a' + ranks->rank());  // of another length
      EXPECT_EQ(ranks->BroadcastText(text, root), std::string(7 * root, 'a' + root));
    });
    EXPECT_EQ(errors, Errors(3));
  }
}

TEST(ThreadCommunicator, WaitsForAllAtABarrier) {
  std::atomic<int> arrived{0};
  RunRanks(4, [&](Communicator* ranks) {
    for (int round = 1; round <= 100; ++round) {
      ++arrived;
      ranks->Barrier();
      EXPECT_GE(arrived, 4 * round);
      ranks->Barrier();
    }
  });
}

TEST(ThreadCommunicator, ARankThatFailsEndsTheOthers) {
  const Errors errors = RunRanks(3, [&](Communicator* ranks) {
    float value = 0;
    ranks->AllReduceSum(&value, 1);
    Require(ranks->rank() != 1, "the disk is full");
    ranks->AllReduceSum(&value, 1);
  });
  EXPECT_EQ(errors,
            (Errors{"another rank has failed", "the disk is full", "another rank has failed"}));
}

TEST(ThreadCommunicator, RefusesToExchangeDifferentThings) {
  const Errors errors = RunRanks(2, [&](Communicator* ranks) {
    float values[2] = {};
    ranks->AllReduceSum(values, 1 + ranks->rank());
  });
  ExpectContains(errors[0] + errors[1], "exchange different things");
}

TEST(MpiCommunicator, IsNoneInAProcessThatWasStartedAlone) {
  EXPECT_EQ(MpiCommunicator(), nullptr);
}

}  // namespace
}  // namespace caffe
