#include "device_averager.hpp"

#include <vector>

#include "caffe/context.hpp"
#include "caffe/cuda/libraries.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "nccl_ranks.hpp"

namespace caffe {
namespace {

class AveragerThroughHost : public DeviceAverager {
 public:
  explicit AveragerThroughHost(Communicator* communicator) : communicator_(communicator) {}
  void Average(float* values, size_t count, Stream& stream) override {
    Exchange(values, count, stream);
  }
  void Average(double* values, size_t count, Stream& stream) override {
    Exchange(values, count, stream);
  }
  std::string Description() const override {
    return "through the host's memory, " + communicator_->Description();
  }

 private:
  template <typename T>
  void Exchange(T* values, size_t count, Stream& stream) {
    std::vector<T> host(count);
    Device& device = Device::Get();
    device.CopyToHost(host.data(), values, count * sizeof(T), stream);
    stream.Synchronize();
    communicator_->AllReduceSum(host.data(), count);
    const T factor = T(1) / communicator_->size();
    for (T& value : host) value *= factor;
    device.CopyToDevice(values, host.data(), count * sizeof(T), stream);
    stream.Synchronize();
  }

  Communicator* const communicator_;
};

#ifdef USE_NCCL

ncclUniqueId CommonId(Communicator* communicator) {
  ncclUniqueId id;
  if (communicator->rank() == 0) id = cuda::NewNcclId();
  communicator->Broadcast(&id, sizeof(id));
  return id;
}

class NcclAverager : public DeviceAverager {
 public:
  explicit NcclAverager(Communicator* communicator)
      : ranks_(CommonId(communicator), communicator->rank(), communicator->size()) {}

  void Average(float* values, size_t count, Stream& stream) override {
    ranks_.AllReduce(values, count, ncclFloat, ncclAvg, stream);
  }
  void Average(double* values, size_t count, Stream& stream) override {
    ranks_.AllReduce(values, count, ncclDouble, ncclAvg, stream);
  }
  std::string Description() const override {
    int version = 0;
    CAFFE_CALL(Nccl, ncclGetVersion, &version);
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
           "." + std::to_string(version % 100);
  }

 private:
  cuda::NcclRanks ranks_;
};

/// Why NCCL cannot be used here; empty if it can.
std::string WhyNoNccl() {
  return cuda::CurrentStream().handle() ? cuda::WhyNoNccl() : "this device is no GPU";
}

#endif  // USE_NCCL

}  // namespace

std::unique_ptr<DeviceAverager> MakeDeviceAverager(Communicator* communicator) {
#ifdef USE_NCCL
  const std::string why = WhyNoNccl();
  double missing = !why.empty();
  communicator->AllReduceSum(&missing, 1);
  if (missing == 0) return std::make_unique<NcclAverager>(communicator);
  LOG_IF(WARNING, !why.empty() && cuda::CurrentStream().handle())
      << "Gradients go through the host's memory, which is slow: " << why;
#endif
  return std::make_unique<AveragerThroughHost>(communicator);
}

}  // namespace caffe
