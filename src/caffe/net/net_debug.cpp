// What a net with debug_info logs: mean magnitudes of blobs and parameters.
#include "caffe/net.hpp"

namespace caffe {
namespace {

template <typename Dtype>
Dtype MeanData(const Blob<Dtype>& blob) {
  return blob.count() == 0 ? Dtype(0) : blob.asum_data() / blob.count();
}

template <typename Dtype>
Dtype MeanDiff(const Blob<Dtype>& blob) {
  return blob.count() == 0 ? Dtype(0) : blob.asum_diff() / blob.count();
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::ForwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", top blob "
        << blob_names_[top_id_vecs_[layer_id][i]] << " data: " << MeanData(*top_vecs_[layer_id][i]);
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", param blob "
        << param_display_names_[param_id_vecs_[layer_id][i]]
        << " data: " << MeanData(*layers_[layer_id]->blobs()[i]);
  }
}

template <typename Dtype>
void Net<Dtype>::BackwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < bottom_vecs_[layer_id].size(); ++i) {
    if (!bottom_need_backward_[layer_id][i]) continue;
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", bottom blob "
        << blob_names_[bottom_id_vecs_[layer_id][i]]
        << " diff: " << MeanDiff(*bottom_vecs_[layer_id][i]);
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    if (!layers_[layer_id]->param_propagate_down(i)) continue;
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", param blob "
        << param_display_names_[param_id_vecs_[layer_id][i]]
        << " diff: " << MeanDiff(*layers_[layer_id]->blobs()[i]);
  }
}

template <typename Dtype>
void Net<Dtype>::UpdateDebugInfo(const int param_id) {
  const Blob<Dtype>& blob = *params_[param_id];
  const int owner = param_owners_[param_id];
  const string& layer = layer_names_[param_layer_indices_[param_id].first];
  const string& name = param_display_names_[param_id];
  if (owner < 0) {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer << ", param " << name << " data: " << MeanData(blob)
        << "; diff: " << MeanDiff(blob);
  } else {
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer << ", param blob " << name << " (owned by layer "
        << layer_names_[param_layer_indices_[owner].first] << ", param "
        << param_display_names_[owner] << ") diff: " << MeanDiff(blob);
  }
}

template <typename Dtype>
void Net<Dtype>::AllParamsDebugInfo() {
  Dtype asum_data = 0, asum_diff = 0, sumsq_data = 0, sumsq_diff = 0;
  for (const Blob<Dtype>* param : learnable_params_) {
    asum_data += param->asum_data();
    asum_diff += param->asum_diff();
    sumsq_data += param->sumsq_data();
    sumsq_diff += param->sumsq_diff();
  }
  LOG_IF(ERROR, Caffe::root_solver())
      << "    [Backward] All net params (data, diff): L1 norm = (" << asum_data << ", " << asum_diff
      << "); L2 norm = (" << std::sqrt(sumsq_data) << ", " << std::sqrt(sumsq_diff) << ")";
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
