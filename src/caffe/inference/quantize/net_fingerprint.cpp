#include "caffe/inference/net_fingerprint.hpp"

#include <google/protobuf/message.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/operation.hpp"

namespace caffe {
namespace {

/// A running 64-bit hash of bytes, eight at a time.
class Hash {
 public:
  void Add(const void* bytes, size_t size) {
    const char* next = static_cast<const char*>(bytes);
    Mix(size);
    for (; size >= sizeof(uint64_t); next += sizeof(uint64_t), size -= sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, next, sizeof(word));
      Mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, next, size);
    Mix(rest);
  }
  void Add(const std::string& text) { Add(text.data(), text.size()); }
  uint64_t value() const { return value_; }

 private:
  // As in splitmix64 (Steele, Lea and Flood 2014): a bijection in which every bit reaches all.
  void Mix(uint64_t word) {
    uint64_t x = (value_ ^ word) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    value_ = x ^ (x >> 31);
  }

  uint64_t value_ = 0;
};

bool Counts(const LayerParameter& layer) {
  if (layer.type() == "Softmax" || layer.type() == "Accuracy" || layer.type() == "Split" ||
      layer.type() == "Silence") {
    return false;
  }
  const Operation& row = OperationTable::Of(layer.type());
  return !(row.source || row.loss || inference::IsTestIdentity(layer));
}

// Removes fields that have no influence on a forward pass, at every depth.
void ClearTraining(google::protobuf::Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const auto* field : fields) {
    const bool nested = field->message_type() != nullptr;
    if (field->name() == "engine" ||
        (nested && field->message_type()->name() == "FillerParameter")) {
      reflection.ClearField(message, field);
    } else if (nested && !field->is_repeated()) {
      google::protobuf::Message* inner = reflection.MutableMessage(message, field);
      ClearTraining(inner);
      if (inner->ByteSizeLong() == 0) reflection.ClearField(message, field);  // as if never set
    }
  }
}

// Without fields that have no influence on the forward pass in FLOAT. Bottoms and tops by the names
// in the net's file: the net's own Splits are taken back.
LayerParameter Essence(const LayerParameter& layer) {
  static const std::set<std::string> kept = {"name", "type", "bottom", "top"};
  LayerParameter essence = layer;
  const google::protobuf::Reflection& reflection = *essence.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(essence, &fields);
  for (const auto* field : fields) {
    // Layers' parameters are separate messages; everything else is about training or types.
    const bool of_type = field->message_type() != nullptr && !field->is_repeated() &&
                         field->name() != "transform_param" && field->name() != "loss_param";
    if (!of_type && kept.count(field->name()) == 0) reflection.ClearField(&essence, field);
  }
  ClearTraining(&essence);
  return essence;
}

}  // namespace

NetFingerprint FingerprintOf(const Net<float>& net) {
  Hash layers, weights;
  std::map<std::string, std::string> sources;  // of tops of Splits: what was split
  for (const auto& layer : net.layers()) {
    const LayerParameter& param = layer->layer_param();
    if (param.type() == "Split" && param.bottom_size() == 1) {
      for (const std::string& top : param.top()) {
        const auto source = sources.find(param.bottom(0));
        sources[top] = source == sources.end() ? param.bottom(0) : source->second;
      }
    }
    if (!Counts(param)) continue;
    LayerParameter essence = Essence(param);
    for (std::string& bottom : *essence.mutable_bottom()) {
      const auto source = sources.find(bottom);
      if (source != sources.end()) bottom = source->second;
    }
    layers.Add(essence.SerializeAsString());
    for (const auto& blob : layer->blobs()) {
      weights.Add(blob->cpu_data_as<float>(), sizeof(float) * static_cast<size_t>(blob->count()));
    }
  }
  return {layers.value(), weights.value()};
}

}  // namespace caffe
