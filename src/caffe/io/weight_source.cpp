#include "weight_source.hpp"

#include <algorithm>

#include "caffe/core/blob_payload.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

template <typename T>
Payload PayloadOf(const google::protobuf::RepeatedField<T>& values) {
  Payload payload(kElementType<T>);
  payload.Append({reinterpret_cast<const uint8_t*>(values.data()),
                  static_cast<size_t>(values.size()), sizeof(T)});
  return payload;
}

Payload RawPayloadOf(const std::string& bytes, bool has_type, Type type, const char* field) {
  Require(has_type, field, ": ", bytes.size(), " bytes without a ", field, "_type");
  Payload payload(payload::FromProto(type));
  const size_t size = SizeOf(payload.type());
  Require(bytes.size() % size == 0, field, ": ", bytes.size(), " bytes are no whole number of ",
          Name(payload.type()), " elements");
  payload.Append({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size() / size, size});
  return payload;
}

StoredBlob StoredBlobOf(const BlobProto& proto, const std::string& where) {
  StoredBlob blob;
  blob.where = where;
  const std::vector<int> extents = payload::Extents(proto);
  blob.shape.assign(extents.begin(), extents.end());
  if (proto.double_data_size() > 0) {
    blob.data = PayloadOf(proto.double_data());
  } else if (proto.data_size() > 0) {
    blob.data = PayloadOf(proto.data());
  } else if (!proto.raw_data().empty()) {
    blob.data = RawPayloadOf(proto.raw_data(), proto.has_raw_data_type(), proto.raw_data_type(),
                             "raw_data");
  }
  if (proto.double_diff_size() > 0) {
    blob.diff = PayloadOf(proto.double_diff());
  } else if (proto.diff_size() > 0) {
    blob.diff = PayloadOf(proto.diff());
  } else if (!proto.raw_diff().empty()) {
    blob.diff = RawPayloadOf(proto.raw_diff(), proto.has_raw_diff_type(), proto.raw_diff_type(),
                             "raw_diff");
  }
  blob.TakeDiffForMissingData();
  return blob;
}

}  // namespace

std::vector<StoredLayer> StoredLayersOf(const NetParameter& net) {
  std::vector<StoredLayer> layers;
  for (const LayerParameter& layer : net.layer()) {
    layers.emplace_back();
    LayerParameter& param = layers.back().param;
    param.set_name(layer.name());
    param.set_type(layer.type());
    *param.mutable_bottom() = layer.bottom();
    *param.mutable_top() = layer.top();
    for (int i = 0; i < layer.blobs_size(); ++i) {
      layers.back().blobs.push_back(
          StoredBlobOf(layer.blobs(i), Join("layer '", layer.name(), "', blob ", i)));
    }
  }
  return layers;
}

std::string StoredShapeString(const StoredBlob& blob) {
  std::string text;
  for (const int64_t extent : blob.shape) text += std::to_string(extent) + " ";
  return Join(text, "(", blob.ShapeCount(), ")");
}

bool StoredShapeFits(const StoredBlob& blob, const std::vector<int>& shape) {
  const std::vector<int64_t> wanted(shape.begin(), shape.end());
  if (blob.shape == wanted) return true;
  const size_t axes = blob.shape.size();  // four of old files, five of C3D's
  if ((axes != 4 && axes != 5) || wanted.size() > axes) return false;
  const size_t extra = axes - wanted.size();
  return std::all_of(blob.shape.begin(), blob.shape.begin() + extra,
                     [](int64_t extent) { return extent == 1; }) &&
         std::equal(wanted.begin(), wanted.end(), blob.shape.begin() + extra);
}

std::vector<float> StoredFloats(const StoredBlob& blob) {
  blob.RequireComplete();
  std::vector<float> values(blob.ShapeCount());
  blob.ReadInto(values.data(), ElementType::FLOAT);
  return values;
}

BatchNormBlobs StoredBatchNorm(const StoredLayer& layer, const StoredLayer* scale) {
  const std::vector<StoredBlob>& blobs = layer.blobs;
  if (blobs.size() == 5) {
    std::array<std::vector<float>, 5> values;
    for (int i = 0; i < 5; ++i) values[i] = StoredFloats(blobs[i]);
    return FromNvcaffeBatchNorm(values);
  }
  Require(blobs.size() == 3, "Incompatible number of blobs for layer ", layer.param.name(), ": ",
          blobs.size(), "; batch normalization has 3 or 5");
  const std::vector<float> factor = StoredFloats(blobs[2]);
  blobs[2].WithPlace([&] {
    Require(factor.size() == 1, "the factor of the statistics has ", factor.size(),
            " elements, not one");
  });
  std::vector<std::vector<float>> affine(2);
  for (size_t i = 0; scale && i < std::min<size_t>(2, scale->blobs.size()); ++i) {
    affine[i] = StoredFloats(scale->blobs[i]);
  }
  return FromBvlcBatchNorm(StoredFloats(blobs[0]), StoredFloats(blobs[1]), factor[0], affine[0],
                           affine[1]);
}

const StoredLayer* StoredScaleAfter(const std::vector<StoredLayer>& source,
                                    const StoredLayer& layer) {
  if (layer.param.top_size() == 0) return nullptr;
  for (const StoredLayer& other : source) {
    if (other.param.type() == "Scale" && other.param.bottom_size() == 1 &&
        other.param.bottom(0) == layer.param.top(0)) {
      return &other;
    }
  }
  return nullptr;
}

bool IsStoredInDigitsOrder(const StoredLayer& layer) {
  std::vector<int64_t> counts;
  for (const StoredBlob& blob : layer.blobs) counts.push_back(blob.ShapeCount());
  return IsDigitsOrder(counts);
}

}  // namespace caffe
