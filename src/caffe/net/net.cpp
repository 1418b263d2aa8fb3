// Running a net.
#include "caffe/net.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "activation_memory.hpp"
#include "caffe/context.hpp"
#include "caffe/core/at_scope_exit.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/scratch_source.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "net_checks.hpp"
#include "quantized_training.hpp"

namespace caffe {
template <typename Dtype>
Net<Dtype>::Net(const NetParameter& param, const NetOptions& options) {
  kernels::CpuInstructionSet();
  Init(param);
  if (options.share_activations) set_share_activations(true);
}

template <typename Dtype>
Net<Dtype>::Net(const string& param_file, Phase phase, const int level,
                const vector<string>* stages, const NetOptions& options) {
  kernels::CpuInstructionSet();
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(param_file, &param);
  NetState* state = param.mutable_state();
  state->set_phase(phase);
  state->set_level(level);
  if (stages) {
    for (const string& stage : *stages) state->add_stage(stage);
  }
  WithFile(param_file, [&] {
    Init(param);
    if (options.share_activations) set_share_activations(true);
  });
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(Dtype* loss) {
  const Dtype sum = ForwardFromTo(0, static_cast<int>(layers_.size()) - 1);
  if (loss) *loss = sum;
  return net_output_blobs_;
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::ForwardPrefilled(Dtype* loss) {
  LOG_EVERY_N(WARNING, 1000) << "DEPRECATED: ForwardPrefilled() "
                             << "will be removed in a future version. Use Forward().";
  return Forward(loss);
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss) {
  LOG_EVERY_N(WARNING, 1000) << "DEPRECATED: Forward(bottom, loss) "
                             << "will be removed in a future version. Use Forward(loss).";
  Require(bottom.size() <= net_input_blobs_.size(), "the net '", name_, "' has ",
          net_input_blobs_.size(), " input blob(s), not ", bottom.size());
  for (size_t i = 0; i < bottom.size(); ++i) net_input_blobs_[i]->CopyFrom(*bottom[i]);
  return Forward(loss);
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
  const int layers = static_cast<int>(layers_.size());
  Require(start >= 0 && end < layers, "forward from layer ", start, " to ", end,
          ": the net has layers 0 to ", layers - 1);
  if (start > 0 || end < layers - 1) KeepBlobs();
  const kernels::FlushDenormals flush;
  const bool sharing = activations_->shares();
  if (sharing) {
    FindTensors();
    activations_->pool()->Gather();
  }
  const AtScopeExit pass([this] { activations_->set_layer(-1); });
  const ScratchSource scratch(sharing ? activations_->pool().get() : nullptr);
  using Rounding = QuantizedTraining<Dtype>;
  const typename Rounding::Rounded rounded(
      quantized_training_.get(),
      start == 0 ? Rounding::Pass::FORWARD : Rounding::Pass::FROM_BETWEEN);
  StampInputs();
  activations_->ForgetReplaced();
  Dtype loss = 0;
  vector<bool> done(layers_.size(), false);
  for (int i = start; i <= end; ++i) {
    activations_->set_layer(i);
    for (Callback* callback : before_forward_) callback->run(i);
    if (!done[i]) RunForward(i, end, &loss, &done);
    for (Callback* callback : after_forward_) callback->run(i);
    if (activations_->shares()) ReleaseAfter(i);  // a layer may have asked for the blobs
  }
  RefreshBlobs();
  return loss;
}

// A layer does the work of its fused followers, unless a caller can see the blobs between them.
template <typename Dtype>
void Net<Dtype>::RunForward(int layer_id, int end, Dtype* loss, vector<bool>* done) {
  if (RunJoined(layer_id, end, done)) return;
  Layer<Dtype>& layer = *layers_[layer_id];
  const vector<Blob<Dtype>*>& bottoms = bottom_vecs_[layer_id];
  for (const int id : top_id_vecs_[layer_id]) {
    const Tensor& data = blobs_[id]->data_tensor();
    const bool is_bottom =
        std::any_of(bottoms.begin(), bottoms.end(),
                    [&](const Blob<Dtype>* bottom) { return &bottom->data_tensor() == &data; });
    if (!is_bottom) PrepareTop(id);  // else it was, by the layer that made it
  }
  const vector<int>& followers = fused_followers_[layer_id];
  const bool fused = !followers.empty() && followers.back() <= end && MayRunFused(layer_id);
  WithLayer(layer.layer_param(), [&] {
    *loss += fused ? layer.ForwardFused(bottom_vecs_[layer_id], top_vecs_[layer_id])
                   : layer.Forward(bottom_vecs_[layer_id], top_vecs_[layer_id]);
  });
  for (size_t i = 0; fused && i < followers.size(); ++i) {
    const int id = followers[i];
    // In the TEST phase the layer computes its gradients by itself.
    WithLayer(layers_[id]->layer_param(),
              [&] { layers_[id]->Reshape(bottom_vecs_[id], top_vecs_[id]); });
    (*done)[id] = true;
  }
  if (debug_info_) ForwardDebugInfo(layer_id);
}

// Blobs between are not computed: only while they may be freed. They are freed at once, though the
// layers that would have read them come later: whoever asks for one in this pass, or after it has
// failed, has it computed by the layers one by one.
template <typename Dtype>
bool Net<Dtype>::RunJoined(int layer_id, int end, vector<bool>* done) {
  const vector<int>& joined = joined_layers_[layer_id];
  if (joined.empty() || joined.back() > end || !activations_->shares() ||
      activations_->recomputes() || IsWatched() || Caffe::mode() != Caffe::CPU) {
    return false;
  }
  const int top = top_id_vecs_[joined.back()][0];
  for (const int id : joined) {
    const int between = top_id_vecs_[id][0];
    if (between != top && activations_->StaysAfterPass(between)) return false;
  }
  for (const int id : joined) {
    WithLayer(layers_[id]->layer_param(),
              [&] { layers_[id]->Reshape(bottom_vecs_[id], top_vecs_[id]); });
  }
  PrepareTop(top);
  Layer<Dtype>& layer = *layers_[layer_id];
  const bool computed = WithLayer(layer.layer_param(), [&] {
    return layer.ForwardJoined(bottom_vecs_[layer_id], top_vecs_[joined.back()]);
  });
  if (!computed) return false;
  for (const int id : joined) {
    (*done)[id] = true;
    ReleaseAfter(id);
  }
  return true;
}

// Programs take the input's mutable pointer once, at start-up, and keep writing through it. So the
// next input may lie there, without a trace, when a freed blob is asked for, which is computed from
// this one: hence the copy, a memcpy a pass, until a blob was asked for or set_share_activations
// called.
template <typename Dtype>
void Net<Dtype>::StampInputs() {
  for (Blob<Dtype>* input : net_input_blobs_) {
    Tensor& data = input->data_tensor();
    if (data.handed_out(kElementType<Dtype>)) data.Touch(kElementType<Dtype>);
  }
  vector<vector<char>>& last = activations_->inputs();
  if (!activations_->shares() || share_activations() || Caffe::mode() == Caffe::GPU) {
    last.clear();
    return;
  }
  last.resize(net_input_blobs_.size());
  for (size_t i = 0; i < last.size(); ++i) {
    const Blob<Dtype>& input = *net_input_blobs_[i];
    constexpr ElementType kType = kElementType<Dtype>;
    const Tensor& values = input.data_tensor();
    const bool known = input.count() > 0 && values.has_slot(kType) && !values.is_stale(kType);
    last[i].resize(known ? input.count() * sizeof(Dtype) : 0);
    kernels::CopyBytes(last[i].size(), known ? input.cpu_data() : nullptr, last[i].data());
  }
}

// Likewise they keep the pointers of blobs they read. Where no caller asked for Dtype nothing is
// converted.
template <typename Dtype>
void Net<Dtype>::RefreshBlobs() {
  if (Caffe::mode() == Caffe::GPU) return;
  for (const shared_ptr<Blob<Dtype>>& blob : blobs_) {
    Tensor& data = blob->data_tensor();
    if (data.is_stale(kElementType<Dtype>)) data.cpu_data(kElementType<Dtype>);
  }
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardFrom(int start) {
  return ForwardFromTo(start, static_cast<int>(layers_.size()) - 1);
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardTo(int end) {
  return ForwardFromTo(0, end);
}

template <typename Dtype>
void Net<Dtype>::Backward() {
  BackwardFromTo(static_cast<int>(layers_.size()) - 1, 0);
  if (debug_info_) AllParamsDebugInfo();
}

template <typename Dtype>
void Net<Dtype>::BackwardFromTo(int start, int end) {
  const int layers = static_cast<int>(layers_.size());
  Require(end >= 0 && start < layers, "backward from layer ", start, " to ", end,
          ": the net has layers 0 to ", layers - 1);
  Require(!share_activations(), "backward needs the blobs that share_activations frees");
  KeepBlobs();
  const kernels::FlushDenormals flush;
  const typename QuantizedTraining<Dtype>::Rounded rounded(quantized_training_.get(),
                                                           QuantizedTraining<Dtype>::Pass::SAME);
  vector<bool> left(layers_.size(), false);
  for (int i = start; i >= end; --i) {
    for (Callback* callback : before_backward_) callback->run(i);
    if (layer_need_backward_[i]) RunBackward(i, start, end, &left);
    for (Callback* callback : after_backward_) callback->run(i);
  }
}

// True if this pass has all that the layer can do the work of, and gradients go through all of it.
template <typename Dtype>
bool Net<Dtype>::IsFusedBackward(int layer_id, int start, int end) const {
  const vector<int>& followers = fused_followers_[layer_id];
  return phase_ == TRAIN && layer_id >= end && followers.back() <= start &&
         layer_need_backward_[layer_id] && MayRunFused(layer_id) &&
         std::all_of(followers.begin(), followers.end(),
                     [this](int id) { return bottom_need_backward_[id][0]; });
}

// A fused layer is left to the one that does its work, unless a caller can see what lies between.
template <typename Dtype>
void Net<Dtype>::RunBackward(int layer_id, int start, int end, vector<bool>* left) {
  const int owner = fused_into_[layer_id];
  if (owner >= 0 && IsFusedBackward(owner, start, end)) {
    (*left)[owner] = true;
    return;
  }
  Layer<Dtype>& layer = *layers_[layer_id];
  WithLayer(layer.layer_param(), [&] {
    const auto backward =
        (*left)[layer_id] ? &Layer<Dtype>::BackwardFused : &Layer<Dtype>::Backward;
    (layer.*backward)(top_vecs_[layer_id], bottom_need_backward_[layer_id], bottom_vecs_[layer_id]);
  });
  if (debug_info_) BackwardDebugInfo(layer_id);
}

template <typename Dtype>
bool Net<Dtype>::IsWatched() const {
  return debug_info_ || !before_forward_.empty() || !after_forward_.empty() ||
         !before_backward_.empty() || !after_backward_.empty();
}

template <typename Dtype>
bool Net<Dtype>::MayRunFused(int layer_id) const {
  return !IsWatched() && (Caffe::mode() == Caffe::CPU || layers_[layer_id]->FusesOnGpu());
}

template <typename Dtype>
void Net<Dtype>::BackwardFrom(int start) {
  BackwardFromTo(start, 0);
}

template <typename Dtype>
void Net<Dtype>::BackwardTo(int end) {
  BackwardFromTo(static_cast<int>(layers_.size()) - 1, end);
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardBackward() {
  Dtype loss;
  Forward(&loss);
  Backward();
  return loss;
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardBackward(const vector<Blob<Dtype>*>& bottom) {
  Dtype loss;
  Forward(bottom, &loss);
  Backward();
  return loss;
}

template <typename Dtype>
void Net<Dtype>::set_training_iteration(int iteration) {
  if (quantized_training_) quantized_training_->SetIteration(iteration);
}

template <typename Dtype>
void Net<Dtype>::Reshape() {
  for (size_t i = 0; i < layers_.size(); ++i) {
    WithLayer(layers_[i]->layer_param(),
              [&] { layers_[i]->Reshape(bottom_vecs_[i], top_vecs_[i]); });
  }
}

template <typename Dtype>
void Net<Dtype>::Update() {
  const kernels::FlushDenormals flush;
  if (debug_info_) {
    for (size_t i = 0; i < params_.size(); ++i) UpdateDebugInfo(i);
  }
  for (Blob<Dtype>* param : learnable_params_) param->Update();
}

// A gradient that was never touched is zero already and need not get memory.
template <typename Dtype>
void Net<Dtype>::ClearParamDiffs() {
  if (Caffe::mode() == Caffe::GPU) return ClearDiffsOnDevice();
  for (Blob<Dtype>* param : learnable_params_) {
    Tensor& diff = param->diff_tensor();
    if (!diff.has_slot(kElementType<Dtype>) && diff.allocated_bytes() == 0) continue;
    std::memset(diff.overwrite_cpu_data(kElementType<Dtype>), 0, param->count() * sizeof(Dtype));
  }
}

template <typename Dtype>
void Net<Dtype>::ShareWeights() {
  for (size_t i = 0; i < params_.size(); ++i) {
    if (param_owners_[i] < 0) continue;
    params_[i]->ShareData(*params_[param_owners_[i]]);
    params_[i]->ShareDiff(*params_[param_owners_[i]]);
  }
}

template <typename Dtype>
const vector<int>& Net<Dtype>::IdsOf(const vector<vector<int>>& ids, int layer_id) const {
  Require(layer_id >= 0 && layer_id < static_cast<int>(ids.size()), "layer ", layer_id,
          ": the net has layers 0 to ", static_cast<int>(ids.size()) - 1);
  return ids[layer_id];
}

template <typename Dtype>
bool Net<Dtype>::has_blob(const string& blob_name) const {
  return blob_names_index_.count(blob_name) > 0;
}

template <typename Dtype>
const shared_ptr<Blob<Dtype>> Net<Dtype>::blob_by_name(const string& blob_name) {
  const auto found = blob_names_index_.find(blob_name);
  const bool may_be_freed =
      found != blob_names_index_.end() && !activations_->StaysAfterPass(found->second);
  if (may_be_freed) KeepBlobs();
  return std::as_const(*this).blob_by_name(blob_name);
}

template <typename Dtype>
const shared_ptr<Blob<Dtype>> Net<Dtype>::blob_by_name(const string& blob_name) const {
  const auto found = blob_names_index_.find(blob_name);
  if (found != blob_names_index_.end()) {
    if (!activations_->StaysAfterPass(found->second)) FreeNothingMore();
    return blobs_[found->second];
  }
  LOG(WARNING) << "Unknown blob name " << blob_name;
  return shared_ptr<Blob<Dtype>>();
}

template <typename Dtype>
bool Net<Dtype>::has_layer(const string& layer_name) const {
  return layer_names_index_.count(layer_name) > 0;
}

template <typename Dtype>
const shared_ptr<Layer<Dtype>> Net<Dtype>::layer_by_name(const string& layer_name) const {
  const auto found = layer_names_index_.find(layer_name);
  if (found != layer_names_index_.end()) return layers_[found->second];
  LOG(WARNING) << "Unknown layer name " << layer_name;
  return shared_ptr<Layer<Dtype>>();
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
