#ifndef CAFFE_TEST_TEST_CAFFE_MAIN_HPP_
#define CAFFE_TEST_TEST_CAFFE_MAIN_HPP_

// What tests of layers written outside the library are built on; needs GoogleTest. The program
// brings its own main, or links gtest_main.

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "caffe/common.hpp"
#include "caffe/device.hpp"

// Where a test finds its files, and the GPU that it runs on (-1: the first that is there). A build
// with CMake's own of Caffe says so in a header; relative paths are those of a run in the folder
// that the test's own src/ and examples/ lie in.
#if defined(CMAKE_BUILD) && __has_include("caffe_config.h")
#include "caffe_config.h"
#endif
#ifndef CUDA_TEST_DEVICE
#define CUDA_TEST_DEVICE -1
#endif
#ifndef EXAMPLES_SOURCE_DIR
#define EXAMPLES_SOURCE_DIR "examples/"
#endif
#ifndef ABS_TEST_DATA_DIR
#define ABS_TEST_DATA_DIR "src/caffe/test/test_data"
#endif
// Their names before 2016.
#ifndef CMAKE_SOURCE_DIR
#define CMAKE_SOURCE_DIR "src/"
#endif
#ifndef CMAKE_EXT
#define CMAKE_EXT ""
#endif

// As in Caffe, whose tests name them so.
using std::cout;
using std::endl;

int main(int argc, char** argv);

namespace caffe {

/// A typed test that runs in CPU or GPU mode; in GPU mode it is skipped where there is no GPU (a
/// fixture with a SetUp of its own calls this one). Its parameter names Dtype and the device:
///
///     template <typename TypeParam>
///     class MyLayerTest : public MultiDeviceTest<TypeParam> {
///       typedef typename TypeParam::Dtype Dtype; ...
///     };
///     TYPED_TEST_SUITE(MyLayerTest, TestDtypesAndDevices);
template <typename TypeParam>
class MultiDeviceTest : public ::testing::Test {
 public:
  typedef typename TypeParam::Dtype Dtype;

 protected:
  MultiDeviceTest() {
    if (CanRun()) Caffe::set_mode(TypeParam::device);
  }
  ~MultiDeviceTest() override { Caffe::set_mode(Caffe::CPU); }

  void SetUp() override {
    if (!CanRun()) GTEST_SKIP() << Device::WhyNone();
  }

 private:
  static bool CanRun() { return TypeParam::device == Caffe::CPU || Device::available(); }
};

/// The types that layers are instantiated for. FLOAT16 is no Dtype but a storage type, set when the
/// program runs: Layer::set_types, or the net's default_forward_type.
typedef ::testing::Types<float, double> TestDtypes;

template <typename TypeParam>
struct CPUDevice {
  typedef TypeParam Dtype;
  static constexpr Caffe::Brew device = Caffe::CPU;
};

template <typename Dtype>
class CPUDeviceTest : public MultiDeviceTest<CPUDevice<Dtype>> {};

#ifdef CPU_ONLY

typedef ::testing::Types<CPUDevice<float>, CPUDevice<double>> TestDtypesAndDevices;

#else

template <typename TypeParam>
struct GPUDevice {
  typedef TypeParam Dtype;
  static constexpr Caffe::Brew device = Caffe::GPU;
};

template <typename Dtype>
class GPUDeviceTest : public MultiDeviceTest<GPUDevice<Dtype>> {};

typedef ::testing::Types<CPUDevice<float>, CPUDevice<double>, GPUDevice<float>, GPUDevice<double>>
    TestDtypesAndDevices;

#endif

}  // namespace caffe

#endif  // CAFFE_TEST_TEST_CAFFE_MAIN_HPP_
