// Loading, sharing and saving the parameters of a net.
#include <algorithm>
#include <map>

#include "activation_memory.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/finite_weights.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/io/weight_source.hpp"
#include "caffe/net.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

/// Finds a net's layers for those of another one, by their names: layers of one name in turn, and
/// the last of them for all that are left.
class LayersInTurn {
 public:
  explicit LayersInTurn(const vector<string>& names) {
    for (size_t i = 0; i < names.size(); ++i) layers_[names[i]].push_back(static_cast<int>(i));
  }
  /// -1, which is logged, if there is none.
  int Next(const string& name) {
    const auto found = layers_.find(name);
    if (found == layers_.end()) {
      LOG_IF(INFO, Caffe::root_solver()) << "Ignoring source layer " << name;
      return -1;
    }
    DLOG(INFO) << "Copying source layer " << name;
    return found->second[std::min(seen_[name]++, found->second.size() - 1)];
  }

 private:
  std::map<string, vector<int>> layers_;
  std::map<string, size_t> seen_;
};

/// What is wrong with the stored parameters of a layer, and what to do.
template <typename... Parts>
[[noreturn]] void FailToCopy(const string& layer, const Parts&... parts) {
  const string remedy =
      "To learn this layer's parameters from scratch rather than copying from a saved net, rename "
      "the layer.";
  Error error(Join(parts..., ". ", remedy));
  error.Note(Error::Layer{layer});
  error.Note(Error::Remedy{remedy});
  throw error;
}

template <typename Dtype>
void LoadBlob(const StoredBlob& source, ElementType type, Blob<Dtype>* blob) {
  source.RequireComplete();
  source.ReadInto(blob->data_tensor().overwrite_cpu_data(type), type);
  if (!source.diff.empty()) {
    source.ReadDiffInto(blob->mutable_cpu_diff(), kElementType<Dtype>);
  }
}

template <typename Dtype>
void SetValues(const vector<float>& values, const string& layer, const char* what,
               Blob<Dtype>* blob) {
  if (static_cast<size_t>(blob->count()) != values.size()) {
    FailToCopy(layer, "Cannot copy the ", what, " of batch normalization '", layer,
               "': the stored one has ", values.size(), " elements, the net's has ", blob->count());
  }
  std::copy(values.begin(), values.end(), blob->template overwrite_cpu_data_as<Dtype>());
}

template <typename Dtype>
void AddReplaced(Layer<Dtype>* layer, ActivationMemory* activations) {
  for (const auto& blob : layer->blobs()) activations->AddReplaced(&blob->data_tensor());
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const NetParameter& param) {
  if (!NetNeedsUpgrade(param)) return CopyLayers(StoredLayersOf(param));
  NetParameter upgraded(param);
  UpgradeNetAsNeeded("", &upgraded);
  CopyLayers(StoredLayersOf(upgraded));
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const string& trained_filename) {
  if (IsHdf5File(trained_filename)) {
    CopyTrainedLayersFromHDF5(trained_filename);
  } else {
    CopyTrainedLayersFromBinaryProto(trained_filename);
  }
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string& trained_filename) {
  const CaffemodelReader reader(trained_filename);
  WithFile(trained_filename, [&] { CopyLayers(reader.layers()); });
}

template <typename Dtype>
void Net<Dtype>::CopyLayers(const vector<StoredLayer>& sources) {
  LayersInTurn targets(layer_names_);
  set<int> copied;
  bool quantized = false;
  for (const StoredLayer& source : sources) {
    const string& name = source.param.name();
    const int target = targets.Next(name);
    quantized = quantized || (target < 0 && source.param.type() == "FakeQuantization");
    if (target < 0) continue;
    AddReplaced(layers_[target].get(), activations_.get());
    CopyLayer(sources, source, target);
    WarnOfNotFinite(name, layers_[target]->blobs());
    copied.insert(target);
  }
  LOG_IF(WARNING, quantized && !quantized_training_ && phase_ == TRAIN && Caffe::root_solver())
      << "The weights were trained for integers, and this net trains them in floats: -quantize, or "
      << "quantized_training in the prototxt, goes on with that";
  LogLayersWithout(copied);
  TrimParameters();
}

template <typename Dtype>
void Net<Dtype>::LogLayersWithout(const set<int>& copied) const {
  vector<string> without;
  size_t with_parameters = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i]->blobs().empty()) continue;
    ++with_parameters;
    if (!copied.count(static_cast<int>(i))) without.push_back(layer_names_[i]);
  }
  if (without.empty()) return;
  const bool none = without.size() == with_parameters;
  LOG_IF(WARNING, none) << "No layer of the net '" << name_ << "' has trained weights there: do "
                        << "the layers' names agree?";
  LOG_IF(INFO, !none && Caffe::root_solver())
      << "Layers without trained weights there keep what they had: " << Listed(without);
}

// Fillers' values give way to the stored ones in the type that is kept.
template <typename Dtype>
ElementType Net<Dtype>::LoadType(int param_id) const {
  const Blob<Dtype>& blob = *params_[param_id];
  const bool as_dtype = HasMaster(param_id) || blob.data_tensor().handed_out(kElementType<Dtype>);
  return as_dtype ? kElementType<Dtype> : blob.data_type();
}

template <typename Dtype>
void Net<Dtype>::CopyLayer(const vector<StoredLayer>& sources, const StoredLayer& source,
                           int layer_id) {
  if (CopyBatchNorm(sources, source, layer_id)) return;
  const string& name = source.param.name();
  const vector<shared_ptr<Blob<Dtype>>>& targets = layers_[layer_id]->blobs();
  if (targets.size() != source.blobs.size()) {
    FailToCopy(name, "Incompatible number of blobs for layer ", name, ": the stored layer has ",
               source.blobs.size(), ", the net's has ", targets.size());
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!StoredShapeFits(source.blobs[i], targets[i]->shape())) {
      FailToCopy(name, "Cannot copy param ", i, " weights from layer '", name,
                 "'; shape mismatch.  Source param shape is ", StoredShapeString(source.blobs[i]),
                 "; target param shape is ", targets[i]->shape_string());
    }
    LoadBlob(source.blobs[i], LoadType(param_id_vecs_[layer_id][i]), targets[i].get());
  }
}

// Handles what is stored in another form of batch normalization than the net's layer has.
template <typename Dtype>
bool Net<Dtype>::CopyBatchNorm(const vector<StoredLayer>& sources, const StoredLayer& source,
                               int layer_id) {
  const Layer<Dtype>& layer = *layers_[layer_id];
  vector<shared_ptr<Blob<Dtype>>>& targets = layers_[layer_id]->blobs();
  const size_t stored = source.blobs.size();
  if (layer.layer_param().type() != "BatchNorm" || (targets.size() != 3 && targets.size() != 5) ||
      (stored != 3 && stored != 5)) {
    return false;
  }
  if (stored == targets.size() && !IsStoredInDigitsOrder(source)) return false;

  const string& name = source.param.name();
  const StoredLayer* scale = stored == 3 ? StoredScaleAfter(sources, source) : nullptr;
  if (scale && has_layer(scale->param.name())) scale = nullptr;  // the net has it for itself
  const BatchNormBlobs blobs = StoredBatchNorm(source, scale);
  SetValues(blobs.mean, name, "mean", targets[0].get());
  SetValues(blobs.variance, name, "variance", targets[1].get());
  SetValues({1.f}, name, "factor", targets[2].get());
  if (targets.size() == 5) {
    SetValues(blobs.scale, name, "scale", targets[3].get());
    SetValues(blobs.bias, name, "bias", targets[4].get());
  } else {
    CopyScaleAndBias(sources, blobs, layer_id);
  }
  return true;
}

// The scale and bias of a BatchNorm with five blobs, for a net in which a Scale layer has them.
template <typename Dtype>
void Net<Dtype>::CopyScaleAndBias(const vector<StoredLayer>& sources, const BatchNormBlobs& blobs,
                                  int layer_id) {
  const auto all = [](const vector<float>& values, float value) {
    return std::all_of(values.begin(), values.end(), [value](float v) { return v == value; });
  };
  const string& name = layer_names_[layer_id];
  Layer<Dtype>* scale = ScaleAfter(layer_id);
  if (!scale) {
    Require(
        all(blobs.scale, 1) && all(blobs.bias, 0), "the stored layer '", name,
        "' has a scale and a bias, which the net's BatchNorm has not: give it ",
        "batch_norm_param { scale_bias: true }, or a Scale layer with bias_term: true after it");
    return;
  }
  const string& scale_name = scale->layer_param().name();
  for (const StoredLayer& source : sources) {
    Require(source.param.name() != scale_name || source.blobs.empty(), "the stored layer '", name,
            "' has a scale and a bias, and so has the stored layer '", scale_name, "'",
            Error::Remedy{"give the net's BatchNorm batch_norm_param { scale_bias: true }"});
  }
  LOG(INFO) << "The scale and bias of source layer " << name << " go to layer " << scale_name;
  AddReplaced(scale, activations_.get());
  SetValues(blobs.scale, name, "scale", scale->blobs()[0].get());
  if (scale->blobs().size() > 1) {
    SetValues(blobs.bias, name, "bias", scale->blobs()[1].get());
  } else {
    Require(all(blobs.bias, 0), "the stored layer '", name, "' has a bias, which layer '",
            scale_name, "' has not", Error::Remedy{"give it scale_param { bias_term: true }"});
  }
}

// The Scale layer with parameters of its own that reads what the layer makes, or nullptr.
template <typename Dtype>
Layer<Dtype>* Net<Dtype>::ScaleAfter(int layer_id) const {
  const int top = top_id_vecs_[layer_id].at(0);
  for (size_t i = layer_id + 1; i < layers_.size(); ++i) {
    const bool reads = bottom_id_vecs_[i].size() == 1 && bottom_id_vecs_[i][0] == top;
    if (reads && layers_[i]->layer_param().type() == "Scale" && !layers_[i]->blobs().empty()) {
      return layers_[i].get();
    }
  }
  return nullptr;
}

template <typename Dtype>
void Net<Dtype>::ShareTrainedLayersWith(const Net* other) {
  LayersInTurn in_turn(layer_names_);
  for (size_t i = 0; i < other->layers_.size(); ++i) {
    const string& name = other->layer_names_[i];
    const int target = in_turn.Next(name);
    if (target < 0) continue;
    const auto& sources = other->layers_[i]->blobs();
    const auto& targets = layers_[target]->blobs();
    Require(targets.size() == sources.size(), "Incompatible number of blobs for layer ", name, ": ",
            sources.size(), " in the other net, ", targets.size(), " here");
    for (size_t j = 0; j < targets.size(); ++j) {
      Require(sources[j]->shape() == targets[j]->shape(), "Cannot share param ", j,
              " weights from layer '", name, "'; shape mismatch.  Source param shape is ",
              sources[j]->shape_string(), "; target param shape is ", targets[j]->shape_string());
      if (&targets[j]->data_tensor() == &sources[j]->data_tensor()) continue;
      targets[j]->ShareData(*sources[j]);
      activations_->AddReplaced(&targets[j]->data_tensor());
    }
    shares_parameters_ = true;
  }
}

template <typename Dtype>
void Net<Dtype>::ToProto(NetParameter* param, bool write_diff) const {
  param->Clear();
  param->set_name(name_);
  DLOG(INFO) << "Serializing " << layers_.size() << " layers";
  for (const shared_ptr<Layer<Dtype>>& layer : layers_) {
    layer->ToProto(param->add_layer(), write_diff);
  }
}

template <typename Dtype>
void Net<Dtype>::ToBinaryProto(const string& filename, bool write_diff, bool raw) const {
  NetParameter net;
  net.set_name(name_);
  CaffemodelWriter writer(filename, net,
                          raw ? CaffemodelWriter::Form::RAW : CaffemodelWriter::Form::BVLC);
  for (size_t i = 0; i < layers_.size(); ++i) {
    LayerParameter param = layers_[i]->layer_param();
    param.clear_blobs();
    vector<BlobSource> blobs;
    for (size_t j = 0; j < layers_[i]->blobs().size(); ++j) {
      const Blob<Dtype>& blob = *layers_[i]->blobs()[j];
      const bool declared = raw && !HasMaster(param_id_vecs_[i][j]);
      BlobSource source;
      source.shape.assign(blob.shape().begin(), blob.shape().end());
      source.type = declared ? blob.data_type() : blob.data_tensor().newest_type();
      source.data = blob.data_tensor().cpu_data(source.type);
      if (write_diff) source.diff = blob.diff_tensor().cpu_data(source.type);
      blobs.push_back(source);
    }
    writer.WriteLayer(param, blobs);
  }
  writer.Finish();
}

template class Net<float>;
template class Net<double>;

}  // namespace caffe
