#include <glog/logging.h>

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/payload.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/util/text/shape_text.hpp"

namespace caffe {

namespace {

/// The type of NVCaffe's raw_data.
ElementType RawElementType(uint64_t type, const char* field) {
  switch (type) {
    case caffe::DOUBLE:
      return ElementType::DOUBLE;
    case caffe::FLOAT:
      return ElementType::FLOAT;
    case caffe::FLOAT16:
      return ElementType::FLOAT16;
    case caffe::INT:
      return ElementType::INT32;
    case caffe::UINT:
      return ElementType::UINT32;
    default:
      Fail(field, ": type number ", type, " cannot hold weights; FLOAT, FLOAT16 or DOUBLE can");
  }
}

/// The three places in which elements of a blob (or of its diff) may lie.
struct ElementPlaces {
  Payload doubles{ElementType::DOUBLE};
  Payload floats{ElementType::FLOAT};
  wire::Bytes raw;
  bool has_raw_type = false;
  uint64_t raw_type = 0;

  Payload First(const char* raw_field) const {
    if (!doubles.empty()) return doubles;
    if (!floats.empty()) return floats;
    if (raw.size() == 0) return Payload();
    Require(has_raw_type, raw_field, ": ", raw.size(), " bytes without a ", raw_field, "_type");
    Payload payload(RawElementType(raw_type, raw_field));
    const size_t size = SizeOf(payload.type());
    Require(raw.size() % size == 0, raw_field, ": ", raw.size(), " bytes are no whole number of ",
            Name(payload.type()), " elements");
    payload.Append({raw.begin, raw.size() / size, size});
    return payload;
  }
};

/// Adds a repeated number field, packed or not.
void AppendNumbers(const wire::Field& field, Payload* payload) {
  const size_t size = SizeOf(payload->type());
  if (field.type == wire::Type::LENGTH_DELIMITED) {
    Require(field.content.size() % size == 0, "a packed field of ", field.content.size(),
            " bytes is no whole number of ", Name(payload->type()), " elements");
    if (field.content.size() > 0) {
      payload->Append({field.content.begin, field.content.size() / size, size});
    }
  } else if (field.content.size() == size && field.type != wire::Type::VARINT) {
    // Element by element, each with a tag: consecutive ones are one whole field apart.
    payload->Append({field.content.begin, 1, field.whole.size()});
  }
}

/// BlobShape: its axes, packed or not.
void AppendAxes(wire::Bytes message, const uint8_t* base, std::vector<int64_t>* axes) {
  constexpr size_t kMaxAxes = 32;  // Caffe's own limit (kMaxBlobAxes)
  wire::Reader fields(message, base);
  wire::Field field;
  while (fields.Next(&field)) {
    if (field.number != BlobShape::kDimFieldNumber) continue;
    if (field.type == wire::Type::VARINT) {
      axes->push_back(static_cast<int64_t>(field.varint));
    } else if (field.type == wire::Type::LENGTH_DELIMITED) {
      wire::Reader packed(field.content, base);
      while (!packed.AtEnd()) {
        axes->push_back(static_cast<int64_t>(packed.Varint()));
        Require(axes->size() <= kMaxAxes, "a shape has more than ", kMaxAxes, " axes");
      }
    }
    Require(axes->size() <= kMaxAxes, "a shape has more than ", kMaxAxes, " axes");
  }
}

/// Gathers what a BlobProto says.
class BlobParser {
 public:
  explicit BlobParser(const uint8_t* base) : base_(base) {}

  void Parse(wire::Bytes message, StoredBlob* blob) {
    wire::Reader fields(message, base_);
    wire::Field field;
    while (fields.Next(&field)) TakeOfAnyAge(field);
    blob->shape = has_legacy_shape_ ? legacy_ : shape_;
    blob->data = data_.First("raw_data");
    blob->diff = diff_.First("raw_diff");
  }

 private:
  /// C3D (2014) stores num, channels, length, height and width in the fields 1 to 5, which moves
  /// data and diff to the numbers of Caffe's diff and shape. Its width is a varint in the field of
  /// Caffe's data, where a float is never one.
  void TakeOfAnyAge(const wire::Field& field) {
    if (field.number == BlobProto::kDataFieldNumber && field.type == wire::Type::VARINT) {
      legacy_.resize(4);
      legacy_.push_back(static_cast<int32_t>(field.varint));
      has_legacy_shape_ = true;
    } else if (legacy_.size() == 5 && field.number == BlobProto::kDiffFieldNumber) {
      AppendNumbers(field, &diff_.floats);
    } else if (legacy_.size() == 5 && field.number == BlobProto::kShapeFieldNumber) {
      // C3D's own diff, of which nothing is needed.
    } else {
      Take(field);
    }
  }

  void Take(const wire::Field& field) {
    switch (field.number) {
      case BlobProto::kNumFieldNumber:
      case BlobProto::kChannelsFieldNumber:
      case BlobProto::kHeightFieldNumber:
      case BlobProto::kWidthFieldNumber:
        if (field.type != wire::Type::VARINT) return;
        legacy_[field.number - BlobProto::kNumFieldNumber] = static_cast<int32_t>(field.varint);
        has_legacy_shape_ = true;
        return;
      case BlobProto::kShapeFieldNumber:
        if (field.type != wire::Type::LENGTH_DELIMITED) return;
        return AppendAxes(field.content, base_, &shape_);
      case BlobProto::kDataFieldNumber:
        return AppendNumbers(field, &data_.floats);
      case BlobProto::kDiffFieldNumber:
        return AppendNumbers(field, &diff_.floats);
      case BlobProto::kDoubleDataFieldNumber:
        return AppendNumbers(field, &data_.doubles);
      case BlobProto::kDoubleDiffFieldNumber:
        return AppendNumbers(field, &diff_.doubles);
      case BlobProto::kRawDataTypeFieldNumber:
        return TakeRawType(field, &data_);
      case BlobProto::kRawDiffTypeFieldNumber:
        return TakeRawType(field, &diff_);
      case BlobProto::kRawDataFieldNumber:
        return TakeRaw(field, &data_);
      case BlobProto::kRawDiffFieldNumber:
        return TakeRaw(field, &diff_);
      default:
        return;
    }
  }

  static void TakeRawType(const wire::Field& field, ElementPlaces* places) {
    if (field.type != wire::Type::VARINT) return;
    places->has_raw_type = true;
    places->raw_type = field.varint;
  }
  static void TakeRaw(const wire::Field& field, ElementPlaces* places) {
    if (field.type == wire::Type::LENGTH_DELIMITED) places->raw = field.content;
  }

  const uint8_t* base_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> legacy_ = {0, 0, 0, 0};
  bool has_legacy_shape_ = false;
  ElementPlaces data_;
  ElementPlaces diff_;
};

void CopySame(const Payload::Run& run, size_t size, uint8_t* to) {
  if (run.stride == size) {
    std::memcpy(to, run.begin, run.count * size);
    return;
  }
  for (size_t i = 0; i < run.count; ++i)
    std::memcpy(to + i * size, run.begin + i * run.stride, size);
}

void RequireCount(const StoredBlob& blob, const Payload& payload, const char* what) {
  blob.WithPlace([&] {
    const int64_t count = blob.ShapeCount();
    Require(static_cast<uint64_t>(count) == payload.count(), "the shape ",
            ShapeText(blob.shape, " x "), " has ", count, " elements, and the file holds ",
            payload.count(), what);
  });
}

}  // namespace

void Payload::Append(const Run& run) {
  count_ += run.count;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    const uint8_t* next = last.begin + last.count * last.stride;
    if (run.begin == next && run.stride == last.stride) {
      last.count += run.count;
      return;
    }
  }
  runs_.push_back(run);
}

void Payload::CopyTo(void* destination, ElementType type) const {
  uint8_t* to = static_cast<uint8_t*>(destination);
  const bool is_integer = type_ == ElementType::INT32 || type_ == ElementType::UINT32;
  Require(type == type_ || !is_integer, Name(type_), " elements cannot become ", Name(type));
  for (const Run& run : runs_) {
    if (type == type_) {
      CopySame(run, SizeOf(type), to);
    } else {
      DispatchReal(type_, [&](auto from_tag) {
        DispatchReal(type, [&](auto to_tag) {
          ConvertElements<decltype(from_tag)>(run.begin, run.count, run.stride,
                                              reinterpret_cast<decltype(to_tag)*>(to));
        });
      });
    }
    to += run.count * SizeOf(type);
  }
}

int64_t StoredBlob::ShapeCount() const { return CountOf(shape); }

void StoredBlob::TakeDiffForMissingData() {
  if (!data.empty() || diff.empty()) return;
  LOG(WARNING) << (file.empty() ? "" : file + ": ") << where
               << ": the values stand in the field of the diff, as C3D wrote them; they "
               << "are taken for the blob's data";
  std::swap(data, diff);
}

void StoredBlob::RequireComplete() const { RequireCount(*this, data, ""); }

void StoredBlob::ReadInto(void* destination, ElementType type) const {
  RequireComplete();
  data.CopyTo(destination, type);
}

bool StoredBlob::ReadDiffInto(void* destination, ElementType type) const {
  if (diff.empty()) return false;
  RequireCount(*this, diff, " in the diff");
  diff.CopyTo(destination, type);
  return true;
}

void StoredBlob::WithPlace(const std::function<void()>& f) const {
  try {
    f();
  } catch (Error& error) {
    if (!where.empty()) error.AddContext(where);
    if (!file.empty()) error.AddFile(file);
    throw;
  }
}

StoredBlob ParseStoredBlob(const uint8_t* data, size_t size, const std::string& file,
                           const std::string& where, const uint8_t* base) {
  StoredBlob blob;
  blob.file = file;
  blob.where = where;
  blob.WithPlace([&] { BlobParser(base ? base : data).Parse({data, data + size}, &blob); });
  blob.TakeDiffForMissingData();
  return blob;
}

}  // namespace caffe
