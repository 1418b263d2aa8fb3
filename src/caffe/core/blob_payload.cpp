#include "caffe/core/blob_payload.hpp"

#include <glog/logging.h>

#include <cstring>
#include <limits>

#include "caffe/tensor.hpp"

namespace caffe::payload {
namespace {

bool HasOldShape(const BlobProto& proto) {
  return proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
}

void CheckLength(size_t stored, size_t count, const char* field) {
  Require(stored == count, "the stored blob has ", stored, " values in ", field, " where its shape",
          " asks for ", count);
}

template <typename T, typename Field>
void Copy(const Field& values, const char* field, Tensor* tensor) {
  CheckLength(values.size(), tensor->count(), field);
  std::memcpy(tensor->overwrite_cpu_data(kElementType<T>), values.data(),
              values.size() * sizeof(T));
}

void CopyRaw(const std::string& bytes, ElementType type, const char* field, Tensor* tensor) {
  Require(bytes.size() % SizeOf(type) == 0, "the stored blob has ", bytes.size(), " bytes in ",
          field, ", which is no multiple of the ", SizeOf(type), " bytes of ", Name(type));
  CheckLength(bytes.size() / SizeOf(type), tensor->count(), field);
  std::memcpy(tensor->overwrite_cpu_data(type), bytes.data(), bytes.size());
}

}  // namespace

std::vector<int> Extents(const BlobShape& shape) {
  std::vector<int> extents;
  for (int i = 0; i < shape.dim_size(); ++i) {
    Require(shape.dim(i) >= 0 && shape.dim(i) <= std::numeric_limits<int>::max(),
            "shape: dim number ", i, " is ", shape.dim(i), "; valid are 0 to 2^31 - 1");
    extents.push_back(static_cast<int>(shape.dim(i)));
  }
  return extents;
}

std::vector<int> Extents(const BlobProto& proto) {
  if (HasOldShape(proto)) {
    return {proto.num(), proto.channels(), proto.height(), proto.width()};
  }
  return Extents(proto.shape());
}

bool ShapeFits(const std::vector<int>& shape, const BlobProto& proto) {
  const std::vector<int> stored = Extents(proto);
  if (!HasOldShape(proto)) return stored == shape;
  if (shape.size() > 4) return false;
  std::vector<int> padded(4 - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  return stored == padded;
}

ElementType FromProto(Type type) {
  switch (type) {
    case DOUBLE:
      return ElementType::DOUBLE;
    case FLOAT:
      return ElementType::FLOAT;
    case FLOAT16:
      return ElementType::FLOAT16;
    case INT:
      return ElementType::INT32;
    case UINT:
      return ElementType::UINT32;
    default:
      Fail("type ", Type_Name(type),
           " holds no numbers: valid are DOUBLE, FLOAT, FLOAT16, INT, UINT");
  }
}

Type ToProto(ElementType type) {
  switch (type) {
    case ElementType::DOUBLE:
      return DOUBLE;
    case ElementType::FLOAT:
      return FLOAT;
    case ElementType::FLOAT16:
      return FLOAT16;
    case ElementType::INT32:
      return INT;
    case ElementType::UINT32:
      return UINT;
    default:
      Fail("caffemodel files have no name for ", Name(type));
  }
}

// Of messages that say their shape in Caffe's way. What stands in no field but the diff is taken
// for data, as StoredBlob::TakeDiffForMissingData does.
void Read(const BlobProto& proto, bool diff, Tensor* tensor) {
  const bool has_data =
      proto.double_data_size() > 0 || proto.data_size() > 0 || !proto.raw_data().empty();
  if (!diff && !has_data && (proto.diff_size() > 0 || proto.double_diff_size() > 0)) {
    LOG(WARNING)
        << "A stored blob has its values in the field of the diff, as C3D wrote them; they "
        << "are taken for its data";
    return Read(proto, /*diff=*/true, tensor);
  }
  const auto& doubles = diff ? proto.double_diff() : proto.double_data();
  const auto& floats = diff ? proto.diff() : proto.data();
  const std::string& raw = diff ? proto.raw_diff() : proto.raw_data();
  if (doubles.size() > 0) {
    Copy<double>(doubles, diff ? "double_diff" : "double_data", tensor);
  } else if (floats.size() > 0) {
    Copy<float>(floats, diff ? "diff" : "data", tensor);
  } else if (!raw.empty()) {
    const bool has_type = diff ? proto.has_raw_diff_type() : proto.has_raw_data_type();
    Require(has_type, "the stored blob has ", diff ? "raw_diff" : "raw_data", " but no ",
            diff ? "raw_diff_type" : "raw_data_type");
    CopyRaw(raw, FromProto(diff ? proto.raw_diff_type() : proto.raw_data_type()),
            diff ? "raw_diff" : "raw_data", tensor);
  }
}

void Write(Tensor* tensor, bool diff, BlobProto* proto) {
  const int count = static_cast<int>(tensor->count());
  if (tensor->storage_type() == ElementType::DOUBLE) {
    const double* values = static_cast<const double*>(tensor->cpu_data(ElementType::DOUBLE));
    auto* field = diff ? proto->mutable_double_diff() : proto->mutable_double_data();
    field->Clear();
    field->Add(values, values + count);
  } else {
    const float* values = static_cast<const float*>(tensor->cpu_data(ElementType::FLOAT));
    auto* field = diff ? proto->mutable_diff() : proto->mutable_data();
    field->Clear();
    field->Add(values, values + count);
  }
}

}  // namespace caffe::payload
