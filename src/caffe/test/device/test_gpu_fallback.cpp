// What asking for a GPU does where there is none; scripts/tests/flags.sh asks in the tools.
#include "caffe/gpu_fallback.hpp"

#include <gtest/gtest.h>

#include "caffe/common.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/fake_device.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

class GpuFallback : public ::testing::Test {
 protected:
  GpuFallback() { set_gpu_fallback(false); }
  ~GpuFallback() override {
    set_gpu_fallback(before_);
    Caffe::set_mode(Caffe::CPU);
  }

 private:
  const bool before_ = gpu_fallback();
};

class WithoutAGpu : public GpuFallback {
 protected:
  void SetUp() override {
    if (Device::available()) GTEST_SKIP() << "there is a GPU";
  }
};

TEST_F(WithoutAGpu, AskingForOneIsAnErrorThatNamesTheWaysOut) {
  for (const string& error :
       {ErrorOf([] { Caffe::set_mode(Caffe::GPU); }), ErrorOf([] { Caffe::SetDevice(0); }),
        ErrorOf([] { RequireGpu("-gpu 0"); })}) {
    ExpectContains(error, "no GPU can be used: ");
    ExpectContains(error, "CAFFE_GPU_FALLBACK=1");
    ExpectContains(error, "-gpu_fallback");
  }
  EXPECT_EQ(ErrorOf([] { RequireGpu("-gpu 0"); }).find("-gpu 0: no GPU"), 0u);
  EXPECT_EQ(Caffe::mode(), Caffe::CPU);
}

TEST_F(WithoutAGpu, TheCpuComputesInItsPlaceWhereThatWasSaid) {
  set_gpu_fallback(true);
  CapturedLog log;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(RequireGpu("-gpu 0"));
    Caffe::SetDevice(7);
    Caffe::set_mode(Caffe::GPU);
    EXPECT_EQ(Caffe::mode(), Caffe::CPU);
  }
  EXPECT_LE(log.lines().size(), 1u);  // one in a process, of which another test may be the cause
}

TEST_F(GpuFallback, IsOfNoEffectWhereThereIsAGpu) {
  const FakeDevice::Installed device;
  set_gpu_fallback(true);
  EXPECT_TRUE(RequireGpu("-gpu 0"));
  Caffe::set_mode(Caffe::GPU);
  EXPECT_EQ(Caffe::mode(), Caffe::GPU);
  ExpectContains(ErrorOf([] { Caffe::SetDevice(7); }), "no device number 7");
}

}  // namespace
}  // namespace caffe
