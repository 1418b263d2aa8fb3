// What "latency" and "throughput" make of threads.
#include <gtest/gtest.h>

#include "caffe/common.hpp"
#include "caffe/inference/hint.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

TEST(Hint, LatencyHasOneContextWithAllThreads) {
  const ThreadSplit split = SplitThreads(ParseHint("latency"), 6);
  EXPECT_EQ(split.contexts, 1);
  EXPECT_EQ(split.threads, 6);
}

TEST(Hint, ThroughputHasAContextForEachThread) {
  const ThreadSplit split = SplitThreads(ParseHint("throughput"), 6);
  EXPECT_EQ(split.contexts, 6);
  EXPECT_EQ(split.threads, 1);
}

TEST(Hint, DividesTheCallersThreadsWhereNoNumberIsGiven) {
  const kernels::TeamSize team(3);
  EXPECT_EQ(SplitThreads(Hint::LATENCY).threads, 3);
  EXPECT_EQ(SplitThreads(Hint::THROUGHPUT).contexts, 3);
}

TEST(Hint, RefusesWhatMakesNoSense) {
  ExpectContains(ErrorOf([] { ParseHint("speed"); }), "'speed': give latency or throughput");
  ExpectContains(ErrorOf([] { SplitThreads(Hint::LATENCY, -1); }), "negative, got -1");
}

}  // namespace
}  // namespace caffe::inference
