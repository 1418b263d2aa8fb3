#include <climits>
#include <string>
#include <utility>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

using wire::Bytes;

/// A layer's encoding, taken apart: the blobs, and everything else.
struct SplitLayer {
  std::vector<Bytes> blobs;
  std::string rest;  // encoded
};

/// Everything but blobs of a layer is small; what is larger than this is not a layer of a net.
constexpr size_t kLargestParameters = 64 << 20;

/// Layers and blobs of a file. A damaged file could otherwise hold more headers than memory.
constexpr size_t kMaxParts = 1 << 18;

/// `blobs` and `name` are field numbers; `name` is noted as soon as it is met, for messages.
SplitLayer Split(Bytes layer, int blobs, int name_number, const uint8_t* base, std::string* name) {
  SplitLayer split;
  wire::Reader fields(layer, base);
  wire::Field field;
  while (fields.Next(&field)) {
    if (IsMessage(field, blobs)) {
      Require(split.blobs.size() < kMaxParts, "byte ", field.whole.begin - base,
              ": the layer has more than ", kMaxParts, " blobs; the file is damaged");
      split.blobs.push_back(field.content);
      continue;
    }
    if (IsMessage(field, name_number)) *name = String(field.content);
    Require(split.rest.size() + field.whole.size() <= kLargestParameters, "byte ",
            field.whole.begin - base, ": the layer's parameters are larger than ",
            kLargestParameters, " bytes; the file is damaged");
    split.rest += String(field.whole);
  }
  return split;
}

/// Reads what `Layer` knows in `encoded`; false if it does not parse.
template <typename Layer>
bool ParseParameters(const std::string& encoded, Layer* layer) {
  if (layer->ParsePartialFromString(encoded)) return true;
  layer->Clear();
  return false;
}

/// The string field `number` of an encoded message, or "".
std::string FindString(const std::string& encoded, int number) {
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(encoded.data());
  wire::Reader fields({begin, begin + encoded.size()}, begin);
  wire::Field field;
  std::string found;
  while (fields.Next(&field)) {
    if (IsMessage(field, number)) found = String(field.content);
  }
  return found;
}

LayerParameter ParseLayer(const std::string& encoded) {
  NetParameter net;
  LayerParameter* layer = net.add_layer();
  if (ParseParameters(encoded, layer)) {
    MoveForkFieldsAfterRead(&net);
  } else {
    layer->set_name(FindString(encoded, LayerParameter::kNameFieldNumber));
    layer->set_type(FindString(encoded, LayerParameter::kTypeFieldNumber));
  }
  return std::move(*layer);
}

LayerParameter UpgradeV1(const V1LayerParameter& v1) {
  NetParameter net;
  *net.add_layers() = v1;
  MoveForkFieldsAfterRead(&net);
  UpgradeNetDataTransformation(&net);
  UpgradeV1Net(NetParameter(net), &net);
  return std::move(*net.mutable_layer(0));
}

LayerParameter ParseV1Layer(const std::string& encoded) {
  V1LayerParameter v1;
  if (ParseParameters(encoded, &v1)) return UpgradeV1(v1);
  LayerParameter layer;
  layer.set_name(FindString(encoded, V1LayerParameter::kNameFieldNumber));
  return layer;
}

/// Padding layers, which have no upgrade of their own, keep their V0 type: they hold no blobs.
LayerParameter ParseV0Layer(const std::string& connection, const std::string& encoded) {
  V1LayerParameter v1;
  ParseParameters(connection, &v1);
  LayerParameter layer;
  V0LayerParameter* v0 = v1.mutable_layer();
  if (ParseParameters(encoded, v0) && v0->type() != "padding") {
    V1LayerParameter upgraded;
    UpgradeV0LayerParameter(v1, &upgraded);
    return UpgradeV1(upgraded);
  }
  *layer.mutable_bottom() = v1.bottom();
  *layer.mutable_top() = v1.top();
  layer.set_name(FindString(encoded, V0LayerParameter::kNameFieldNumber));
  layer.set_type(FindString(encoded, V0LayerParameter::kTypeFieldNumber));
  return layer;
}

/// Reads the layers of one file; keeps the layer being read for messages.
class LayerReader {
 public:
  explicit LayerReader(const MappedFile& file) : file_(file) {}

  StoredLayer Current(Bytes encoded) {
    const SplitLayer split = Split(encoded, LayerParameter::kBlobsFieldNumber,
                                   LayerParameter::kNameFieldNumber, file_.data(), &name_);
    return {ParseLayer(split.rest), Blobs(split.blobs)};
  }

  StoredLayer Old(Bytes encoded) {
    Bytes v0;
    wire::Reader fields(encoded, file_.data());
    wire::Field field;
    while (fields.Next(&field)) {
      if (IsMessage(field, V1LayerParameter::kLayerFieldNumber)) v0 = field.content;
    }
    if (v0.begin) return OldestOf(encoded, v0);
    const SplitLayer split = Split(encoded, V1LayerParameter::kBlobsFieldNumber,
                                   V1LayerParameter::kNameFieldNumber, file_.data(), &name_);
    return {ParseV1Layer(split.rest), Blobs(split.blobs)};
  }

  void StartLayer() { name_.clear(); }
  /// "layer 'conv1'", or "" between layers and before a name is known.
  std::string where() const { return name_.empty() ? "" : "layer '" + name_ + "'"; }

 private:
  StoredLayer OldestOf(Bytes encoded, Bytes v0) {
    const SplitLayer split = Split(v0, V0LayerParameter::kBlobsFieldNumber,
                                   V0LayerParameter::kNameFieldNumber, file_.data(), &name_);
    const SplitLayer connection =
        Split(encoded, V1LayerParameter::kLayerFieldNumber, 0, file_.data(), &name_);
    return {ParseV0Layer(connection.rest, split.rest), Blobs(split.blobs)};
  }

  std::vector<StoredBlob> Blobs(const std::vector<Bytes>& encoded) const {
    std::vector<StoredBlob> blobs;
    blobs.reserve(encoded.size());
    for (const Bytes& blob : encoded) {
      blobs.push_back(ParseStoredBlob(blob.begin, blob.size(), file_.path(),
                                      Join("layer '", name_, "', blob ", blobs.size()),
                                      file_.data()));
    }
    return blobs;
  }

  const MappedFile& file_;
  std::string name_;
};

}  // namespace

CaffemodelReader::CaffemodelReader(const std::string& file)
    : file_(std::make_shared<MappedFile>(file)) {
  ReadNet();
}

void CaffemodelReader::ReadNet() {
  const uint8_t* base = file_->data();
  std::string seen = DescribeContents(base, file_->size());
  if (seen.empty()) seen = DescribeOtherMessage(base, file_->size());
  Require(seen.empty(), Error::File{file_->path()}, ": a caffemodel is needed, and this is ", seen);

  LayerReader reader(*file_);
  std::string rest;
  size_t blobs = 0;
  try {
    wire::Reader fields({base, base + file_->size()}, base);
    wire::Field field;
    while (fields.Next(&field)) {
      reader.StartLayer();
      Require(layers_.size() + blobs < kMaxParts, "byte ", field.whole.begin - base, ": more than ",
              kMaxParts, " layers and blobs; the file is damaged");
      if (IsMessage(field, NetParameter::kLayerFieldNumber)) {
        layers_.push_back(reader.Current(field.content));
      } else if (IsMessage(field, NetParameter::kLayersFieldNumber)) {
        layers_.push_back(reader.Old(field.content));
        upgraded_ = true;
      } else {
        Require(rest.size() + field.whole.size() <= kLargestParameters, "byte ",
                field.whole.begin - base, ": this is not a caffemodel");
        rest += String(field.whole);
        continue;
      }
      blobs += layers_.back().blobs.size();
    }
    Require(net_.ParsePartialFromString(rest), "this is not a caffemodel");
  } catch (Error& error) {
    // Errors of blobs name file and layer.
    if (error.file().empty() && !reader.where().empty()) error.AddContext(reader.where());
    AddFile(file_->path(), &error);
    throw;
  }
}

}  // namespace caffe
