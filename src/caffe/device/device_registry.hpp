#ifndef CAFFE_DEVICE_REGISTRY_HPP_
#define CAFFE_DEVICE_REGISTRY_HPP_

#include <memory>
#include <string>

#include "caffe/device.hpp"

namespace caffe {

/// The calling thread's accelerator, kept alive by the caller; Error if there is none.
std::shared_ptr<Device> CurrentDevice();
/// Changes whenever Device::Set replaces the accelerators.
unsigned DeviceGeneration();

// The machine's own accelerators: cuda/cuda_device.cpp, or device_absent in builds without CUDA.

/// 0 where none can be used.
int NativeDeviceCount();
/// What to do about it.
std::string WhyNoNativeDevice();
/// `id` in [0, NativeDeviceCount()).
std::shared_ptr<Device> MakeNativeDevice(int id);
/// For caffe/cuda/borrowed_stream.hpp.
std::unique_ptr<Stream> BorrowNativeStream(void* stream);
int NativeDeviceOf(const void* memory);

}  // namespace caffe

#endif  // CAFFE_DEVICE_REGISTRY_HPP_
