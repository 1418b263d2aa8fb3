#include "caffe/io/model_layers.hpp"
#include "caffe/core/error_context.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/util/hdf5.hpp"
#include "raw_type.hpp"

namespace caffe {

namespace {

using wire::Bytes;
using LayerForm = ModelLayer::Form;

std::string Encoded(int number, const std::string& content) {
  std::string bytes;
  wire::AppendHeader(number, content.size(), &bytes);
  return bytes + content;
}

/// Where a layer of each form has what is looked for.
struct LayerNumbers {
  int blobs, name, type;
};
constexpr int kNoField = 0;
constexpr LayerNumbers kNumbers[] = {
    {V0LayerParameter::kBlobsFieldNumber, V0LayerParameter::kNameFieldNumber, kNoField},
    {V1LayerParameter::kBlobsFieldNumber, V1LayerParameter::kNameFieldNumber, kNoField},
    {LayerParameter::kBlobsFieldNumber, LayerParameter::kNameFieldNumber,
     LayerParameter::kTypeFieldNumber}};
const LayerNumbers& NumbersOf(LayerForm form) { return kNumbers[static_cast<int>(form)]; }

bool HoldsElements(uint32_t number) {
  switch (number) {
    case BlobProto::kDataFieldNumber:
    case BlobProto::kDiffFieldNumber:
    case BlobProto::kDoubleDataFieldNumber:
    case BlobProto::kDoubleDiffFieldNumber:
    case BlobProto::kRawDataTypeFieldNumber:
    case BlobProto::kRawDiffTypeFieldNumber:
    case BlobProto::kRawDataFieldNumber:
    case BlobProto::kRawDiffFieldNumber:
      return true;
    default:
      return false;
  }
}

/// The whole encoding of all fields but those that `leave_out` picks.
template <typename Predicate>
std::string Without(Bytes message, const uint8_t* base, Predicate&& leave_out) {
  std::string rest;
  wire::Reader fields(message, base);
  wire::Field field;
  while (fields.Next(&field)) {
    if (!leave_out(field)) rest += String(field.whole);
  }
  return rest;
}

ModelBlob ReadBlob(Bytes encoded, const MappedFile& file, const std::string& where) {
  const uint8_t* base = file.data();
  ModelBlob blob;
  blob.stored = ParseStoredBlob(encoded.begin, encoded.size(), file.path(), where, base);
  blob.stored.diff = Payload();
  // Five axes of C3D become a shape; others are left as they are.
  const bool five_axes = blob.stored.shape.size() == 5;
  blob.rest = Without(encoded, base, [&](const wire::Field& field) {
    return HoldsElements(field.number) ||
           (five_axes && (field.number <= BlobProto::kWidthFieldNumber ||
                          field.number == BlobProto::kShapeFieldNumber));
  });
  if (five_axes) {
    BlobProto shape;
    for (const int64_t axis : blob.stored.shape) shape.mutable_shape()->add_dim(axis);
    blob.rest += shape.SerializeAsString();
  }
  return blob;
}

/// Fills in name, type, rest and blobs from the message that has them.
void ReadInner(Bytes encoded, const MappedFile& file, ModelLayer* layer) {
  const LayerNumbers& numbers = NumbersOf(layer->form);
  std::vector<Bytes> blobs;
  layer->rest = Without(encoded, file.data(), [&](const wire::Field& field) {
    if (IsMessage(field, numbers.name)) layer->name = String(field.content);
    if (IsMessage(field, numbers.type)) layer->type = String(field.content);
    if (!IsMessage(field, numbers.blobs)) return false;
    blobs.push_back(field.content);
    return true;
  });
  for (const Bytes& blob : blobs) {
    const std::string where = Join("layer '", layer->name, "', blob ", layer->blobs.size());
    layer->blobs.push_back(ReadBlob(blob, file, where));
  }
}

ModelLayer ReadLayer(const wire::Field& field, const MappedFile& file) {
  ModelLayer layer;
  Bytes inner = field.content;
  if (!IsMessage(field, NetParameter::kLayerFieldNumber)) {
    layer.form = LayerForm::V1;
    layer.outer = Without(field.content, file.data(), [&](const wire::Field& part) {
      if (!IsMessage(part, V1LayerParameter::kLayerFieldNumber)) return false;
      layer.form = LayerForm::V0;
      inner = part.content;
      return true;
    });
    if (layer.form == LayerForm::V1) layer.outer.clear();
  }
  ReadInner(inner, file, &layer);
  return layer;
}

/// A blob to be written to the file: `head` is everything in front of the elements.
struct BlobToWrite {
  std::string head;
  const Payload* elements;
  ElementType type;
  uint64_t size() const { return head.size() + elements->count() * SizeOf(type); }
};

BlobToWrite EncodeHead(const ModelBlob& blob, const ModelLayers::Storage& storage) {
  blob.stored.RequireComplete();
  const Payload& elements = blob.stored.data;
  const bool is_integer =
      elements.type() == ElementType::INT32 || elements.type() == ElementType::UINT32;
  BlobToWrite encoded{blob.rest, &elements,
                      storage.raw && is_integer ? elements.type() : storage.type};
  if (elements.empty()) return encoded;
  int number = BlobProto::kDataFieldNumber;
  if (storage.raw) {
    wire::AppendTag(BlobProto::kRawDataTypeFieldNumber, wire::Type::VARINT, &encoded.head);
    wire::AppendVarint(RawType(encoded.type), &encoded.head);
    number = BlobProto::kRawDataFieldNumber;
  }
  wire::AppendHeader(number, elements.count() * SizeOf(encoded.type), &encoded.head);
  return encoded;
}

/// Tags and lengths of the layer and what stands in front of its blobs.
std::string EncodeLayer(const ModelLayer& layer, uint64_t size_of_blobs) {
  const uint64_t inner = layer.rest.size() + size_of_blobs;
  std::string head;
  if (layer.form == LayerForm::V0) {
    std::string header;
    wire::AppendHeader(V1LayerParameter::kLayerFieldNumber, inner, &header);
    wire::AppendHeader(NetParameter::kLayersFieldNumber, layer.outer.size() + header.size() + inner,
                       &head);
    head += layer.outer + header;
  } else {
    wire::AppendHeader(layer.form == LayerForm::V1 ? NetParameter::kLayersFieldNumber
                                                   : NetParameter::kLayerFieldNumber,
                       inner, &head);
  }
  return head + layer.rest;
}

ConversionCounts WriteConverted(const BlobToWrite& blob, bool clamp, AtomicFile* file) {
  if (blob.type == ElementType::INT32 || blob.type == ElementType::UINT32) {
    std::vector<uint8_t> bytes(blob.elements->count() * SizeOf(blob.type));
    blob.elements->CopyTo(bytes.data(), blob.type);
    file->Write(bytes.data(), bytes.size());
    ConversionCounts counts;
    counts.values = static_cast<int64_t>(blob.elements->count());
    return counts;
  }
  return ConvertCounting(*blob.elements, blob.type, clamp,
                         [&](const void* bytes, size_t size) { file->Write(bytes, size); });
}

std::string EncodedShape(const std::vector<int64_t>& extents) {
  BlobShape shape;
  for (const int64_t extent : extents) shape.add_dim(extent);
  return Encoded(BlobProto::kShapeFieldNumber, shape.SerializeAsString());
}

}  // namespace

ModelBlob ModelBlob::Of(const std::vector<float>& values, const std::string& where,
                        const std::string& file) {
  ModelBlob blob;
  blob.stored.file = file;
  blob.values = std::make_shared<const std::vector<float>>(values);
  blob.stored.where = where;
  blob.stored.shape = {static_cast<int64_t>(values.size())};
  blob.stored.data = Payload(ElementType::FLOAT);
  blob.stored.data.Append(
      {reinterpret_cast<const uint8_t*>(blob.values->data()), values.size(), sizeof(float)});
  blob.rest = EncodedShape(blob.stored.shape);
  return blob;
}

ModelLayers ModelLayers::FromCaffemodel(const std::string& name) {
  ModelLayers model;
  model.file_ = std::make_shared<const MappedFile>(name);
  const MappedFile& file = *model.file_;
  const std::string seen = DescribeContents(file.data(), file.size());
  Require(seen.empty(), Error::File{name}, ": a caffemodel is needed, and this is ", seen);
  try {
    model.head_ = Without({file.data(), file.data() + file.size()}, file.data(),
                          [&](const wire::Field& field) {
                            if (!IsMessage(field, NetParameter::kLayerFieldNumber) &&
                                !IsMessage(field, NetParameter::kLayersFieldNumber)) {
                              return false;
                            }
                            model.layers.push_back(ReadLayer(field, file));
                            return true;
                          });
    Require(NetParameter().ParsePartialFromString(model.head_), "this is not a caffemodel");
  } catch (Error& error) {
    AddFile(name, &error);
    throw;
  }
  return model;
}

#ifdef USE_HDF5

namespace {

std::string EncodedIdentity(const LayerIdentity& layer) {
  std::string encoded = Encoded(LayerParameter::kNameFieldNumber, layer.name);
  if (!layer.type.empty()) encoded += Encoded(LayerParameter::kTypeFieldNumber, layer.type);
  for (const std::string& bottom : layer.bottoms) {
    encoded += Encoded(LayerParameter::kBottomFieldNumber, bottom);
  }
  for (const std::string& top : layer.tops) {
    encoded += Encoded(LayerParameter::kTopFieldNumber, top);
  }
  return encoded;
}

ModelBlob ReadDataset(hid_t group, const std::string& dataset, const std::string& where,
                      const std::string& file) {
  constexpr int kMaxAxes = 32;
  Blob<float> read;
  hdf5_load_nd_dataset(group, dataset.c_str(), 0, kMaxAxes, &read, /*reshape=*/true);
  ModelBlob blob = ModelBlob::Of({read.cpu_data(), read.cpu_data() + read.count()}, where, file);
  blob.stored.shape.assign(read.shape().begin(), read.shape().end());
  blob.rest = EncodedShape(blob.stored.shape);
  return blob;
}

}  // namespace

ModelLayers ModelLayers::FromHdf5(const std::string& name,
                                  const std::vector<LayerIdentity>& layers) {
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  Require(hdf5_has_group(file.id(), "data"), Error::File{name},
          ": there is no group 'data': this is not an HDF5 file of a net's parameters");
  const Hdf5Handle data = Hdf5Handle::OpenGroup(file.id(), "data");
  ModelLayers model;
  std::map<std::string, ModelBlob> shared;
  for (const LayerIdentity& identity : layers) {
    if (!hdf5_has_group(data.id(), identity.name)) continue;
    const Hdf5Handle group = Hdf5Handle::OpenGroup(data.id(), identity.name);
    ModelLayer layer;
    layer.name = identity.name;
    layer.type = identity.type;
    layer.rest = EncodedIdentity(identity);
    size_t left = hdf5_get_num_links(group.id());
    for (size_t i = 0; left > 0 || i < identity.param_names.size(); ++i) {
      const std::string where = Join("layer '", identity.name, "', blob ", i);
      const std::string dataset = std::to_string(i);
      const std::string param =
          i < identity.param_names.size() ? identity.param_names[i] : std::string();
      if (H5Lexists(group.id(), dataset.c_str(), H5P_DEFAULT) > 0) {
        layer.blobs.push_back(ReadDataset(group.id(), dataset, where, name));
        if (!param.empty()) shared.emplace(param, layer.blobs.back());
        --left;
      } else if (shared.count(param)) {
        layer.blobs.push_back(shared.at(param));
      } else {
        Require(left == 0, Error::File{name}, ": ", where,
                ": it is missing, and no layer before shares it");
        break;
      }
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

#else

ModelLayers ModelLayers::FromHdf5(const std::string& name, const std::vector<LayerIdentity>&) {
  Fail(Error::File{name}, ": this libcaffe was built without HDF5",
       Error::Remedy{"build with USE_HDF5=ON"});
}

#endif  // USE_HDF5

std::vector<LayerConversion> ModelLayers::Write(
    const std::function<Storage(const ModelLayer&)>& storage_of, AtomicFile* file) const {
  std::vector<LayerConversion> report;
  file->Write(head_.data(), head_.size());
  for (const ModelLayer& layer : layers) {
    const Storage storage = storage_of(layer);
    std::vector<BlobToWrite> blobs;
    std::vector<std::string> headers;
    uint64_t size = 0;
    for (const ModelBlob& blob : layer.blobs) {
      blobs.push_back(EncodeHead(blob, storage));
      headers.emplace_back();
      wire::AppendHeader(NumbersOf(layer.form).blobs, blobs.back().size(), &headers.back());
      size += headers.back().size() + blobs.back().size();
    }
    const std::string head = EncodeLayer(layer, size);
    file->Write(head.data(), head.size());
    LayerConversion row{layer.name, Name(storage.type), {}};
    for (size_t i = 0; i < blobs.size(); ++i) {
      file->Write(headers[i].data(), headers[i].size());
      file->Write(blobs[i].head.data(), blobs[i].head.size());
      row.counts.Add(WriteConverted(blobs[i], storage.clamp, file));
    }
    if (!blobs.empty()) report.push_back(row);
  }
  return report;
}

}  // namespace caffe
