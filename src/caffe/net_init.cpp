// From a NetParameter to layers and blobs.
#include <algorithm>
#include <limits>

#include "caffe/net.hpp"
#include "caffe/util/edit_distance.hpp"
#include "caffe/util/insert_splits.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

string Named(const LayerParameter& layer) {
  return Join("layer '", layer.name(), "' (", layer.type(), ")");
}

}  // namespace

template <typename Dtype>
Net<Dtype>::Net(const NetParameter& param, const NetOptions& options) : options_(options) {
  Init(param);
}

template <typename Dtype>
Net<Dtype>::Net(const string& param_file, Phase phase, const int level,
                const vector<string>* stages, const NetOptions& options)
    : file_(param_file), options_(options) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(param_file, &param);
  NetState* state = param.mutable_state();
  state->set_phase(phase);
  if (stages) {
    for (const string& stage : *stages) state->add_stage(stage);
  }
  state->set_level(level);
  try {
    Init(param);
  } catch (Error& error) {
    error.AddContext(param_file);
    throw;
  }
}

template <typename Dtype>
void Net<Dtype>::Init(const NetParameter& in_param) {
  phase_ = in_param.state().phase();
  NetParameter filtered, param;
  FilterNet(in_param, &filtered);
  LOG_IF(INFO, Caffe::root_solver()) << "Initializing net from parameters: " << std::endl
                                     << filtered.DebugString();
  InsertSplits(filtered, &param);
  name_ = param.name();
  global_grad_scale_ = param.global_grad_scale();
  layer_types_ = ResolveTypes(param, kElementType<Dtype>);

  map<string, int> blob_name_to_idx;
  std::set<string> available;
  for (int i = 0; i < param.layer_size(); ++i) {
    try {
      AppendLayer(param, i, &available, &blob_name_to_idx);
    } catch (Error& error) {
      error.AddContext(Named(param.layer(i)));
      throw;
    }
  }
  PruneBackward(param.force_backward());
  for (const string& name : available) {
    LOG_IF(INFO, Caffe::root_solver()) << "This network produces output " << name;
    net_output_blobs_.push_back(blobs_[blob_name_to_idx[name]].get());
    net_output_blob_indices_.push_back(blob_name_to_idx[name]);
  }
  for (size_t i = 0; i < blob_names_.size(); ++i) blob_names_index_[blob_names_[i]] = i;
  for (size_t i = 0; i < layer_names_.size(); ++i) layer_names_index_[layer_names_[i]] = i;
  last_use_.assign(blobs_.size(), 0);
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (int id : bottom_id_vecs_[i]) last_use_[id] = i;
    for (int id : top_id_vecs_[i]) last_use_[id] = i;
  }
  PlaceParametersInArenas();
  ShareWeights();
  SettleParameters();
  debug_info_ = param.debug_info();
  LOG_IF(INFO, Caffe::root_solver()) << "Network initialization done.";
}

template <typename Dtype>
void Net<Dtype>::AppendLayer(const NetParameter& param, int layer_id,
                             std::set<string>* available, map<string, int>* blob_name_to_idx) {
  LayerParameter layer_param = param.layer(layer_id);
  if (!layer_param.has_phase()) layer_param.set_phase(phase_);
  Require(layer_param.propagate_down_size() == 0 ||
              layer_param.propagate_down_size() == layer_param.bottom_size(),
          "propagate_down is given ", layer_param.propagate_down_size(), " times for ",
          layer_param.bottom_size(), " bottoms: give it once per bottom, or not at all");
  bottom_vecs_.emplace_back();
  top_vecs_.emplace_back();
  bottom_id_vecs_.emplace_back();
  param_id_vecs_.emplace_back();
  top_id_vecs_.emplace_back();
  bottom_need_backward_.emplace_back();

  layers_.push_back(LayerRegistry<Dtype>::CreateLayer(layer_param));
  layers_[layer_id]->set_types(layer_types_[layer_id]);
  layer_names_.push_back(layer_param.name());
  LOG_IF(INFO, Caffe::root_solver()) << "Creating Layer " << layer_param.name();
  bool need_backward = false;
  for (int i = 0; i < layer_param.bottom_size(); ++i) {
    const int blob_id = AppendBottom(layer_param, layer_id, i, available, blob_name_to_idx);
    need_backward |= blob_need_backward_[blob_id];
  }
  for (int i = 0; i < layer_param.top_size(); ++i) {
    AppendTop(layer_param, layer_id, i, available, blob_name_to_idx);
    // The net's inputs are the tops of its Input layers.
    if (layer_param.type() == "Input") {
      const int blob_id = static_cast<int>(blobs_.size()) - 1;
      net_input_blob_indices_.push_back(blob_id);
      net_input_blobs_.push_back(blobs_[blob_id].get());
    }
  }
  const Layer<Dtype>& layer = *layers_[layer_id];
  if (layer.AutoTopBlobs()) {
    const int needed = std::max(layer.MinTopBlobs(), layer.ExactNumTopBlobs());
    for (int i = static_cast<int>(top_vecs_[layer_id].size()); i < needed; ++i) {
      AppendTop(layer_param, layer_id, i, NULL, NULL);
    }
  }
  SetUpLayer(layer_id);

  const int specs = layer_param.param_size();
  const int blobs = static_cast<int>(layers_[layer_id]->blobs().size());
  Require(specs <= blobs, "Too many params specified for layer ", layer_param.name(), ": param is ",
          "given ", specs, " times for ", blobs, " parameter blobs");
  const ParamSpec otherwise;
  for (int i = 0; i < blobs; ++i) {
    const ParamSpec& spec = i < specs ? layer_param.param(i) : otherwise;
    const bool learns = spec.lr_mult() != 0;
    need_backward |= learns;
    layers_[layer_id]->set_param_propagate_down(i, learns);
  }
  for (int i = 0; i < blobs; ++i) AppendParam(layer_param, layer_id, i);
  layer_need_backward_.push_back(need_backward);
  if (need_backward) {
    for (int id : top_id_vecs_[layer_id]) blob_need_backward_[id] = true;
  }
}

template <typename Dtype>
void Net<Dtype>::SetUpLayer(int layer_id) {
  layers_[layer_id]->SetUp(bottom_vecs_[layer_id], top_vecs_[layer_id]);
  LOG_IF(INFO, Caffe::root_solver()) << "Setting up " << layer_names_[layer_id];
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    const int blob_id = top_id_vecs_[layer_id][i];
    if (static_cast<int>(blob_loss_weights_.size()) <= blob_id) {
      blob_loss_weights_.resize(blob_id + 1, Dtype(0));
    }
    const Dtype weight = layers_[layer_id]->loss(i);
    blob_loss_weights_[blob_id] = weight;
    LOG_IF(INFO, Caffe::root_solver()) << "Top shape: " << top_vecs_[layer_id][i]->shape_string();
    if (weight != 0) {
      LOG_IF(INFO, Caffe::root_solver()) << "    with loss weight " << weight;
      top_vecs_[layer_id][i]->set_diff_type(kElementType<Dtype>);
      top_vecs_[layer_id][i]->set_data_type(kElementType<Dtype>);
    }
    memory_used_ += top_vecs_[layer_id][i]->count() * SizeOf(top_vecs_[layer_id][i]->data_type());
  }
  LOG_IF(INFO, Caffe::root_solver()) << "Memory required for data: " << memory_used_;
}

template <typename Dtype>
void Net<Dtype>::AppendTop(const LayerParameter& param, const int layer_id, const int top_id,
                           std::set<string>* available, map<string, int>* blob_name_to_idx) {
  const string name = top_id < param.top_size() ? param.top(top_id) : "(automatic)";
  const Operation* operation = OperationTable::Find(param.type());
  const bool same_name = blob_name_to_idx && top_id < param.bottom_size() &&
                         name == param.bottom(top_id);
  const LayerTypes& types = layer_types_[layer_id];
  if (same_name) {
    Require(!operation || operation->in_place, param.type(), " cannot work in place on '", name,
            "': give its top another name");
    const int blob_id = (*blob_name_to_idx)[name];
    const Blob<Dtype>& blob = *blobs_[blob_id];
    const bool own_type = (param.has_forward_type() && types.forward_type != blob.data_type()) ||
                          (param.has_backward_type() && types.backward_type != blob.diff_type());
    if (!own_type) {
      LOG_IF(INFO, Caffe::root_solver()) << param.name() << " -> " << name << " (in-place)";
      top_vecs_[layer_id].push_back(blobs_[blob_id].get());
      top_id_vecs_[layer_id].push_back(blob_id);
      available->insert(name);
      return;
    }
    LOG_IF(INFO, Caffe::root_solver())
        << param.name() << " -> " << name << " (in a blob of its own: its type is "
        << Name(types.forward_type) << ", its producer's " << Name(blob.data_type()) << ")";
  } else if (blob_name_to_idx && blob_name_to_idx->count(name)) {
    Fail("Top blob '", name, "' produced by multiple sources: give the top another name");
  } else {
    LOG_IF(INFO, Caffe::root_solver()) << param.name() << " -> " << name;
  }
  shared_ptr<Blob<Dtype>> blob(new Blob<Dtype>());
  const bool in_dtype = operation && operation->IsFloatTop(top_id);
  blob->set_data_type(in_dtype ? kElementType<Dtype> : types.forward_type);
  blob->set_diff_type(in_dtype ? kElementType<Dtype> : types.backward_type);
  const int blob_id = static_cast<int>(blobs_.size());
  blobs_.push_back(blob);
  blob_names_.push_back(name);
  blob_need_backward_.push_back(false);
  if (blob_name_to_idx) (*blob_name_to_idx)[name] = blob_id;
  top_id_vecs_[layer_id].push_back(blob_id);
  top_vecs_[layer_id].push_back(blob.get());
  if (available) available->insert(name);
}

template <typename Dtype>
int Net<Dtype>::AppendBottom(const LayerParameter& param, const int layer_id, const int bottom_id,
                             std::set<string>* available, map<string, int>* blob_name_to_idx) {
  const string& name = param.bottom(bottom_id);
  Require(available->count(name), "Unknown bottom blob '", name, "' (layer '", param.name(),
          "', bottom index ", bottom_id, ")",
          DidYouMean(name, vector<string>(available->begin(), available->end())));
  const int blob_id = (*blob_name_to_idx)[name];
  LOG_IF(INFO, Caffe::root_solver()) << layer_names_[layer_id] << " <- " << name;
  bottom_vecs_[layer_id].push_back(blobs_[blob_id].get());
  bottom_id_vecs_[layer_id].push_back(blob_id);
  available->erase(name);
  bool propagate_down = blob_need_backward_[blob_id];
  if (param.propagate_down_size() > 0) propagate_down = param.propagate_down(bottom_id);
  bottom_need_backward_[layer_id].push_back(propagate_down);
  return blob_id;
}

template <typename Dtype>
void Net<Dtype>::AppendParam(const LayerParameter& layer_param, const int layer_id,
                             const int param_id) {
  const ParamSpec spec =
      param_id < layer_param.param_size() ? layer_param.param(param_id) : ParamSpec();
  const string& name = spec.name();
  const int id = static_cast<int>(params_.size());
  params_.push_back(layers_[layer_id]->blobs()[param_id]);
  param_id_vecs_[layer_id].push_back(id);
  param_layer_indices_.emplace_back(layer_id, param_id);
  param_display_names_.push_back(name.empty() ? std::to_string(param_id) : name);
  const auto owner = name.empty() ? param_names_index_.end() : param_names_index_.find(name);
  if (owner != param_names_index_.end()) {
    AppendSharedParam(layer_param, spec, layer_id, param_id, owner->second);
    return;
  }
  param_owners_.push_back(-1);
  if (!name.empty()) param_names_index_[name] = id;
  learnable_param_ids_.push_back(static_cast<int>(learnable_params_.size()));
  learnable_params_.push_back(params_[id].get());
  has_params_lr_.push_back(spec.has_lr_mult());
  has_params_decay_.push_back(spec.has_decay_mult());
  params_lr_.push_back(spec.lr_mult());
  params_weight_decay_.push_back(spec.decay_mult());
}

// A parameter whose name an earlier one has is that one. Multipliers may be given by any of them,
// but not differently.
template <typename Dtype>
void Net<Dtype>::AppendSharedParam(const LayerParameter& layer_param, const ParamSpec& spec,
                                   int layer_id, int param_id, int owner) {
  param_owners_.push_back(owner);
  const pair<int, int>& owner_index = param_layer_indices_[owner];
  LOG_IF(INFO, Caffe::root_solver())
      << "Sharing parameters '" << spec.name() << "' owned by layer '"
      << layer_names_[owner_index.first] << "', param index " << owner_index.second;
  const Blob<Dtype>& own = *layers_[layer_id]->blobs()[param_id];
  const Blob<Dtype>& shared = *layers_[owner_index.first]->blobs()[owner_index.second];
  const bool permissive = layer_param.param_size() > param_id &&
                          layer_param.param(param_id).share_mode() ==
                              ParamSpec_DimCheckMode_PERMISSIVE;
  Require(permissive ? own.count() == shared.count() : own.shape() == shared.shape(),
          "Cannot share param '", spec.name(), "' owned by layer '",
          layer_names_[owner_index.first], "': its shape is ", shared.shape_string(),
          ", this layer's is ", own.shape_string(),
          permissive ? "" : " (share_mode: PERMISSIVE asks for equal counts only)");
  const int id = learnable_param_ids_[owner];
  learnable_param_ids_.push_back(id);
  const auto merge = [&](bool given, float value, const char* field, vector<bool>* has,
                         vector<float>* values) {
    if (!given) return;
    Require(!(*has)[id] || (*values)[id] == value, "Shared param '", spec.name(),
            "' has mismatched ", field, ": ", (*values)[id], " and ", value);
    (*has)[id] = true;
    (*values)[id] = value;
  };
  merge(spec.has_lr_mult(), spec.lr_mult(), "lr_mult", &has_params_lr_, &params_lr_);
  merge(spec.has_decay_mult(), spec.decay_mult(), "decay_mult", &has_params_decay_,
        &params_weight_decay_);
}

// Gradients are computed for what contributes to a loss and has something to learn below it.
template <typename Dtype>
void Net<Dtype>::PruneBackward(bool force_backward) {
  std::set<string> under_loss, skipped;
  for (int i = static_cast<int>(layers_.size()) - 1; i >= 0; --i) {
    bool contributes = false, all_skipped = true;
    for (size_t top = 0; top < top_vecs_[i].size(); ++top) {
      const string& name = blob_names_[top_id_vecs_[i][top]];
      if (layers_[i]->loss(top) != 0 || under_loss.count(name)) contributes = true;
      if (!skipped.count(name)) all_skipped = false;
      if (contributes && !all_skipped) break;
    }
    if (layer_need_backward_[i] && all_skipped && !top_vecs_[i].empty()) {
      layer_need_backward_[i] = false;
      bottom_need_backward_[i].assign(bottom_need_backward_[i].size(), false);
    }
    if (!contributes) layer_need_backward_[i] = false;
    LOG_IF(INFO, Caffe::root_solver())
        << layer_names_[i]
        << (layer_need_backward_[i] ? " needs backward computation."
                                    : " does not need backward computation.");
    for (size_t bottom = 0; bottom < bottom_vecs_[i].size(); ++bottom) {
      const string& name = blob_names_[bottom_id_vecs_[i][bottom]];
      if (contributes) {
        under_loss.insert(name);
      } else {
        bottom_need_backward_[i][bottom] = false;
      }
      if (!bottom_need_backward_[i][bottom]) skipped.insert(name);
    }
  }
  if (!force_backward) return;
  for (size_t i = 0; i < layers_.size(); ++i) {
    layer_need_backward_[i] = true;
    for (size_t bottom = 0; bottom < bottom_need_backward_[i].size(); ++bottom) {
      bottom_need_backward_[i][bottom] =
          bottom_need_backward_[i][bottom] || layers_[i]->AllowForceBackward(bottom);
      const int blob_id = bottom_id_vecs_[i][bottom];
      blob_need_backward_[blob_id] = blob_need_backward_[blob_id] || bottom_need_backward_[i][bottom];
    }
    for (size_t j = 0; j < layers_[i]->blobs().size(); ++j) {
      layers_[i]->set_param_propagate_down(j, true);
    }
  }
}

// What is trained lies in one piece of memory, and so do the gradients: updates and reductions over
// all of it are single loops.
template <typename Dtype>
void Net<Dtype>::PlaceParametersInArenas() {
  if (phase_ != TRAIN) return;
  constexpr size_t kAlign = Allocator::kAlignment / sizeof(Dtype);
  size_t total = 0;
  vector<size_t> offsets;
  for (const Blob<Dtype>* param : learnable_params_) {
    offsets.push_back(total);
    total += (param->data_tensor().capacity() + kAlign - 1) / kAlign * kAlign;
  }
  if (total == 0) return;
  auto data = std::make_shared<SyncedMemory>(total * sizeof(Dtype));
  auto diff = std::make_shared<SyncedMemory>(total * sizeof(Dtype));
  Dtype* data_begin = static_cast<Dtype*>(data->mutable_cpu_data());
  Dtype* diff_begin = static_cast<Dtype*>(diff->mutable_cpu_data());
  for (size_t i = 0; i < learnable_params_.size(); ++i) {
    const ElementType type = kElementType<Dtype>;
    learnable_params_[i]->data_tensor().MoveTo(type, data_begin + offsets[i], data);
    learnable_params_[i]->diff_tensor().MoveTo(type, diff_begin + offsets[i], diff);
  }
}

// Pointers that layers took while they were set up are gone; a TEST net keeps its parameters in
// their storage types only.
template <typename Dtype>
void Net<Dtype>::SettleParameters() {
  if (phase_ != TEST) return;
  for (const shared_ptr<Blob<Dtype>>& param : params_) {
    param->data_tensor().ForgetPointers();
    param->data_tensor().Trim();
  }
}

template Net<float>::Net(const NetParameter&, const NetOptions&);
template Net<double>::Net(const NetParameter&, const NetOptions&);
template Net<float>::Net(const string&, Phase, const int, const vector<string>*,
                         const NetOptions&);
template Net<double>::Net(const string&, Phase, const int, const vector<string>*,
                          const NetOptions&);
template void Net<float>::Init(const NetParameter&);
template void Net<double>::Init(const NetParameter&);
template void Net<float>::SettleParameters();
template void Net<double>::SettleParameters();

}  // namespace caffe
