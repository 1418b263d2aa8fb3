#ifndef CAFFE_TEST_CUDA_KERNELS_TEST_HPP_
#define CAFFE_TEST_CUDA_KERNELS_TEST_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "caffe/cuda/stream.hpp"
#include "caffe/syncedmem.hpp"
#include "fake_device.hpp"

namespace caffe {

/// For tests of kernels for GPUs. The parameter: whether the host runs them, on the tests' device;
/// else the GPU does, if there is one.
class CudaKernelsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      fake_ = std::make_unique<FakeDevice::Installed>();
    } else if (!Device::available()) {
      GTEST_SKIP() << "no GPU: " << Device::WhyNone();
    }
  }
  static Stream& stream() { return cuda::CurrentStream(); }

 private:
  std::unique_ptr<FakeDevice::Installed> fake_;
};

#define CAFFE_ON_EACH_DEVICE(Suite)                                             \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::Bool(), [](const auto& info) { \
    return info.param ? "TheTestsDevice" : "TheGpu";                            \
  })

/// An array on the device.
template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : count_(values.size()), memory_(Bytes()) {
    std::copy(values.begin(), values.end(), static_cast<T*>(memory_.overwrite_cpu_data()));
    memory_.gpu_data();
  }
  T* get() { return static_cast<T*>(memory_.mutable_gpu_data()); }
  const T* read() { return static_cast<const T*>(memory_.gpu_data()); }
  std::vector<T> values() {
    const T* data = static_cast<const T*>(memory_.cpu_data());
    return std::vector<T>(data, data + count_);
  }

 private:
  size_t Bytes() const { return count_ * sizeof(T); }
  const size_t count_;
  SyncedMemory memory_;
};

template <typename T>
std::vector<T> Filled(size_t count, T value) {
  return std::vector<T>(count, value);
}

/// Numbers that every type holds exactly, with sums that float holds exactly.
template <typename T>
std::vector<T> WholeNumbers(size_t count, std::mt19937* random) {
  std::uniform_int_distribution<int> digit(-3, 3);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<float>(digit(*random)));
  return values;
}

}  // namespace caffe

#endif  // CAFFE_TEST_CUDA_KERNELS_TEST_HPP_
