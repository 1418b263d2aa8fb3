#include "activation_memory.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace caffe {

ActivationMemory::ActivationMemory(std::vector<int> last_readers, int layers)
    : last_readers_(std::move(last_readers)), layers_(layers), tensors_(last_readers_.size()) {}

void ActivationMemory::set_sharing(Sharing sharing) {
  sharing_ = sharing;
  if (shares() && !pool_) pool_ = std::make_shared<MemoryPool>();
}

void ActivationMemory::SetTensor(int blob, Tensor* tensor) {
  if (tensors_[blob] == tensor) return;
  tensors_[blob] = tensor;
  dead_.clear();
}

void ActivationMemory::SetKept(std::vector<const Tensor*> kept) {
  if (kept == kept_) return;
  kept_ = std::move(kept);
  dead_.clear();
}

std::vector<ActivationMemory::Dead>& ActivationMemory::DeadAfter(int layer) {
  if (dead_.empty()) FindDead();
  return dead_[layer];
}

void ActivationMemory::FindDead() {
  std::map<Tensor*, int> last_blob;  // of each tensor: the one that is read last
  for (int blob = 0; blob < static_cast<int>(tensors_.size()); ++blob) {
    if (!tensors_[blob]) continue;
    const auto [found, added] = last_blob.emplace(tensors_[blob], blob);
    if (!added && last_readers_[blob] > last_readers_[found->second]) found->second = blob;
  }
  dead_.assign(layers_, {});
  for (int blob = 0; blob < static_cast<int>(tensors_.size()); ++blob) {
    Tensor* tensor = tensors_[blob];
    if (!tensor || last_blob[tensor] != blob || StaysAfterPass(blob)) continue;
    const bool kept = std::find(kept_.begin(), kept_.end(), tensor) != kept_.end();
    if (!kept) dead_[last_readers_[blob]].push_back({tensor, blob, nullptr});
  }
}

}  // namespace caffe
