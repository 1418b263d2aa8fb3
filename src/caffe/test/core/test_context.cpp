#include "caffe/context.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <set>
#include <thread>

#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/fake_device.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

unsigned Draw() { return (*caffe_rng())(); }

TEST(ContextRandom, TheSameSeedGivesTheSameDraws) {
  Caffe::set_random_seed(TestSeed());
  const unsigned first = Draw(), second = Draw();
  Caffe::set_random_seed(TestSeed());
  EXPECT_EQ(Draw(), first);
  EXPECT_EQ(Draw(), second);
}

// The first numbers of mt19937 with its standard seed: the generator of every Caffe.
TEST(ContextRandom, IsTheMersenneTwister) {
  Caffe::set_random_seed(5489);
  EXPECT_EQ(Draw(), 3499211612u);
  EXPECT_EQ(Draw(), 581869302u);
}

TEST(ContextRandom, EveryThreadHasItsOwnGenerator) {
  Caffe::set_random_seed(TestSeed());
  const unsigned first = Draw();
  std::thread([] {
    Caffe::set_random_seed(TestSeed() + 1);
    Draw();
  }).join();
  const unsigned second = Draw();
  Caffe::set_random_seed(TestSeed());
  EXPECT_EQ(Draw(), first);
  EXPECT_EQ(Draw(), second);
}

TEST(ContextMode, ANewThreadStartsInTheLatestMode) {
  const FakeDevice::Installed device;
  Caffe::set_mode(Caffe::GPU);
  Caffe::Brew seen = Caffe::CPU;
  std::thread([&seen] { seen = Caffe::mode(); }).join();
  EXPECT_EQ(seen, Caffe::GPU);
  Caffe::set_mode(Caffe::CPU);
}

TEST(ContextMode, WithoutADeviceThereIsNoGpuMode) {
  if (Device::available()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW(Caffe::set_mode(Caffe::GPU), Error);
  EXPECT_THROW(Context::Current().stream(), Error);
  EXPECT_THROW(Caffe::SetDevice(0), Error);
  EXPECT_FALSE(Caffe::CheckDevice(0));
  EXPECT_EQ(Caffe::FindDevice(), -1);
  EXPECT_EQ(Caffe::mode(), Caffe::CPU);
}

TEST(ContextMode, RanksAndCounts) {
  EXPECT_TRUE(Caffe::root_solver());
  Caffe::set_solver_rank(2);
  Caffe::set_solver_count(4);
  EXPECT_FALSE(Caffe::root_solver());
  EXPECT_EQ(Caffe::solver_count(), 4);
  Caffe::set_solver_rank(0);
  Caffe::set_solver_count(1);
}

/// How many threads a loop has in a thread of its own.
int ThreadsOfANewThread() {
  int seen = 0;
  std::thread([&seen] { seen = Caffe::threads(); }).join();
  return seen;
}

/// Gives the process the number of threads back that it had.
class ContextThreads : public ::testing::Test {
 protected:
  void TearDown() override { Caffe::set_threads(before_); }

  const int before_ = Caffe::threads();
};

TEST_F(ContextThreads, ShareLoops) {
  for (const int threads : {3, 1}) {
    Caffe::set_threads(threads);
    EXPECT_EQ(Caffe::threads(), threads);
    EXPECT_EQ(kernels::ParallelParts(100, 1), size_t(threads));
  }
}

TEST_F(ContextThreads, HoldForThreadsThatStartLater) {
  Caffe::set_threads(3);
  EXPECT_EQ(ThreadsOfANewThread(), 3);
  std::thread([] { Caffe::set_threads(5); }).join();
  EXPECT_EQ(Caffe::threads(), 3) << "this thread has its own";
  EXPECT_EQ(ThreadsOfANewThread(), 5);
}

TEST_F(ContextThreads, FollowOpenMp) {
  Caffe::set_threads(3);
  omp_set_num_threads(2);
  EXPECT_EQ(Caffe::threads(), 2);
  Caffe::set_mode(Caffe::CPU);
  EXPECT_EQ(Caffe::threads(), 2) << "other settings leave it alone";
}

TEST_F(ContextThreads, AreOneAtLeast) {
  EXPECT_THROW(Caffe::set_threads(0), Error);
  EXPECT_THROW(Caffe::set_threads(-2), Error);
  EXPECT_EQ(Caffe::threads(), before_);
}

TEST(TeamSize, HoldsAsLongAsItLives) {
  const int before = omp_get_max_threads();
  {
    const kernels::TeamSize team(before + 2);
    EXPECT_EQ(kernels::ParallelParts(1000, 1), size_t(before + 2));
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(ContextStream, IsMadeAnewForAnotherDevice) {
  FakeDevice::Installed first;
  Stream* before = &Context::Current().stream();
  EXPECT_EQ(&Context::Current().stream(), before);
  before->Synchronize();
}

TEST(Workspace, ReusesBlocksAndKeepsNestedOnesApart) {
  Workspace workspace;
  void* first = nullptr;
  {
    Workspace::Buffer<float> outer(workspace, 100);
    Workspace::Buffer<float> inner(workspace, 50);
    first = outer.get();
    EXPECT_NE(outer.get(), inner.get());
  }
  EXPECT_EQ(workspace.capacity(), 600u);
  Workspace::Buffer<double> again(workspace, 45);
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(workspace.capacity(), 600u);
}

TEST(Workspace, GrowsByReplacing) {
  Workspace workspace;
  for (size_t size : {10, 20, 40, 80}) Workspace::Buffer<char>(workspace, size);
  EXPECT_EQ(workspace.capacity(), 80u);
}

}  // namespace
}  // namespace caffe
