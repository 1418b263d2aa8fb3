#include "caffe/parallel.hpp"

#ifdef USE_NCCL

#include <cstring>

#include "caffe/context.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/data/rank_settings.hpp"
#include "caffe/parallel/ranks_in_threads.hpp"
#include "caffe/ranks.hpp"
#include "nccl_ranks.hpp"

namespace caffe {
namespace {

/// Ranks that have nothing but NCCL: what they tell each other goes through their GPUs.
class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(const ncclUniqueId& id, int rank, int size)
      : rank_(rank), size_(size), ranks_(id, rank, size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool any_thread() const override { return false; }
  std::string Description() const override { return "NCCL"; }

  void AllReduceSum(float* values, size_t count) override { Sum(values, count, ncclFloat); }
  void AllReduceSum(double* values, size_t count) override { Sum(values, count, ncclDouble); }
  void Broadcast(void* data, size_t bytes, int root) override {
    ThroughDevice(data, bytes, [&](void* on_device, Stream& stream) {
      ranks_.Broadcast(on_device, bytes, root, stream);
    });
  }
  void Barrier() override {
    float nothing = 0;
    AllReduceSum(&nothing, 1);
  }
  // The others wait in a kernel that only the end of their processes ends.
  void Abort() noexcept override {}

 private:
  template <typename Exchange>
  static void ThroughDevice(void* data, size_t bytes, const Exchange& exchange) {
    if (bytes == 0) return;
    Device& device = Device::Get();
    Stream& stream = cuda::CurrentStream();
    const cuda::Buffer<char> buffer(stream, bytes);
    device.CopyToDevice(buffer.get(), data, bytes, stream);
    exchange(buffer.get(), stream);
    device.CopyToHost(data, buffer.get(), bytes, stream);
    stream.Synchronize();
  }
  template <typename Value>
  void Sum(Value* values, size_t count, ncclDataType_t type) {
    ThroughDevice(values, count * sizeof(Value), [&](void* on_device, Stream& stream) {
      ranks_.AllReduce(on_device, count, type, ncclSum, stream);
    });
  }

  const int rank_, size_;
  cuda::NcclRanks ranks_;
};

ncclUniqueId IdOf(const string& uid) {
  ncclUniqueId id;
  Require(uid.size() == sizeof(id.internal), "this is no uid of NCCL::new_uid(): it has ",
          uid.size(), " bytes, not ", sizeof(id.internal));
  std::memcpy(id.internal, uid.data(), uid.size());
  return id;
}

}  // namespace

template <typename Dtype>
NCCL<Dtype>::NCCL(shared_ptr<Solver<Dtype>> solver) : solver_(std::move(solver)) {}

template <typename Dtype>
NCCL<Dtype>::NCCL(shared_ptr<Solver<Dtype>> solver, const string& uid)
    : solver_(std::move(solver)),
      communicator_(new NcclCommunicator(IdOf(uid), Caffe::solver_rank(), Caffe::solver_count())) {
  RankSettings::Current().joined = true;
  ranks_.reset(new Ranks<Dtype>(solver_, communicator_.get()));
}

template <typename Dtype>
NCCL<Dtype>::~NCCL() = default;

template <typename Dtype>
string NCCL<Dtype>::new_uid() {
  const ncclUniqueId id = cuda::NewNcclId();
  return string(id.internal, sizeof(id.internal));
}

template <typename Dtype>
void NCCL<Dtype>::Broadcast() {
  Require(ranks_ != nullptr, "NCCL::Broadcast is for solvers of several processes: make NCCL with ",
          "a uid");
  ranks_->BroadcastState();
}

template <typename Dtype>
void NCCL<Dtype>::Run(const vector<int>& gpus, const char* restore) {
  Require(!gpus.empty(), "NCCL::Run needs the numbers of the GPUs");
  const auto enter = [&](int rank) {
    Caffe::SetDevice(gpus[rank]);
    Caffe::set_mode(Caffe::GPU);
  };
  TrainInThreads<Dtype>(solver_, solver_->param(), static_cast<int>(gpus.size()), enter, restore);
}

template class NCCL<float>;
template class NCCL<double>;

}  // namespace caffe

#endif  // USE_NCCL
