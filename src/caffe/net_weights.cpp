// Trained weights into a net and out of it.
#include <algorithm>

#include "caffe/io/batch_norm_forms.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/net.hpp"
#include "caffe/util/blob_payload.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {
namespace {

string Extents(const vector<int64_t>& shape) {
  std::ostringstream stream;
  for (int64_t extent : shape) stream << extent << " ";
  return stream.str();
}

/// True if a stored shape is `shape`, or `shape` with ones in front (the old four axes).
bool ShapeFits(const vector<int64_t>& stored, const vector<int>& shape) {
  if (stored.size() < shape.size()) return false;
  const size_t extra = stored.size() - shape.size();
  if (extra > 0 && stored.size() != 4) return false;
  return std::all_of(stored.begin(), stored.begin() + extra, [](int64_t e) { return e == 1; }) &&
         std::equal(shape.begin(), shape.end(), stored.begin() + extra);
}

vector<float> Floats(const StoredBlob& blob) {
  vector<float> values(blob.ShapeCount());
  blob.ReadInto(values.data(), ElementType::FLOAT);
  return values;
}

template <typename Dtype>
void Put(const vector<float>& values, Blob<Dtype>* blob) {
  Require(static_cast<size_t>(blob->count()) == values.size(), "the stored blob has ",
          values.size(), " values where the layer has ", blob->count());
  std::copy(values.begin(), values.end(), blob->template overwrite_cpu_data_as<Dtype>());
}

/// The BatchNorm of a stored layer with its scale and bias, which NVCaffe keeps in the layer and
/// BVLC in a Scale layer behind it.
BatchNormBlobs StoredBatchNorm(const StoredLayer& layer, const StoredLayer* next) {
  vector<vector<float>> blobs;
  for (const StoredBlob& blob : layer.blobs) blobs.push_back(Floats(blob));
  if (blobs.size() == 5) {
    return FromNvcaffeBatchNorm({blobs[0], blobs[1], blobs[2], blobs[3], blobs[4]});
  }
  vector<float> scale, bias;
  const bool has_scale = next && next->param.type() == "Scale" && !next->blobs.empty() &&
                         next->param.bottom_size() > 0 && layer.param.top_size() > 0 &&
                         next->param.bottom(0) == layer.param.top(0);
  if (has_scale) {
    scale = Floats(next->blobs[0]);
    if (next->blobs.size() > 1) bias = Floats(next->blobs[1]);
  }
  return FromBvlcBatchNorm(blobs[0], blobs[1], blobs[2].at(0), scale, bias);
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::ShareTrainedLayersWith(const Net* other) {
  for (size_t i = 0; i < other->layers().size(); ++i) {
    const string& name = other->layer_names()[i];
    const auto target = layer_names_index_.find(name);
    if (target == layer_names_index_.end()) {
      LOG(INFO) << "Ignoring source layer " << name;
      continue;
    }
    DLOG(INFO) << "Copying source layer " << name;
    const auto& source_blobs = other->layers()[i]->blobs();
    auto& target_blobs = layers_[target->second]->blobs();
    Require(target_blobs.size() == source_blobs.size(), "Cannot share the parameters of layer '",
            name, "': it has ", target_blobs.size(), " parameter blob(s) here and ",
            source_blobs.size(), " in the other net");
    for (size_t j = 0; j < target_blobs.size(); ++j) {
      Require(source_blobs[j]->shape() == target_blobs[j]->shape(), "Cannot share param ", j,
              " weights from layer '", name, "'; shape mismatch.  Source param shape is ",
              source_blobs[j]->shape_string(), "; target param shape is ",
              target_blobs[j]->shape_string());
      target_blobs[j]->ShareData(*source_blobs[j]);
    }
  }
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const NetParameter& param) {
  // The message's bytes are read as a file's would be.
  vector<string> encoded;
  vector<StoredLayer> layers;
  for (const LayerParameter& layer : param.layer()) {
    StoredLayer stored;
    stored.param.CopyFrom(layer);
    stored.param.clear_blobs();
    for (const BlobProto& blob : layer.blobs()) {
      encoded.push_back(blob.SerializeAsString());
    }
    layers.push_back(std::move(stored));
  }
  size_t next = 0;
  for (int i = 0; i < param.layer_size(); ++i) {
    for (int j = 0; j < param.layer(i).blobs_size(); ++j, ++next) {
      layers[i].blobs.push_back(ParseStoredBlob(
          reinterpret_cast<const uint8_t*>(encoded[next].data()), encoded[next].size(),
          Join("layer '", param.layer(i).name(), "', blob ", j)));
    }
  }
  CopyStoredLayers(layers);
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFrom(const string& trained_filename) {
  const string suffix = ".h5";
  if (trained_filename.size() >= suffix.size() &&
      trained_filename.compare(trained_filename.size() - suffix.size(), suffix.size(), suffix) ==
          0) {
    CopyTrainedLayersFromHDF5(trained_filename);
  } else {
    CopyTrainedLayersFromBinaryProto(trained_filename);
  }
}

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string& trained_filename) {
  CaffemodelReader reader(trained_filename);
  if (reader.upgraded()) {
    LOG(INFO) << "Attempting to upgrade input file specified using deprecated "
              << "V1LayerParameter: " << trained_filename;
    LOG(INFO) << "Successfully upgraded file specified using deprecated V1LayerParameter";
  }
  CopyStoredLayers(reader.layers());
}

template <typename Dtype>
void Net<Dtype>::CopyStoredLayers(const vector<StoredLayer>& layers) {
  vector<string> ignored;
  bool copied = false;
  for (size_t i = 0; i < layers.size(); ++i) {
    const string& name = layers[i].param.name();
    const auto target = layer_names_index_.find(name);
    if (target == layer_names_index_.end()) {
      LOG(INFO) << "Ignoring source layer " << name;
      continue;
    }
    DLOG(INFO) << "Copying source layer " << name;
    copied = true;
    CopyStoredLayer(layers[i], i + 1 < layers.size() ? &layers[i + 1] : nullptr, target->second);
  }
  LOG_IF(WARNING, !copied) << "No layer of the weights has the name of a layer of net '" << name_
                           << "': nothing was copied";
  SettleParameters();
}

template <typename Dtype>
void Net<Dtype>::CopyStoredLayer(const StoredLayer& source, const StoredLayer* next, int target) {
  auto& blobs = layers_[target]->blobs();
  const string& name = layer_names_[target];
  const bool batch_norm = string(layers_[target]->type()) == "BatchNorm";
  const size_t stored = source.blobs.size();
  if (batch_norm && blobs.size() == 5 && (stored == 3 || stored == 5)) {
    const auto converted = ToNvcaffeBatchNorm(StoredBatchNorm(source, next));
    for (size_t j = 0; j < 5; ++j) Put(converted[j], blobs[j].get());
    return;
  }
  if (batch_norm && blobs.size() == 3 && stored == 5) {
    // Scale and bias go to the Scale layer that takes this one's top.
    const BatchNormBlobs all = StoredBatchNorm(source, nullptr);
    Put(all.mean, blobs[0].get());
    Put(all.variance, blobs[1].get());
    Put(vector<float>{1}, blobs[2].get());
    for (size_t i = target + 1; i < layers_.size(); ++i) {
      const bool takes_top = bottom_id_vecs_[i].size() == 1 &&
                             bottom_id_vecs_[i][0] == top_id_vecs_[target][0];
      if (string(layers_[i]->type()) != "Scale" || !takes_top) continue;
      auto& scale_blobs = layers_[i]->blobs();
      Put(all.scale, scale_blobs.at(0).get());
      if (scale_blobs.size() > 1) Put(all.bias, scale_blobs[1].get());
      return;
    }
    LOG(WARNING) << "layer '" << name << "': the weights have a scale and bias, which a Scale "
                 << "layer behind this BatchNorm would take; they are dropped";
    return;
  }
  Require(blobs.size() == stored, "Incompatible number of blobs for layer ", name, ": the weights ",
          "have ", stored, ", the net's layer has ", blobs.size(),
          "; rename the layer to leave its weights as they are");
  for (size_t j = 0; j < stored; ++j) {
    Require(ShapeFits(source.blobs[j].shape, blobs[j]->shape()), "Cannot copy param ", j,
            " weights from layer '", name, "'; shape mismatch.  Source param shape is ",
            Extents(source.blobs[j].shape), "(", source.blobs[j].ShapeCount(),
            "); target param shape is ", blobs[j]->shape_string(),
            ". To learn this layer's parameters from scratch rather than copying from a saved net, ",
            "rename the layer.");
    CopyStoredBlob(source.blobs[j], blobs[j].get());
  }
}

// Straight into the slot that is kept: the master of what is trained, else the storage type.
template <typename Dtype>
void Net<Dtype>::CopyStoredBlob(const StoredBlob& source, Blob<Dtype>* target) {
  const ElementType type = phase_ == TRAIN ? kElementType<Dtype> : target->data_type();
  source.RequireComplete();
  source.ReadInto(target->data_tensor().overwrite_cpu_data(type), type);
  if (!source.diff.empty()) {
    source.ReadDiffInto(target->diff_tensor().overwrite_cpu_data(kElementType<Dtype>),
                        kElementType<Dtype>);
  }
}

template <typename Dtype>
void Net<Dtype>::ToProto(NetParameter* param, bool write_diff) const {
  param->Clear();
  param->set_name(name_);
  for (const shared_ptr<Layer<Dtype>>& layer : layers_) layer->ToProto(param->add_layer(), write_diff);
}

template <typename Dtype>
void Net<Dtype>::ToBinaryProto(const string& filename, bool write_diff, bool raw) const {
  NetParameter header;
  header.set_name(name_);
  CaffemodelWriter writer(filename, header,
                          raw ? CaffemodelWriter::Form::RAW : CaffemodelWriter::Form::BVLC);
  for (const shared_ptr<Layer<Dtype>>& layer : layers_) {
    LayerParameter param(layer->layer_param());
    param.clear_blobs();
    vector<BlobSource> sources;
    for (const shared_ptr<Blob<Dtype>>& blob : layer->blobs()) {
      // BVLC's form keeps masters as they are; the raw one is in the storage type.
      const ElementType type = raw ? blob->data_type() : kElementType<Dtype>;
      BlobSource source;
      source.shape.assign(blob->shape().begin(), blob->shape().end());
      source.type = type;
      source.data = blob->data_tensor().cpu_data(type);
      source.diff = write_diff ? blob->diff_tensor().cpu_data(type) : nullptr;
      sources.push_back(source);
    }
    writer.WriteLayer(param, sources);
  }
  writer.Finish();
}

#define CAFFE_NET_WEIGHTS(Dtype)                                                          \
  template void Net<Dtype>::ShareTrainedLayersWith(const Net<Dtype>*);                    \
  template void Net<Dtype>::CopyTrainedLayersFrom(const NetParameter&);                   \
  template void Net<Dtype>::CopyTrainedLayersFrom(const string&);                         \
  template void Net<Dtype>::CopyTrainedLayersFromBinaryProto(const string&);              \
  template void Net<Dtype>::ToProto(NetParameter*, bool) const;                           \
  template void Net<Dtype>::ToBinaryProto(const string&, bool, bool) const
CAFFE_NET_WEIGHTS(float);
CAFFE_NET_WEIGHTS(double);
#undef CAFFE_NET_WEIGHTS

}  // namespace caffe
