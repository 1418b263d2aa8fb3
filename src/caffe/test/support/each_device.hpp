#ifndef CAFFE_TEST_EACH_DEVICE_HPP_
#define CAFFE_TEST_EACH_DEVICE_HPP_

#include <gtest/gtest.h>

#include "caffe/common.hpp"
#include "caffe/device.hpp"
#include "fake_device.hpp"

namespace caffe {

/// The calling thread's mode while this object lives.
struct ModeScope {
  explicit ModeScope(Caffe::Brew mode) { Caffe::set_mode(mode); }
  ~ModeScope() { Caffe::set_mode(Caffe::CPU); }
};

/// Calls `test` in GPU mode on the fake device, and again on the machine's own if it has one.
template <typename Test>
void OnEachDevice(const Test& test) {
  const auto run = [&test] {
    const ModeScope gpu(Caffe::GPU);
    test();
  };
  {
    SCOPED_TRACE("fake device");
    const FakeDevice::Installed device;
    run();
  }
  if (!Device::available()) return;
  SCOPED_TRACE(Device::Get().name());
  run();
}

}  // namespace caffe

#endif  // CAFFE_TEST_EACH_DEVICE_HPP_
