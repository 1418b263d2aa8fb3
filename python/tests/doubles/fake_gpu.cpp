// The C++ tests' device for Python's tests, which call these functions by ctypes. Nothing may be
// left on the device when it is removed.
#include <memory>

#include "caffe/test/support/fake_device.hpp"

namespace {

using caffe::Device;
using caffe::FakeDevice;

FakeDevice::Installed* installed = nullptr;

}  // namespace

extern "C" {

void fake_gpu_install() { installed = new FakeDevice::Installed; }

void fake_gpu_remove() {
  delete installed;
  installed = nullptr;
}

void* fake_gpu_allocate(size_t bytes) { return Device::Get().Allocate(bytes); }
void fake_gpu_free(void* memory, size_t bytes) { Device::Get().Free(memory, bytes); }

void fake_gpu_write(void* to, const void* from, size_t bytes) {
  const auto stream = Device::Get().CreateStream();
  Device::Get().CopyToDevice(to, from, bytes, *stream);
  stream->Synchronize();
}

void fake_gpu_read(void* to, const void* from, size_t bytes) {
  const auto stream = Device::Get().CreateStream();
  Device::Get().CopyToHost(to, from, bytes, *stream);
  stream->Synchronize();
}

int fake_gpu_launches() { return (*installed)->launches(); }
}
