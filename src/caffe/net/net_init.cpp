// Building a net from its description.
#include <algorithm>

#include "caffe/core/error_context.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/core/memory_pool.hpp"
#include "caffe/engine.hpp"
#include "caffe/net.hpp"
#include "caffe/net/integer_grids.hpp"
#include "caffe/util/insert_splits.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "net_checks.hpp"
#include "overwritten_tops.hpp"
#include "quantized_training.hpp"

namespace caffe {
namespace {

std::ostream& operator<<(std::ostream& stream, const LayerTypes& types) {
  return stream << Name(types.forward_type) << "/" << Name(types.backward_type);
}

/// The description without weights, which would swamp a log. `net` is the same afterwards.
string DescriptionOf(NetParameter* net) {
  vector<google::protobuf::RepeatedPtrField<BlobProto>> weights(net->layer_size());
  for (int i = 0; i < net->layer_size(); ++i)
    net->mutable_layer(i)->mutable_blobs()->Swap(&weights[i]);
  const string description = net->DebugString();
  for (int i = 0; i < net->layer_size(); ++i)
    net->mutable_layer(i)->mutable_blobs()->Swap(&weights[i]);
  return description;
}

bool IsLossTop(const LayerParameter& layer, int top) {
  const Operation* operation = OperationTable::Find(layer.type());
  return (operation && operation->loss && top == 0) ||
         (top < layer.loss_weight_size() && layer.loss_weight(top) != 0);
}

}  // namespace

template <typename Dtype>
struct Net<Dtype>::Connections {
  set<string> available;       // blobs that no layer reads yet
  map<string, int> newest_id;  // of each name
};

template <typename Dtype>
void Net<Dtype>::Init(const NetParameter& in_param) {
  if (NetNeedsUpgrade(in_param)) {
    NetParameter upgraded(in_param);
    UpgradeNetAsNeeded("", &upgraded);
    return Build(upgraded);
  }
  Build(in_param);
}

template <typename Dtype>
void Net<Dtype>::Build(const NetParameter& unfiltered) {
  phase_ = unfiltered.state().phase();
  limits::Check(limits::kLayers, unfiltered.layer_size(), "net '", unfiltered.name(), "'");
  NetParameter filtered, param;
  FilterNet(unfiltered, &filtered);
  PropagateEngine(&filtered);
  LOG_IF(INFO, Caffe::root_solver()) << "Initializing net from parameters: " << std::endl
                                     << DescriptionOf(&filtered);
  CheckConnections(filtered, unfiltered);
  inference::TrainingPositions positions;
  NetParameter in_floats;  // before anything is inserted
  if (filtered.has_quantized_training()) {
    CheckQuantizedTraining(filtered.quantized_training());
    vector<string> names;
    for (const LayerParameter& layer : filtered.layer()) names.push_back(layer.name());
    RequireDistinctNames(names, "quantized_training knows one", "rename one of them");
    positions = inference::PositionsOf(filtered);
    in_floats = filtered;
    filtered = InsertFakeQuantization(in_floats, positions);
  }
  InsertSplits(filtered, &param);
  name_ = param.name();
  memory_used_ = 0;
  AddLayers(&param);
  if (param.has_quantized_training()) {
    quantized_training_ = std::make_shared<QuantizedTraining<Dtype>>(in_floats, positions, layers_);
    if (phase_ == TRAIN) set_training_iteration(0);
  }
  FindBackward();
  if (param.force_backward()) ForceBackward();
  if (Caffe::root_solver() && (phase_ == TRAIN || param.force_backward())) {
    vector<LayerParameter> params;
    for (const auto& layer : layers_) params.push_back(layer->layer_param());
    WarnOfOverwrittenTops(params, layer_need_backward_);
  }
  for (size_t i = 0; i < blob_names_.size(); ++i) blob_names_index_[blob_names_[i]] = i;
  for (size_t i = 0; i < layer_names_.size(); ++i) layer_names_index_[layer_names_[i]] = i;
  ShareWeights();
  PlaceParameters();
  fused_followers_.assign(layers_.size(), vector<int>());
  fused_into_.assign(layers_.size(), -1);
  joined_layers_.assign(layers_.size(), vector<int>());
  if (phase_ == TRAIN || !param.force_backward()) FindFusions();
  if (phase_ == TEST && !param.force_backward()) FindJoinedLayers();
  debug_info_ = param.debug_info();
  PlanActivations(/*share=*/phase_ == TEST && !param.force_backward() && !debug_info_);
  global_grad_scale_ = param.global_grad_scale();
  LOG_IF(INFO, Caffe::root_solver()) << "Network initialization done.";
}

template <typename Dtype>
void Net<Dtype>::AddLayers(NetParameter* param) {
  const vector<LayerTypes> types = ResolveTypes(*param, kElementType<Dtype>);
  const limits::NetBytes counted(phase_ == TRAIN ? 2 : 1);
  Connections connections;
  for (int i = 0; i < param->layer_size(); ++i) {
    LayerParameter& layer = *param->mutable_layer(i);
    if (!layer.has_phase()) layer.set_phase(phase_);
    WithLayer(layer, [&] {
      CheckMultipliers(layer);
      AddLayer(layer, types[i], &connections);
    });
  }
  for (const string& name : connections.available) {
    LOG_IF(INFO, Caffe::root_solver()) << "This network produces output " << name;
    const int id = connections.newest_id.at(name);
    net_output_blobs_.push_back(blobs_[id].get());
    net_output_blob_indices_.push_back(id);
  }
}

template <typename Dtype>
void Net<Dtype>::AddLayer(const LayerParameter& layer_param, const LayerTypes& types,
                          Connections* connections) {
  layers_.push_back(LayerRegistry<Dtype>::CreateLayer(layer_param));
  Layer<Dtype>& layer = *layers_.back();
  layer.set_types(types);
  layer_names_.push_back(layer_param.name());
  LOG_IF(INFO, Caffe::root_solver()) << "Creating Layer " << layer_param.name();
  if (types != LayerTypes::All(kElementType<Dtype>)) {
    LOG_IF(INFO, Caffe::root_solver())
        << layer_param.name() << " has types " << types << ", math " << Name(types.forward_math)
        << "/" << Name(types.backward_math);
  }
  for (auto* ids : {&bottom_id_vecs_, &top_id_vecs_, &param_id_vecs_}) ids->emplace_back();
  bottom_vecs_.emplace_back();
  top_vecs_.emplace_back();
  bottom_need_backward_.emplace_back();

  bool need_backward = false;
  for (int i = 0; i < layer_param.bottom_size(); ++i) {
    need_backward |= blob_need_backward_[AppendBottom(layer_param, i, connections)];
  }
  int tops = layer_param.top_size();
  if (layer.AutoTopBlobs()) {
    tops = std::max({tops, layer.MinTopBlobs(), layer.ExactNumTopBlobs()});
  }
  for (int i = 0; i < tops; ++i) AppendTop(layer_param, i, types, connections);

  layer.SetUp(bottom_vecs_.back(), top_vecs_.back());
  LogLayer(layers_.size() - 1);
  AppendParams(layer.layer_param());  // SetUp may have frozen statistics
  // Fillers wrote Dtype, and those pointers are held no longer. At once: a FLOAT16 net is never
  // in memory in float as a whole.
  for (const auto& param : layer.blobs()) param->data_tensor().ForgetPointers();
  TrimParameters();
  for (size_t i = 0; i < layer.blobs().size(); ++i) need_backward |= layer.param_propagate_down(i);
  layer_need_backward_.push_back(need_backward);
  if (!need_backward) return;
  for (const int id : top_id_vecs_.back()) blob_need_backward_[id] = true;
}

template <typename Dtype>
int Net<Dtype>::AppendBottom(const LayerParameter& layer, int bottom_id, Connections* connections) {
  const string& name = layer.bottom(bottom_id);
  LOG_IF(INFO, Caffe::root_solver()) << layer.name() << " <- " << name;
  const int id = connections->newest_id.at(name);
  connections->available.erase(name);
  bottom_vecs_.back().push_back(blobs_[id].get());
  bottom_id_vecs_.back().push_back(id);
  const bool propagates = layer.propagate_down_size() > 0
                              ? layer.propagate_down(bottom_id)
                              : static_cast<bool>(blob_need_backward_[id]);
  bottom_need_backward_.back().push_back(propagates);
  return id;
}

// An in-place layer's top is its bottom's blob, unless the layer cannot work in place or its own
// fields ask for another type than the blob has: then the blob before it gets another name, but an
// input keeps the one by which it is fed. Tops beyond those the layer names are anonymous and
// cannot be read.
template <typename Dtype>
void Net<Dtype>::AppendTop(const LayerParameter& layer, int top_id, const LayerTypes& types,
                           Connections* connections) {
  const bool anonymous = top_id >= layer.top_size();
  const string name = anonymous ? "(automatic)" : layer.top(top_id);
  const bool overwrites =
      !anonymous && top_id < layer.bottom_size() && name == layer.bottom(top_id);
  int id = overwrites ? connections->newest_id.at(name) : -1;
  const bool in_place = overwrites && WorksInPlace(layer, top_id, types, *blobs_[id]);
  LOG_IF(INFO, Caffe::root_solver())
      << layer.name() << " -> " << name << (in_place ? " (in-place)" : "")
      << (overwrites && !in_place ? " (a tensor of its own)" : "");
  if (!in_place) {
    Require(overwrites || anonymous || !connections->newest_id.count(name), "Top blob '", name,
            "' produced by multiple sources", Error::Remedy{"rename it"});
    const bool is_fed = std::any_of(net_input_blob_indices_.begin(), net_input_blob_indices_.end(),
                                    [&](int input) { return blob_names_[input] == name; });
    if (overwrites && !is_fed) blob_names_[id] = name + "_before_" + layer.name();
    id = AddBlob(overwrites && is_fed ? name + "_after_" + layer.name() : name);
    const Operation* operation = OperationTable::Find(layer.type());
    if (!IsLossTop(layer, top_id) && !(operation && operation->IsFloatTop(top_id))) {
      blobs_[id]->set_data_type(types.forward_type);
      blobs_[id]->set_diff_type(types.backward_type);
    }
  }
  top_vecs_.back().push_back(blobs_[id].get());
  top_id_vecs_.back().push_back(id);
  if (anonymous) return;
  connections->newest_id[name] = id;
  connections->available.insert(name);
  if (layer.type() == "Input") {
    net_input_blob_indices_.push_back(id);
    net_input_blobs_.push_back(blobs_[id].get());
  }
}

template <typename Dtype>
int Net<Dtype>::AddBlob(const string& name) {
  blobs_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>()));
  blob_names_.push_back(name);
  blob_need_backward_.push_back(false);
  blob_loss_weights_.push_back(Dtype(0));
  return static_cast<int>(blobs_.size()) - 1;
}

template <typename Dtype>
bool Net<Dtype>::WorksInPlace(const LayerParameter& layer, int top_id, const LayerTypes& types,
                              const Blob<Dtype>& bottom) const {
  const Operation* operation = OperationTable::Find(layer.type());
  if (operation && !operation->in_place) return false;
  if (top_id != 0) return true;
  return (!layer.has_forward_type() || types.forward_type == bottom.data_type()) &&
         (!layer.has_backward_type() || types.backward_type == bottom.diff_type());
}

template <typename Dtype>
void Net<Dtype>::LogLayer(int layer_id) {
  const Layer<Dtype>& layer = *layers_[layer_id];
  LOG_IF(INFO, Caffe::root_solver()) << "Setting up " << layer_names_[layer_id];
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    Blob<Dtype>& top = *top_vecs_[layer_id][i];
    blob_loss_weights_[top_id_vecs_[layer_id][i]] = layer.loss(i);
    LOG_IF(INFO, Caffe::root_solver()) << "Top shape: " << top.shape_string();
    if (layer.loss(i) != Dtype(0)) {
      LOG_IF(INFO, Caffe::root_solver()) << "    with loss weight " << layer.loss(i);
      top.set_data_type(kElementType<Dtype>);
      top.set_diff_type(kElementType<Dtype>);
    }
    memory_used_ += top.count() * SizeOf(top.data_type());
  }
  LOG_IF(INFO, Caffe::root_solver()) << "Memory required for data: " << memory_used_;
  const Operation* operation = OperationTable::Find(layer.layer_param().type());
  const bool on_cpu = Caffe::mode() == Caffe::GPU && operation && !operation->cpu_only.empty();
  LOG_IF(INFO, on_cpu && Caffe::root_solver()) << layer_names_[layer_id] << " (" << operation->type
                                               << ") runs on the CPU: " << operation->cpu_only;
}

template <typename Dtype>
void Net<Dtype>::AppendParams(const LayerParameter& layer_param) {
  Layer<Dtype>& layer = *layers_.back();
  const int blobs = static_cast<int>(layer.blobs().size());
  Require(layer_param.param_size() <= blobs, "Too many params specified for layer ",
          layer_param.name(), ": param is given ", layer_param.param_size(),
          " times, and the layer has ", blobs, " parameter(s)");
  for (int i = 0; i < blobs; ++i) {
    const float lr_mult = i < layer_param.param_size() ? layer_param.param(i).lr_mult() : 1;
    layer.set_param_propagate_down(i, lr_mult != 0);
    AppendParam(layer_param, i);
  }
}

template <typename Dtype>
void Net<Dtype>::AppendParam(const LayerParameter& layer, int param_id) {
  const ParamSpec spec = param_id < layer.param_size() ? layer.param(param_id) : ParamSpec();
  const int id = static_cast<int>(params_.size());
  params_.push_back(layers_.back()->blobs()[param_id]);
  param_id_vecs_.back().push_back(id);
  param_layer_indices_.emplace_back(layers_.size() - 1, param_id);
  param_display_names_.push_back(spec.name().empty() ? std::to_string(param_id) : spec.name());
  const auto owner = param_names_index_.find(spec.name());
  if (!spec.name().empty() && owner != param_names_index_.end()) {
    return AppendSharedParam(layer, param_id, owner->second);
  }
  if (!spec.name().empty()) param_names_index_[spec.name()] = id;
  param_owners_.push_back(-1);
  learnable_param_ids_.push_back(learnable_params_.size());
  learnable_params_.push_back(params_[id].get());
  has_params_lr_.push_back(spec.has_lr_mult());
  has_params_decay_.push_back(spec.has_decay_mult());
  params_lr_.push_back(spec.lr_mult());
  params_weight_decay_.push_back(spec.decay_mult());
}

namespace {

/// A multiplier that one of several layers sharing a parameter may state; all that do must agree.
template <typename Flags>
void MergeMultiplier(const string& param, const char* field, bool stated, float value,
                     typename Flags::reference has, float* merged) {
  if (!stated) return;
  Require(!has || *merged == value, "Shared param '", param, "' has mismatched ", field,
          ".: ", value, " here, ", *merged, " in an earlier layer");
  has = true;
  *merged = value;
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::AppendSharedParam(const LayerParameter& layer, int param_id, int owner) {
  const ParamSpec& spec = layer.param(param_id);
  const Blob<Dtype>& blob = *params_.back();
  const Blob<Dtype>& owner_blob = *params_[owner];
  const string& owner_layer = layer_names_[param_layer_indices_[owner].first];
  LOG_IF(INFO, Caffe::root_solver())
      << "Sharing parameters '" << spec.name() << "' owned by layer '" << owner_layer
      << "', param index " << param_layer_indices_[owner].second;
  const bool permissive = spec.share_mode() == ParamSpec_DimCheckMode_PERMISSIVE;
  const bool fits =
      permissive ? blob.count() == owner_blob.count() : blob.shape() == owner_blob.shape();
  Require(fits, "Cannot share param '", spec.name(), "' owned by layer '", owner_layer,
          "' with layer '", layer.name(), "'; ", permissive ? "count" : "shape",
          " mismatch.  Owner layer param shape is ", owner_blob.shape_string(),
          "; sharing layer expects shape ", blob.shape_string(),
          permissive ? "" : ". With share_mode: PERMISSIVE only the counts have to agree");
  const int learnable = learnable_param_ids_[owner];
  param_owners_.push_back(owner);
  learnable_param_ids_.push_back(learnable);
  MergeMultiplier<vector<bool>>(spec.name(), "lr_mult", spec.has_lr_mult(), spec.lr_mult(),
                                has_params_lr_[learnable], &params_lr_[learnable]);
  MergeMultiplier<vector<bool>>(spec.name(), "decay_mult", spec.has_decay_mult(), spec.decay_mult(),
                                has_params_decay_[learnable], &params_weight_decay_[learnable]);
}

// From the last layer to the first: a layer runs backward if something below it needs a gradient
// and something above it is a loss.
template <typename Dtype>
void Net<Dtype>::FindBackward() {
  vector<bool> under_loss(blobs_.size()), skipped(blobs_.size());
  for (int i = static_cast<int>(layers_.size()) - 1; i >= 0; --i) {
    const vector<int>& tops = top_id_vecs_[i];
    const vector<int>& bottoms = bottom_id_vecs_[i];
    bool contributes = false;
    bool all_skipped = true;
    for (size_t j = 0; j < tops.size(); ++j) {
      contributes |= layers_[i]->loss(j) != Dtype(0) || under_loss[tops[j]];
      all_skipped &= skipped[tops[j]];
    }
    if (layer_need_backward_[i] && all_skipped) {
      bottom_need_backward_[i].assign(bottoms.size(), false);
      layer_need_backward_[i] = false;
    }
    if (!contributes) layer_need_backward_[i] = false;
    LOG_IF(INFO, Caffe::root_solver())
        << layer_names_[i]
        << (layer_need_backward_[i] ? " needs backward computation."
                                    : " does not need backward computation.");
    for (size_t j = 0; j < bottoms.size(); ++j) {
      if (contributes) {
        under_loss[bottoms[j]] = true;
      } else {
        bottom_need_backward_[i][j] = false;
      }
      if (!bottom_need_backward_[i][j]) skipped[bottoms[j]] = true;
    }
  }
}

template <typename Dtype>
void Net<Dtype>::ForceBackward() {
  for (size_t i = 0; i < layers_.size(); ++i) {
    layer_need_backward_[i] = true;
    layers_[i]->set_force_backward(true);
    for (size_t j = 0; j < bottom_vecs_[i].size(); ++j) {
      const bool needs = bottom_need_backward_[i][j] || layers_[i]->AllowForceBackward(j);
      bottom_need_backward_[i][j] = needs;
      if (needs) blob_need_backward_[bottom_id_vecs_[i][j]] = true;
    }
    for (size_t j = 0; j < layers_[i]->blobs().size(); ++j) {
      layers_[i]->set_param_propagate_down(j, true);
    }
  }
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
