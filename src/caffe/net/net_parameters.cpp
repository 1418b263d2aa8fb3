// Where a net's parameters lie.
#include <cstring>
#include <set>

#include "caffe/allocator.hpp"
#include "caffe/context.hpp"
#include "caffe/device/device_registry.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/net.hpp"

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
    arena_.params.push_back(learnable_param_ids_[i]);
    arena_.offsets.push_back(arena_.count);
    arena_.count += kernels::RoundUp(params_[i]->data_tensor().capacity(), kAligned);
  }
  if (arena_.params.empty()) return;
  for (const bool diff : {false, true}) {
    const std::shared_ptr<void> arena = AllocateShared(arena_.count * sizeof(Dtype));
    for (size_t i = 0; i < arena_.params.size(); ++i) {
      Dtype* place = static_cast<Dtype*>(arena.get()) + arena_.offsets[i];
      TensorOf(*learnable_params_[arena_.params[i]], diff)
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
typename Net<Dtype>::Arena Net<Dtype>::ArenaAt(void* memory) const {
  Arena arena = arena_;
  arena.data = static_cast<Dtype*>(memory);
  return arena;
}

template <typename Dtype>
typename Net<Dtype>::Arena Net<Dtype>::ArenaOf(const std::weak_ptr<void>& memory,
                                               bool diffs) const {
  const std::shared_ptr<void> arena = memory.lock();
  if (!arena) return Arena();
  const Arena found = ArenaAt(arena.get());
  for (size_t i = 0; i < arena_.params.size(); ++i) {
    Tensor& tensor = TensorOf(*learnable_params_[arena_.params[i]], diffs);
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
    return TensorOf(*learnable_params_[arena_.params[i]], diffs)
        .Overwrite(kElementType<Dtype>, Layout());
  };
  for (size_t i = 0; i < arena_.params.size(); ++i) {
    const Dtype* place = static_cast<const Dtype*>(on_host.get()) + arena_.offsets[i];
    if (memory_of(i).cpu_place() != place) return Arena();
  }
  std::weak_ptr<void>& known = diffs ? device_diff_arena_ : device_data_arena_;
  std::shared_ptr<void> arena = known.lock();
  if (!arena) known = arena = AllocateOnDevice(arena_.count * sizeof(Dtype));
  const Arena placed = ArenaAt(arena.get());
  for (size_t i = 0; i < arena_.params.size(); ++i) {
    memory_of(i).PlaceOnDevice(placed.data + arena_.offsets[i], arena);
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

template class Net<float>;
template class Net<double>;

}  // namespace caffe
