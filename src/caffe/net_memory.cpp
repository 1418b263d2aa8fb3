// Where a net's parameters and activations lie.
#include <algorithm>
#include <cstring>
#include <set>

#include "caffe/allocator.hpp"
#include "caffe/context.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/memory_pool.hpp"
#include "caffe/net.hpp"
#include "caffe/operation.hpp"
#include "device_registry.hpp"
#include "quantized_training.hpp"
#include "repeatable.hpp"

namespace caffe {
namespace {

/// Zeroed host memory, freed with its last user.
std::shared_ptr<void> AllocateShared(size_t bytes) {
  Allocator* owner = nullptr;
  void* memory = AllocateHost(bytes, &owner);
  std::memset(memory, 0, bytes);
  return std::shared_ptr<void>(memory,
                               [bytes, owner](void* block) { FreeHost(block, bytes, owner); });
}

/// Zeroed memory of the calling thread's device, freed with its last user.
std::shared_ptr<void> AllocateOnDevice(size_t bytes) {
  const std::shared_ptr<Device> device = CurrentDevice();
  void* memory = device->Allocate(bytes);
  const std::shared_ptr<void> shared(memory,
                                     [device, bytes](void* block) { device->Free(block, bytes); });
  device->FillZero(memory, bytes, Context::Current().stream());
  return shared;
}

template <typename Dtype>
Tensor& TensorOf(const Blob<Dtype>& blob, bool diff) {
  return diff ? blob.diff_tensor() : blob.data_tensor();
}

}  // namespace

// Parameters that are trained keep their values in Dtype, whatever type the kernels read.
template <typename Dtype>
bool Net<Dtype>::HasMaster(int param_id) const {
  return shares_parameters_ || (phase_ == TRAIN && params_lr_[learnable_param_ids_[param_id]] > 0);
}

template <typename Dtype>
void Net<Dtype>::PlaceParameters() {
  if (phase_ != TRAIN) return;

  constexpr size_t kAligned = Allocator::kAlignment / sizeof(Dtype);
  for (size_t i = 0; i < params_.size(); ++i) {
    const bool trained_as_dtype = HasMaster(i) || params_[i]->data_type() == kElementType<Dtype>;
    if (param_owners_[i] >= 0 || !trained_as_dtype || params_[i]->count() == 0) continue;
    arena_params_.push_back(learnable_param_ids_[i]);
    arena_offsets_.push_back(arena_count_);
    arena_count_ += (params_[i]->data_tensor().capacity() + kAligned - 1) / kAligned * kAligned;
  }
  if (arena_params_.empty()) return;
  for (const bool diff : {false, true}) {
    const std::shared_ptr<void> arena = AllocateShared(arena_count_ * sizeof(Dtype));
    for (size_t i = 0; i < arena_params_.size(); ++i) {
      Dtype* place = static_cast<Dtype*>(arena.get()) + arena_offsets_[i];
      TensorOf(*learnable_params_[arena_params_[i]], diff)
          .MoveTo(kElementType<Dtype>, place, arena);
    }
    (diff ? diff_arena_ : data_arena_) = arena;
  }
}

template <typename Dtype>
void Net<Dtype>::TrimParameters() {
  for (size_t i = 0; i < params_.size(); ++i) {
    Tensor& data = params_[i]->data_tensor();
    if (param_owners_[i] < 0 && !HasMaster(i) && data.count() > 0) data.Trim();
  }
}

template <typename Dtype>
typename Net<Dtype>::Arena Net<Dtype>::ArenaOf(const std::weak_ptr<void>& memory,
                                               bool diffs) const {
  const std::shared_ptr<void> arena = memory.lock();
  if (!arena) return Arena();
  Arena found;
  found.data = static_cast<Dtype*>(arena.get());
  found.count = arena_count_;
  found.params = arena_params_;
  found.offsets = arena_offsets_;
  for (size_t i = 0; i < arena_params_.size(); ++i) {
    Tensor& tensor = TensorOf(*learnable_params_[arena_params_[i]], diffs);
    if (tensor.cpu_data(kElementType<Dtype>) != found.data + found.offsets[i]) return Arena();
  }
  return found;
}

template <typename Dtype>
typename Net<Dtype>::Arena Net<Dtype>::parameter_arena() const {
  return ArenaOf(data_arena_, /*diffs=*/false);
}

template <typename Dtype>
typename Net<Dtype>::Arena Net<Dtype>::gradient_arena() const {
  return ArenaOf(diff_arena_, /*diffs=*/true);
}

// Places only what still lies in the host's arena: the rest belongs to another net or the caller.
template <typename Dtype>
typename Net<Dtype>::Arena Net<Dtype>::PlaceOnDevice(bool diffs) const {
  const std::shared_ptr<void> on_host = (diffs ? diff_arena_ : data_arena_).lock();
  if (!on_host) return Arena();
  const auto memory_of = [&](size_t i) -> SyncedMemory& {
    return TensorOf(*learnable_params_[arena_params_[i]], diffs)
        .Overwrite(kElementType<Dtype>, Layout());
  };
  for (size_t i = 0; i < arena_params_.size(); ++i) {
    const Dtype* place = static_cast<const Dtype*>(on_host.get()) + arena_offsets_[i];
    if (memory_of(i).cpu_place() != place) return Arena();
  }
  std::weak_ptr<void>& known = diffs ? device_diff_arena_ : device_data_arena_;
  std::shared_ptr<void> arena = known.lock();
  if (!arena) known = arena = AllocateOnDevice(arena_count_ * sizeof(Dtype));
  Arena placed;
  placed.data = static_cast<Dtype*>(arena.get());
  placed.count = arena_count_;
  placed.params = arena_params_;
  placed.offsets = arena_offsets_;
  for (size_t i = 0; i < arena_params_.size(); ++i) {
    memory_of(i).PlaceOnDevice(placed.data + arena_offsets_[i], arena);
  }
  return placed;
}

// One fill for all that lie in the arena.
template <typename Dtype>
void Net<Dtype>::ClearDiffsOnDevice() {
  Device& device = Device::Get();
  Stream& stream = Context::Current().stream();
  const Arena arena = device_gradient_arena();
  if (arena.data) device.FillZero(arena.data, arena.count * sizeof(Dtype), stream);
  const std::set<int> in_arena(arena.params.begin(), arena.params.end());
  for (size_t i = 0; i < learnable_params_.size(); ++i) {
    Tensor& diff = learnable_params_[i]->diff_tensor();
    if (!diff.has_slot(kElementType<Dtype>) && diff.allocated_bytes() == 0) continue;
    void* gradient = diff.overwrite_gpu_data(kElementType<Dtype>);
    if (in_arena.count(i)) continue;
    device.FillZero(gradient, learnable_params_[i]->count() * sizeof(Dtype), stream);
  }
}

template <typename Dtype>
void Net<Dtype>::set_share_activations(bool share) {
  Require(!share || phase_ == TEST,
          "share_activations is for the TEST phase: the backward pass reads the blobs again");
  if (!share) KeepBlobs();
  sharing_ = share ? Sharing::ALWAYS : Sharing::NEVER;
  if (share && !pool_) pool_ = std::make_shared<MemoryPool>();
}

// False for sources, layers with a state, and layer types that are not in the operation table.
static bool MakesTheSameAgain(const LayerParameter& layer, const vector<int>& bottom_ids) {
  return IsRepeatable(layer) && !OperationTable::Find(layer.type())->source && !bottom_ids.empty();
}

// A source may make other values in the next pass; inputs and outputs belong to the caller.
template <typename Dtype>
void Net<Dtype>::FindLastReaders() {
  vector<int> last(blobs_.size(), -1);
  vector<bool> kept(blobs_.size(), false);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool repeatable = MakesTheSameAgain(layers_[i]->layer_param(), bottom_id_vecs_[i]);
    for (const int id : bottom_id_vecs_[i]) last[id] = i;
    for (const int id : top_id_vecs_[i]) {
      last[id] = i;
      if (!repeatable) kept[id] = true;
    }
  }
  for (const int id : net_output_blob_indices_) kept[id] = true;
  last_read_by_.assign(layers_.size(), vector<int>());
  last_reader_.assign(blobs_.size(), layers_.size());
  for (size_t id = 0; id < blobs_.size(); ++id) {
    if (kept[id]) continue;
    last_read_by_[last[id]].push_back(id);
    last_reader_[id] = last[id];
  }
}

// False where a blob that is kept was changed in place after other layers may have read it.
template <typename Dtype>
bool Net<Dtype>::MayRepeatLayers() const {
  const auto is_output = [&](int id) {
    return std::count(net_output_blob_indices_.begin(), net_output_blob_indices_.end(), id) > 0;
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (const int id : top_id_vecs_[i]) {
      const bool in_place =
          std::count(bottom_id_vecs_[i].begin(), bottom_id_vecs_[i].end(), id) > 0;
      if (in_place && StaysAfterPass(id) && !is_output(id)) return false;
    }
  }
  return true;
}

template <typename Dtype>
void Net<Dtype>::StopSharing() const {
  sharing_ = Sharing::NEVER;
  const_cast<Net*>(this)->RestoreReleased();
}

// Blobs whose memory was reused are asked for: the layers that made them run again, and those that
// work in place on another top of such a layer, which is written again with it. If a layer fails
// now (its input has changed since), the blobs that do not depend on it can still be read.
template <typename Dtype>
void Net<Dtype>::RestoreReleased() {
  std::set<const Tensor*> written;
  for (const shared_ptr<Blob<Dtype>>& blob : blobs_) {
    if (blob->data_tensor().released()) written.insert(&blob->data_tensor());
  }
  // What is not written: the tops of layers from `first` on, but for those that show a bottom's
  // tensor (Split, Flatten).
  const auto release_from = [&](size_t first, const string& why) {
    for (size_t i = first; i < layers_.size(); ++i) {
      for (const int id : top_id_vecs_[i]) {
        Tensor& tensor = blobs_[id]->data_tensor();
        const bool is_view = std::any_of(
            bottom_vecs_[i].begin(), bottom_vecs_[i].end(), [&](const Blob<Dtype>* bottom) {
              return bottom != blobs_[id].get() && &bottom->data_tensor() == &tensor;
            });
        if (is_view || StaysAfterPass(id) || written.count(&tensor) == 0) continue;
        tensor.Release(Join("blob '", blob_names_[id], "' was freed, and there is none until the ",
                            "next forward pass: computing it again failed: ", why));
      }
    }
  };
  const kernels::FlushDenormals flush;
  const typename QuantizedTraining<Dtype>::Rounded rounded(quantized_training_.get(),
                                                           QuantizedTraining<Dtype>::Pass::SAME);
  const int end = static_cast<int>(layers_.size()) - 1;
  vector<bool> done(layers_.size(), false);
  Dtype loss = 0;
  for (int i = 0; i <= end; ++i) {
    const vector<Blob<Dtype>*>& tops = top_vecs_[i];
    const bool needed = std::any_of(tops.begin(), tops.end(), [&](const Blob<Dtype>* top) {
      return written.count(&top->data_tensor()) > 0;
    });
    if (!needed) continue;
    for (const Blob<Dtype>* top : tops) written.insert(&top->data_tensor());
    if (done[i]) continue;
    try {
      RunForward(i, end, &loss, &done);
    } catch (const std::exception& error) {
      return release_from(i, error.what());
    }
  }
}

// Readies a freed top for writing, also after the net's settings have changed; layers that take it
// with mutable_cpu_data may read it.
template <typename Dtype>
void Net<Dtype>::PrepareTop(int blob_id) {
  Tensor& data = blobs_[blob_id]->data_tensor();
  data.Revive();
  if (sharing_ != Sharing::NEVER && !StaysAfterPass(blob_id)) data.set_allocator(pool_);
}

// Several blobs may be one tensor (Split, Flatten): it goes with the last of them.
template <typename Dtype>
void Net<Dtype>::ReleaseAfter(int layer_id) {
  for (const int id : last_read_by_[layer_id]) {
    Tensor& tensor = blobs_[id]->data_tensor();
    const auto is_it = [&](const shared_ptr<Blob<Dtype>>& blob) {
      return &blob->data_tensor() == &tensor;
    };
    bool needed = std::any_of(params_.begin(), params_.end(), is_it);
    for (size_t other = 0; other < blobs_.size() && !needed; ++other) {
      needed = last_reader_[other] > layer_id && is_it(blobs_[other]);
    }
    if (!needed) {
      tensor.Release(Join("blob '", blob_names_[id], "' was freed after layer '",
                          layer_names_[layer_id],
                          "', the last that reads it: set_share_activations(false) keeps it"));
    }
  }
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
