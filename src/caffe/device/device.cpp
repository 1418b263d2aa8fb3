#include "caffe/device.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/error.hpp"
#include "device_registry.hpp"

namespace caffe {
namespace {

std::mutex device_mutex;
std::shared_ptr<Device> replacement;
std::atomic<unsigned> generation{1};

// Never destroyed: memory on a device may outlive the static objects of this file.
std::vector<std::shared_ptr<Device>>& NativeDevices() {
  static auto* devices = new std::vector<std::shared_ptr<Device>>(NativeDeviceCount());
  return *devices;
}

}  // namespace

#ifdef CPU_ONLY
int NativeDeviceCount() { return 0; }
std::string WhyNoNativeDevice() {
  return "this libcaffe was built without CUDA: use CPU mode, or build with USE_CUDA=ON";
}
std::shared_ptr<Device> MakeNativeDevice(int) { Fail(WhyNoNativeDevice()); }
std::unique_ptr<Stream> BorrowNativeStream(void*) { Fail(Device::WhyNone()); }
int NativeDeviceOf(const void*) { Fail(Device::WhyNone()); }
#endif

std::shared_ptr<Device> CurrentDevice() {
  const int id = Context::Current().settings().device;
  std::lock_guard<std::mutex> lock(device_mutex);
  if (replacement) return replacement;
  std::vector<std::shared_ptr<Device>>& devices = NativeDevices();
  Require(!devices.empty(), "no GPU can be used: ", WhyNoNativeDevice());
  Require(id >= 0 && id < static_cast<int>(devices.size()), "there is no device number ", id,
          ": valid are 0 to ", devices.size() - 1);
  if (!devices[id]) devices[id] = MakeNativeDevice(id);
  return devices[id];
}

unsigned DeviceGeneration() { return generation.load(); }

void Stream::RunOnHost(std::function<void()>) {
  Fail("this device's memory cannot be reached from the host");
}

void Device::CopyAnywhere(void* to, const void* from, size_t size, Stream& stream) {
  Require(!stream.handle(), name(), " does not say where its memory lies");
  stream.Synchronize();
  std::memmove(to, from, size);
}

Device& Device::Get() { return *CurrentDevice(); }

int Device::Count() {
  std::lock_guard<std::mutex> lock(device_mutex);
  return replacement ? 1 : static_cast<int>(NativeDevices().size());
}

std::string Device::WhyNone() { return "no GPU can be used: " + WhyNoNativeDevice(); }

std::shared_ptr<Device> Device::Set(std::shared_ptr<Device> device) {
  std::lock_guard<std::mutex> lock(device_mutex);
  replacement.swap(device);
  ++generation;
  return device;
}

std::unique_ptr<Stream> cuda::BorrowStream(void* stream) {
  {
    std::lock_guard<std::mutex> lock(device_mutex);
    if (replacement) return replacement->CreateStream();
  }
  return BorrowNativeStream(stream);
}

int cuda::GpuOf(const void* memory) {
  {
    std::lock_guard<std::mutex> lock(device_mutex);
    if (replacement) return Context::Current().settings().device;
  }
  return NativeDeviceOf(memory);
}

}  // namespace caffe
