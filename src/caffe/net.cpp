// Running a net.
#include "caffe/net.hpp"

#include <cmath>

#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {
namespace {

template <typename Callbacks, typename Function>
void CallAll(const Callbacks& callbacks, Function&& call) {
  for (auto* callback : callbacks) call(callback);
}

}  // namespace

// Programs write inputs through pointers that they took once, at the start.
template <typename Dtype>
void Net<Dtype>::TakeInputsAsWritten() {
  for (Blob<Dtype>* input : net_input_blobs_) {
    Tensor& tensor = input->data_tensor();
    if (tensor.handed_out(kElementType<Dtype>)) tensor.Touch(kElementType<Dtype>);
  }
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
  CHECK_GE(start, 0);
  CHECK_LT(end, static_cast<int>(layers_.size()));
  kernels::FlushDenormals flush_denormals;
  Dtype loss = 0;
  for (int i = start; i <= end; ++i) {
    try {
      CallAll(before_forward_, [i](Callback* callback) { callback->run(i); });
      loss += layers_[i]->Forward(bottom_vecs_[i], top_vecs_[i]);
      if (debug_info_) ForwardDebugInfo(i);
      CallAll(after_forward_, [i](Callback* callback) { callback->run(i); });
    } catch (Error& error) {
      error.AddContext(Join("layer '", layer_names_[i], "' (", layers_[i]->type(), ")"));
      throw;
    }
    if (options_.share_activations && phase_ == TEST) ReleaseDeadBlobs(i);
  }
  return loss;
}

// A tensor may belong to several blobs (Split, Flatten): it goes when the last of them is dead.
template <typename Dtype>
void Net<Dtype>::ReleaseDeadBlobs(int layer_id) {
  vector<bool> keep(blobs_.size(), false);
  for (int id : net_output_blob_indices_) keep[id] = true;
  for (int id : net_input_blob_indices_) keep[id] = true;
  for (size_t id = 0; id < blobs_.size(); ++id) {
    if (keep[id] || last_use_[id] != layer_id) continue;
    Tensor* tensor = &blobs_[id]->data_tensor();
    bool alive = false;
    for (size_t other = 0; other < blobs_.size(); ++other) {
      alive |= (keep[other] || last_use_[other] > layer_id) &&
               &blobs_[other]->data_tensor() == tensor;
    }
    if (alive) continue;
    tensor->Release(Join("blob '", blob_names_[id], "' was given back after layer '",
                         layer_names_[layer_id],
                         "', the last to use it: build the net without share_activations to read it"));
  }
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(Dtype* loss) {
  TakeInputsAsWritten();
  const Dtype sum = layers_.empty() ? Dtype(0) : ForwardFromTo(0, layers_.size() - 1);
  if (loss) *loss = sum;
  // Programs read outputs through pointers that they took once.
  for (Blob<Dtype>* output : net_output_blobs_) {
    if (output->data_tensor().handed_out(kElementType<Dtype>)) output->cpu_data();
  }
  return net_output_blobs_;
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss) {
  LOG_EVERY_N(WARNING, 1000) << "DEPRECATED: Forward(bottom, loss) will be removed in a future "
                                "version. Use Forward(loss).";
  Require(bottom.size() == net_input_blobs_.size(), "the net has ", net_input_blobs_.size(),
          " input(s), ", bottom.size(), " were given");
  for (size_t i = 0; i < bottom.size(); ++i) net_input_blobs_[i]->CopyFrom(*bottom[i]);
  return Forward(loss);
}

template <typename Dtype>
void Net<Dtype>::BackwardFromTo(int start, int end) {
  CHECK_GE(end, 0);
  CHECK_LT(start, static_cast<int>(layers_.size()));
  kernels::FlushDenormals flush_denormals;
  for (int i = start; i >= end; --i) {
    try {
      CallAll(before_backward_, [i](Callback* callback) { callback->run(i); });
      if (layer_need_backward_[i]) {
        layers_[i]->Backward(top_vecs_[i], bottom_need_backward_[i], bottom_vecs_[i]);
        if (debug_info_) BackwardDebugInfo(i);
      }
      CallAll(after_backward_, [i](Callback* callback) { callback->run(i); });
    } catch (Error& error) {
      error.AddContext(Join("layer '", layer_names_[i], "' (", layers_[i]->type(), "), backward"));
      throw;
    }
  }
}

template <typename Dtype>
void Net<Dtype>::Backward() {
  if (layers_.empty()) return;
  BackwardFromTo(layers_.size() - 1, 0);
  if (!debug_info_) return;
  Dtype asum_data = 0, asum_diff = 0, sumsq_data = 0, sumsq_diff = 0;
  for (const Blob<Dtype>* param : learnable_params_) {
    asum_data += param->asum_data();
    asum_diff += param->asum_diff();
    sumsq_data += param->sumsq_data();
    sumsq_diff += param->sumsq_diff();
  }
  LOG(ERROR) << "    [Backward] All net params (data, diff): L1 norm = (" << asum_data << ", "
             << asum_diff << "); L2 norm = (" << std::sqrt(sumsq_data) << ", "
             << std::sqrt(sumsq_diff) << ")";
}

template <typename Dtype>
void Net<Dtype>::Reshape() {
  for (size_t i = 0; i < layers_.size(); ++i) {
    try {
      layers_[i]->Reshape(bottom_vecs_[i], top_vecs_[i]);
    } catch (Error& error) {
      error.AddContext(Join("layer '", layer_names_[i], "' (", layers_[i]->type(), ")"));
      throw;
    }
  }
}

template <typename Dtype>
void Net<Dtype>::Update() {
  for (Blob<Dtype>* param : learnable_params_) param->Update();
  if (!debug_info_) return;
  for (size_t i = 0; i < params_.size(); ++i) UpdateDebugInfo(i);
}

template <typename Dtype>
void Net<Dtype>::ClearParamDiffs() {
  for (Blob<Dtype>* param : learnable_params_) {
    kernels::Set<Dtype>(param->count(), 0, param->template overwrite_cpu_diff_as<Dtype>());
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

namespace {

template <typename Dtype>
Dtype MeanMagnitude(Dtype sum, int count) {
  return count == 0 ? Dtype(0) : sum / count;
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::ForwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    const Blob<Dtype>& blob = *top_vecs_[layer_id][i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", top blob "
        << blob_names_[top_id_vecs_[layer_id][i]]
        << " data: " << MeanMagnitude(blob.asum_data(), blob.count());
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    const Blob<Dtype>& blob = *layers_[layer_id]->blobs()[i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", param blob "
        << param_display_names_[param_id_vecs_[layer_id][i]]
        << " data: " << MeanMagnitude(blob.asum_data(), blob.count());
  }
}

template <typename Dtype>
void Net<Dtype>::BackwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < bottom_vecs_[layer_id].size(); ++i) {
    if (!bottom_need_backward_[layer_id][i]) continue;
    const Blob<Dtype>& blob = *bottom_vecs_[layer_id][i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", bottom blob "
        << blob_names_[bottom_id_vecs_[layer_id][i]]
        << " diff: " << MeanMagnitude(blob.asum_diff(), blob.count());
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    if (!layers_[layer_id]->param_propagate_down(i)) continue;
    const Blob<Dtype>& blob = *layers_[layer_id]->blobs()[i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", param blob " << i
        << " diff: " << MeanMagnitude(blob.asum_diff(), blob.count());
  }
}

template <typename Dtype>
void Net<Dtype>::UpdateDebugInfo(const int param_id) {
  const Blob<Dtype>& blob = *params_[param_id];
  const int owner = param_owners_[param_id];
  const string& layer_name = layer_names_[param_layer_indices_[param_id].first];
  const string& display_name = param_display_names_[param_id];
  const Dtype diff = MeanMagnitude(blob.asum_diff(), blob.count());
  if (owner < 0) {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer_name << ", param " << display_name
        << " data: " << MeanMagnitude(blob.asum_data(), blob.count()) << "; diff: " << diff;
  } else {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer_name << ", param blob " << display_name
        << " (owned by layer " << layer_names_[param_layer_indices_[owner].first] << ", param "
        << param_display_names_[owner] << ") diff: " << diff;
  }
}

template <typename Dtype>
bool Net<Dtype>::has_blob(const string& blob_name) const {
  return blob_names_index_.count(blob_name) > 0;
}

template <typename Dtype>
const shared_ptr<Blob<Dtype>> Net<Dtype>::blob_by_name(const string& blob_name) const {
  const auto found = blob_names_index_.find(blob_name);
  if (found != blob_names_index_.end()) return blobs_[found->second];
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

INSTANTIATE_CLASS(Net);

}  // namespace caffe
