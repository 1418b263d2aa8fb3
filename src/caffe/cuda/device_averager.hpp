#ifndef CAFFE_CUDA_DEVICE_AVERAGER_HPP_
#define CAFFE_CUDA_DEVICE_AVERAGER_HPP_

#include <cstddef>
#include <memory>
#include <string>

#include "caffe/communicator.hpp"
#include "caffe/device.hpp"

namespace caffe {

/// Means over all ranks of numbers in the memory of each one's device. All ranks ask for the same
/// in the same order.
class DeviceAverager {
 public:
  virtual ~DeviceAverager() = default;
  /// After what is on the stream, each of the `count` values becomes its mean: the same bits on
  /// every rank.
  virtual void Average(float* values, size_t count, Stream& stream) = 0;
  virtual void Average(double* values, size_t count, Stream& stream) = 0;
  /// The transport, for the log.
  virtual std::string Description() const = 0;
};

/// By NCCL where all ranks have a GPU and NCCL's library; else through the host's memory by
/// `communicator`. Of the calling thread's device; every rank calls it.
std::unique_ptr<DeviceAverager> MakeDeviceAverager(Communicator* communicator);

}  // namespace caffe

#endif  // CAFFE_CUDA_DEVICE_AVERAGER_HPP_
