// Means of gradients on the device, while the backward pass goes on.
#include <set>

#include "caffe/cuda/stream.hpp"
#include "caffe/parallel/gradient_reducer.hpp"
#include "device_averager.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class DeviceGradientReducer : public GradientReducer<Dtype> {
 public:
  DeviceGradientReducer(Net<Dtype>* net, int buckets, bool overlap, Communicator* communicator)
      : GradientReducer<Dtype>(net, buckets, overlap),
        averager_(MakeDeviceAverager(communicator)),
        stream_(Device::Get().CreateStream()) {
    LOG_IF(INFO, Caffe::root_solver())
        << "Gradients are averaged on the devices: " << averager_->Description();
  }

  void Start() override {
    arena_ = net_->device_gradient_arena();
    Require(arena_.data != nullptr || buckets_.empty(),
            "the net's gradients were moved away from their arena while it is trained by several "
            "ranks");
    done_ = 0;
  }

  void BackwardReached(int layer) override {
    while (done_ < buckets_.size() && buckets_[done_].ready_at >= layer) Reduce(done_++);
  }

  void Wait() override {}

  void Finish() override {
    while (done_ < buckets_.size()) Reduce(done_++);
    ReduceRest();
    cuda::CurrentStream().WaitFor(*stream_);
  }

 private:
  using GradientReducer<Dtype>::net_;
  using GradientReducer<Dtype>::buckets_;

  // Marked as written, and brought to the device where a layer has computed on the host.
  void Reduce(size_t index) {
    const GradientBucket& bucket = buckets_[index];
    for (size_t i = 0; i < arena_.params.size(); ++i) {
      const size_t offset = arena_.offsets[i];
      if (offset < bucket.offset || offset >= bucket.offset + bucket.count) continue;
      net_->learnable_params()[arena_.params[i]]->mutable_gpu_diff();
    }
    Average(arena_.data + bucket.offset, bucket.count);
  }

  // Gradients that lie elsewhere, of a net that shares its parameters with another.
  void ReduceRest() {
    const std::set<int> in_arena(arena_.params.begin(), arena_.params.end());
    for (size_t i = 0; i < net_->learnable_params().size(); ++i) {
      if (net_->params_lr()[i] == 0 || in_arena.count(i)) continue;
      Blob<Dtype>* param = net_->learnable_params()[i];
      Average(param->mutable_gpu_diff(), param->count());
    }
  }

  void Average(Dtype* gradients, size_t count) {
    stream_->WaitFor(cuda::CurrentStream());
    averager_->Average(gradients, count, *stream_);
  }

  const std::unique_ptr<DeviceAverager> averager_;
  const std::unique_ptr<Stream> stream_;  // ends before the averager, which it has work of
  typename Net<Dtype>::Arena arena_;
  size_t done_ = 0;  // buckets
};

}  // namespace

template <typename Dtype>
std::unique_ptr<GradientReducer<Dtype>> DeviceReducer(Net<Dtype>* net, int buckets, bool overlap,
                                                      Communicator* communicator) {
  return std::make_unique<DeviceGradientReducer<Dtype>>(net, buckets, overlap, communicator);
}

template std::unique_ptr<GradientReducer<float>> DeviceReducer(Net<float>*, int, bool,
                                                               Communicator*);
template std::unique_ptr<GradientReducer<double>> DeviceReducer(Net<double>*, int, bool,
                                                                Communicator*);

}  // namespace caffe
