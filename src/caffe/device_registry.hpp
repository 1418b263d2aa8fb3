#ifndef CAFFE_DEVICE_REGISTRY_HPP_
#define CAFFE_DEVICE_REGISTRY_HPP_

#include <memory>

#include "caffe/device.hpp"

namespace caffe {

/// The process's accelerator, kept alive by the caller; Error if there is none.
std::shared_ptr<Device> CurrentDevice();
/// Changes whenever Device::Set replaces the accelerator.
unsigned DeviceGeneration();

}  // namespace caffe

#endif  // CAFFE_DEVICE_REGISTRY_HPP_
