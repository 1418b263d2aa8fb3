#include "caffe/context.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "caffe/test/fake_device.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

unsigned Draw() { return (*caffe_rng())(); }

TEST(ContextRandom, TheSameSeedGivesTheSameDraws) {
  Caffe::set_random_seed(1701);
  const unsigned first = Draw(), second = Draw();
  Caffe::set_random_seed(1701);
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
  Caffe::set_random_seed(1);
  const unsigned first = Draw();
  std::thread([] {
    Caffe::set_random_seed(2);
    Draw();
  }).join();
  const unsigned second = Draw();
  Caffe::set_random_seed(1);
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
