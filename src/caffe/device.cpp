#include "caffe/device.hpp"

#include <atomic>
#include <mutex>

#include "caffe/error.hpp"
#include "device_registry.hpp"

namespace caffe {
namespace {

std::mutex device_mutex;
std::shared_ptr<Device> current_device;
std::atomic<unsigned> generation{1};

}  // namespace

std::shared_ptr<Device> CurrentDevice() {
  std::lock_guard<std::mutex> lock(device_mutex);
  Require(current_device != nullptr,
          "no GPU can be used: this libcaffe was built without CUDA; use CPU mode, or build with "
          "USE_CUDA=ON");
  return current_device;
}

unsigned DeviceGeneration() { return generation.load(); }

Device& Device::Get() { return *CurrentDevice(); }

bool Device::available() {
  std::lock_guard<std::mutex> lock(device_mutex);
  return current_device != nullptr;
}

std::shared_ptr<Device> Device::Set(std::shared_ptr<Device> device) {
  std::lock_guard<std::mutex> lock(device_mutex);
  current_device.swap(device);
  ++generation;
  return device;
}

}  // namespace caffe
