#include "caffe/layers/base_data_layer.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "caffe/context.hpp"
#include "caffe/core/stream_scope.hpp"
#include "caffe/util/system/thread_team.hpp"

namespace caffe {

template <typename Dtype>
BaseDataLayer<Dtype>::BaseDataLayer(const LayerParameter& param)
    : Layer<Dtype>(param), transform_param_(param.transform_param()) {}

template <typename Dtype>
void BaseDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  output_labels_ = top.size() > 1;
  // A custom layer may augment images by these fields; no built-in one that keeps them does.
  if (OperationTable::Find(this->layer_param_.type())) RefuseAugmentation(transform_param_);
  data_transformer_.reset(new DataTransformer<Dtype>(transform_param_, this->phase_));
  data_transformer_->InitRand();
  DataLayerSetUp(bottom, top);
}

namespace {

int PrefetchCount(const DataParameter& param) {
  Require(param.prefetch() <= 10000, Error::Field{"data_param"}, ": prefetch ", param.prefetch(),
          " is too large: a few batches are enough");
  return std::max(1, static_cast<int>(param.prefetch()));
}

}  // namespace

template <typename Dtype>
BasePrefetchingDataLayer<Dtype>::BasePrefetchingDataLayer(const LayerParameter& param)
    : BaseDataLayer<Dtype>(param),
      PREFETCH_COUNT(PrefetchCount(param.data_param())),
      prefetch_(PREFETCH_COUNT) {
  for (const auto& batch : prefetch_) prefetch_free_.push(batch.get());
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  StopPrefetching();  // of an earlier SetUp
  BaseDataLayer<Dtype>::LayerSetUp(bottom, top);
  // Memory is made here rather than in the thread.
  for (const auto& batch : prefetch_) {
    batch->data_.mutable_cpu_data();
    if (this->output_labels_) batch->label_.mutable_cpu_data();
  }
  this->data_transformer_->InitRand();
  consumed_ = SourceState();
  StartInternalThread();
}

namespace {

/// The numbers that the thread has made, wherever they lie.
template <typename Dtype>
SyncedMemory& MemoryOf(const Blob<Dtype>& blob) {
  return blob.data_tensor().Read(kElementType<Dtype>, Layout());
}

/// Brings what the thread has made to its GPU; returns when it is there.
template <typename Dtype>
void CopyToGpu(const vector<const Blob<Dtype>*>& blobs, Stream* stream) {
  for (const Blob<Dtype>* blob : blobs) {
    if (blob->count() > 0 && MemoryOf(*blob).head() == SyncedMemory::HEAD_AT_CPU) {
      MemoryOf(*blob).async_gpu_push(*stream);
    }
  }
  stream->Synchronize();
}

/// A copy: programs keep pointers into the tops, and the thread fills the batch again. In GPU mode
/// it is made on the GPU, where the batch is, too.
template <typename Dtype>
void CopyTo(Blob<Dtype>* top, const Blob<Dtype>& batch) {
  top->ReshapeLike(batch);
  const bool on_gpu = Caffe::mode() == Caffe::GPU && batch.count() > 0 &&
                      MemoryOf(batch).head() == SyncedMemory::SYNCED;
  if (!on_gpu) return top->CopyFrom(batch);
  Device::Get().CopyOnDevice(top->data_tensor().overwrite_gpu_data(kElementType<Dtype>),
                             MemoryOf(batch).gpu_data(), batch.count() * sizeof(Dtype),
                             Context::Current().stream());
}

}  // namespace

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::InternalThreadEntry() {
  const bool on_gpu = Caffe::mode() == Caffe::GPU;
  std::optional<StreamScope> scope;
  prefetch_full_.CloseOnError([&] {
    while (!must_stop()) {
      Batch<Dtype>* const batch = prefetch_free_.pop();
      if (on_gpu && !scope) {
        copies_ = Device::Get().CreateStream();
        scope.emplace(copies_.get());
      }
      load_batch(batch);
      batch->state_ = SourceState();
      if (on_gpu) {
        vector<const Blob<Dtype>*> blobs = {&batch->data_};
        if (this->output_labels_) blobs.push_back(&batch->label_);
        CopyToGpu(blobs, copies_.get());
      }
      prefetch_full_.push(batch);
    }
  });
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                                  const vector<Blob<Dtype>*>& top) {
  ReleaseCurrent();
  prefetch_current_ = prefetch_full_.pop("Waiting for data");
  consumed_ = prefetch_current_->state_;
  CopyTo(top[0], prefetch_current_->data_);
  if (this->output_labels_) CopyTo(top[1], prefetch_current_->label_);
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  Forward_cpu(bottom, top);
}

/// The thread may fill the batch again: what is still copied from it on the GPU comes first.
template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::ReleaseCurrent() {
  if (!prefetch_current_) return;
  if (copies_ && Caffe::mode() == Caffe::GPU) copies_->WaitFor(Context::Current().stream());
  prefetch_free_.push(std::exchange(prefetch_current_, nullptr));
}

template <typename Dtype>
ThreadTeam& BasePrefetchingDataLayer<Dtype>::DecodingTeam(uint32_t asked) {
  const int half = static_cast<int>(std::thread::hardware_concurrency()) / 2;
  const int size = asked > 0 ? static_cast<int>(std::min(asked, 256u)) : std::clamp(half, 1, 8);
  if (!team_ || team_->size() != size) team_ = std::make_shared<ThreadTeam>(size);
  return *team_;
}

template <typename Dtype>
std::string BasePrefetchingDataLayer<Dtype>::SaveState() {
  return consumed_;
}

// All batches are free to be filled again.
template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::StopPrefetching() {
  StopInternalThread();
  if (prefetch_current_ && copies_) {
    Context::Current().stream().Synchronize();  // the next thread has a stream of its own
  }
  prefetch_current_ = nullptr;
  prefetch_full_.Clear();
  prefetch_free_.Clear();
  for (const auto& batch : prefetch_) prefetch_free_.push(batch.get());
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::RestoreState(const std::string& state) {
  StopPrefetching();
  try {
    SetSourceState(state);
    consumed_ = state;
  } catch (...) {
    StartInternalThread();  // a caller that goes on gets data
    throw;
  }
  StartInternalThread();
}

INSTANTIATE_CLASS(BaseDataLayer);
INSTANTIATE_CLASS(BasePrefetchingDataLayer);

}  // namespace caffe
