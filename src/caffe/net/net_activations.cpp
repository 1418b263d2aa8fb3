// Where a net's activations lie, and how long.
#include "caffe/net.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "activation_memory.hpp"
#include "caffe/core/at_scope_exit.hpp"
#include "caffe/core/repeatable.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/operation.hpp"
#include "quantized_training.hpp"

namespace caffe {
namespace {

using Sharing = ActivationMemory::Sharing;

/// False for sources, layers with a state, and layer types that are not in the operation table.
bool MakesTheSameAgain(const LayerParameter& layer, const vector<int>& bottom_ids) {
  return IsRepeatable(layer) && !OperationTable::Find(layer.type())->source && !bottom_ids.empty();
}

/// While it lives the inputs have the values of the last pass.
template <typename Dtype>
class LastInputs {
 public:
  LastInputs(const vector<Blob<Dtype>*>& inputs, vector<vector<char>>* last)
      : inputs_(inputs), last_(last) {
    Swap();
  }
  ~LastInputs() { Swap(); }

 private:
  void Swap() {
    for (size_t i = 0; i < last_->size(); ++i) {
      vector<char>& last = (*last_)[i];
      if (last.empty() || last.size() != inputs_[i]->count() * sizeof(Dtype)) continue;
      if (std::memcmp(inputs_[i]->cpu_data(), last.data(), last.size()) == 0) continue;
      Dtype* data = inputs_[i]->mutable_cpu_data();
      std::swap_ranges(last.begin(), last.end(), reinterpret_cast<char*>(data));
    }
  }

  const vector<Blob<Dtype>*>& inputs_;
  vector<vector<char>>* const last_;
};

}  // namespace

template <typename Dtype>
Net<Dtype>::~Net() {
  if (activations_) activations_->Forget();
}

// A source may make other values in the next pass; inputs and outputs belong to the caller.
template <typename Dtype>
void Net<Dtype>::PlanActivations(bool share) {
  const int layers = static_cast<int>(layers_.size());
  vector<int> last(blobs_.size(), -1);
  for (int i = 0; i < layers; ++i) {
    for (const int id : bottom_id_vecs_[i]) last[id] = i;
    for (const int id : top_id_vecs_[i]) last[id] = i;
  }
  for (int i = 0; i < layers; ++i) {
    if (MakesTheSameAgain(layers_[i]->layer_param(), bottom_id_vecs_[i])) continue;
    for (const int id : top_id_vecs_[i]) last[id] = layers;
  }
  for (const int id : net_output_blob_indices_) last[id] = layers;
  activations_ = std::make_shared<ActivationMemory>(last, layers);
  activations_->set_recompute([this] { RestoreReleased(); });
  if (share && MayRepeatLayers()) activations_->set_sharing(Sharing::UNTIL_SEEN);
}

template <typename Dtype>
void Net<Dtype>::set_share_activations(bool share) {
  Require(!share || phase_ == TEST,
          "share_activations is for the TEST phase: the backward pass reads the blobs again");
  if (!share) KeepBlobs();
  activations_->set_sharing(share ? Sharing::ALWAYS : Sharing::NEVER);
}

template <typename Dtype>
bool Net<Dtype>::share_activations() const {
  return activations_->sharing() == Sharing::ALWAYS;
}

template <typename Dtype>
void Net<Dtype>::FreeNothingMore() const {
  const std::lock_guard<std::recursive_mutex> lock(activations_->mutex());
  if (activations_->sharing() == Sharing::ALWAYS) return;
  activations_->set_sharing(Sharing::NEVER);
  activations_->Recompute();
}

template <typename Dtype>
void Net<Dtype>::KeepBlobs() {
  FreeNothingMore();
}

// False where memory that is kept was changed in place after a layer had read it, by whichever of
// its blobs' names: that layer would read something else now. LastInputs gives inputs the values
// that they had before any such change.
template <typename Dtype>
bool Net<Dtype>::MayRepeatLayers() const {
  const auto is_among = [](int id, const vector<int>& ids) {
    return std::count(ids.begin(), ids.end(), id) > 0;
  };
  vector<int> memory(blobs_.size());  // the first blob that has this one's
  std::iota(memory.begin(), memory.end(), 0);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!SharesBottom(layers_[i]->layer_param())) continue;
    for (const int id : top_id_vecs_[i]) memory[id] = memory[bottom_id_vecs_[i][0]];
  }
  vector<bool> stays(blobs_.size(), false), is_input(blobs_.size(), false);  // per memory
  for (size_t id = 0; id < blobs_.size(); ++id) {
    if (activations_->StaysAfterPass(id)) stays[memory[id]] = true;
    if (is_among(id, net_input_blob_indices_)) is_input[memory[id]] = true;
  }
  vector<bool> read(blobs_.size(), false);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const vector<int>&bottoms = bottom_id_vecs_[i], &tops = top_id_vecs_[i];
    for (const int id : tops) {
      if (!is_among(id, bottoms)) continue;
      if (activations_->StaysAfterPass(id) && !is_among(id, net_output_blob_indices_)) return false;
      if (is_input[memory[id]] || (stays[memory[id]] && read[memory[id]])) return false;
    }
    if (SharesBottom(layers_[i]->layer_param())) continue;
    for (const int id : bottoms) {
      if (!is_among(id, tops)) read[memory[id]] = true;
    }
  }
  return true;
}

// Blobs whose memory was reused are asked for: the layers that made them run again, and those that
// work in place on another top of such a layer, which is written again with it. If a layer fails
// now (its input has changed since) or has other parameters, the blobs that do not depend on it can
// still be read.
template <typename Dtype>
void Net<Dtype>::RestoreReleased() {
  const std::lock_guard<std::recursive_mutex> lock(activations_->mutex());
  if (activations_->recomputes() || !activations_->freed()) return;
  const AtScopeExit over([this] { activations_->set_recomputes(false); });
  activations_->set_recomputes(true);
  // During a pass: what it has made so far.
  const int layers = static_cast<int>(layers_.size());
  const int end = (activations_->layer() < 0 ? layers : activations_->layer()) - 1;
  if (end == layers - 1) activations_->set_freed(false);
  std::set<const Tensor*> written;
  for (const shared_ptr<Blob<Dtype>>& blob : blobs_) {
    if (blob->data_tensor().released()) written.insert(&blob->data_tensor());
  }
  // Tops that cannot be computed, and why. A top that shows a bottom's tensor (Split, Flatten) is
  // missing where that is.
  std::map<const Tensor*, string> missing;
  const auto release_tops = [&](int layer, const string& why) {
    for (const int id : top_id_vecs_[layer]) {
      Tensor& tensor = blobs_[id]->data_tensor();
      const auto& bottoms = bottom_vecs_[layer];
      const bool is_view = std::any_of(bottoms.begin(), bottoms.end(), [&](const auto* bottom) {
        return bottom != blobs_[id].get() && &bottom->data_tensor() == &tensor;
      });
      if (is_view || activations_->StaysAfterPass(id) || written.count(&tensor) == 0) continue;
      tensor.Release(std::make_shared<const std::string>(
          Join("blob '", blob_names_[id], "' was freed, and there is none until the next forward ",
               "pass: ", why)));
      missing[&tensor] = why;
    }
  };
  if (written.empty()) return;
  const auto has_others = [this](int layer) {  // than in the last pass
    const auto& blobs = layers_[layer]->blobs();
    return std::any_of(blobs.begin(), blobs.end(), [this](const shared_ptr<Blob<Dtype>>& blob) {
      return activations_->IsReplaced(&blob->data_tensor());
    });
  };
  vector<bool> is_replaced(layers_.size());  // before quantized training rounds weights
  for (int i = 0; i < layers; ++i) is_replaced[i] = has_others(i);
  const LastInputs<Dtype> inputs(net_input_blobs_, &activations_->inputs());
  const kernels::FlushDenormals flush;
  const typename QuantizedTraining<Dtype>::Rounded rounded(quantized_training_.get(),
                                                           QuantizedTraining<Dtype>::Pass::SAME);
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
    string why;
    for (const Blob<Dtype>* bottom : bottom_vecs_[i]) {
      const auto found = missing.find(&bottom->data_tensor());
      if (found != missing.end()) why = found->second;
    }
    int replaced = is_replaced[i] ? i : -1;
    for (const int follower : fused_followers_[i]) {
      if (is_replaced[follower]) replaced = follower;
    }
    if (why.empty() && replaced >= 0) {
      why = Join("the net has loaded or shares other parameters of layer '", layer_names_[replaced],
                 "' since the last one. Ask for the blob, or call set_share_activations(false), ",
                 "before that");
    }
    if (why.empty()) {
      try {
        RunForward(i, end, &loss, &done);
      } catch (const std::exception& error) {
        why = Join("computing it again failed: ", error.what());
      }
    }
    if (!why.empty()) release_tops(i, why);
  }
}

// Readies a freed top for writing, also after the net's settings have changed; layers that take it
// with mutable_cpu_data may read it.
template <typename Dtype>
void Net<Dtype>::PrepareTop(int blob_id) {
  Tensor& data = blobs_[blob_id]->data_tensor();
  data.Revive();
  if (activations_->shares() && !activations_->StaysAfterPass(blob_id)) {
    data.set_allocator(activations_->pool());
  }
}

template <typename Dtype>
void Net<Dtype>::FindTensors() {
  for (size_t id = 0; id < blobs_.size(); ++id) {
    activations_->SetTensor(id, &blobs_[id]->data_tensor());
  }
  std::vector<const Tensor*> parameters;
  for (const shared_ptr<Blob<Dtype>>& param : params_) parameters.push_back(&param->data_tensor());
  activations_->SetKept(std::move(parameters));
}

// A layer may have made its top another blob's tensor.
template <typename Dtype>
void Net<Dtype>::ReleaseAfter(int layer_id) {
  for (const int id : top_id_vecs_[layer_id]) {
    activations_->SetTensor(id, &blobs_[id]->data_tensor());
  }
  activations_->set_freed(true);
  const bool always = activations_->sharing() == Sharing::ALWAYS;
  for (ActivationMemory::Dead& dead : activations_->DeadAfter(layer_id)) {
    if (!dead.message) {
      dead.message = std::make_shared<const std::string>(Join(
          "blob '", blob_names_[dead.blob], "' was freed after layer '", layer_names_[layer_id],
          "', the last that reads it: set_share_activations(false) keeps it"));
    }
    dead.tensor->Release(dead.message, always ? nullptr : activations_->recompute());
  }
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
