#include <algorithm>
#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/payload.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/wire.hpp"
#include "raw_type.hpp"

namespace caffe {

namespace {

using FileForm = CaffemodelWriter::Form;

/// How the elements of a blob's data or diff are written.
struct Place {
  uint32_t field;
  ElementType type;
};

struct ArrayNumbers {
  uint32_t floats, doubles, raw, raw_type;
};
constexpr ArrayNumbers kData = {BlobProto::kDataFieldNumber, BlobProto::kDoubleDataFieldNumber,
                                BlobProto::kRawDataFieldNumber, BlobProto::kRawDataTypeFieldNumber};
constexpr ArrayNumbers kDiff = {BlobProto::kDiffFieldNumber, BlobProto::kDoubleDiffFieldNumber,
                                BlobProto::kRawDiffFieldNumber, BlobProto::kRawDiffTypeFieldNumber};

Place PlaceOf(ElementType type, FileForm form, const ArrayNumbers& numbers) {
  const bool is_integer = type == ElementType::INT32 || type == ElementType::UINT32;
  Require(type != ElementType::INT8 && type != ElementType::UINT8 &&
              (!is_integer || form == FileForm::RAW),
          "a caffemodel of this form cannot hold ", Name(type), " elements");
  if (form == FileForm::RAW) {
    return {numbers.raw, type == ElementType::BFLOAT16 ? ElementType::FLOAT : type};
  }
  if (type == ElementType::DOUBLE) return {numbers.doubles, ElementType::DOUBLE};
  return {numbers.floats, ElementType::FLOAT};
}

/// One array (data or diff) of a blob: the bytes in front of its elements, and the elements.
struct Section {
  std::string head;
  const void* elements;
  uint64_t count;
  ElementType from;
  ElementType to;
  uint64_t size() const { return head.size() + count * SizeOf(to); }
};

/// Writes elements in pieces, converted where the file's type is another.
void WriteElements(const Section& section, AtomicFile* file) {
  const uint8_t* from = static_cast<const uint8_t*>(section.elements);
  if (section.from == section.to) {
    file->Write(from, section.count * SizeOf(section.from));
    return;
  }
  constexpr uint64_t kPiece = 1 << 16;
  std::vector<uint8_t> converted(kPiece * SizeOf(section.to));
  for (uint64_t done = 0; done < section.count; done += kPiece) {
    Payload piece(section.from);
    const size_t size = SizeOf(section.from);
    const size_t count = std::min(kPiece, section.count - done);
    piece.Append({from + done * size, count, size});
    piece.CopyTo(converted.data(), section.to);
    file->Write(converted.data(), count * SizeOf(section.to));
  }
}

Section MakeSection(const void* elements, uint64_t count, ElementType type, FileForm form,
                    const ArrayNumbers& numbers) {
  const Place place = PlaceOf(type, form, numbers);
  Section section{"", elements, count, type, place.type};
  if (form == FileForm::RAW) {
    wire::AppendTag(numbers.raw_type, wire::Type::VARINT, &section.head);
    wire::AppendVarint(RawType(place.type), &section.head);
  }
  wire::AppendHeader(place.field, count * SizeOf(place.type), &section.head);
  return section;
}

/// A blob ready to be written: its header (tag, length, shape) and one or two sections.
struct EncodedBlob {
  std::string head;
  std::vector<Section> sections;
  uint64_t size() const {
    uint64_t size = head.size();
    for (const Section& section : sections) size += section.size();
    return size;
  }
};

EncodedBlob Encode(const BlobSource& blob, FileForm form) {
  const uint64_t count = static_cast<uint64_t>(CountOf(blob.shape));
  EncodedBlob encoded;
  if (count > 0) {
    encoded.sections.push_back(MakeSection(blob.data, count, blob.type, form, kData));
    if (blob.diff) {
      encoded.sections.push_back(MakeSection(blob.diff, count, blob.type, form, kDiff));
    }
  }
  BlobShape shape;
  for (const int64_t axis : blob.shape) shape.add_dim(axis);
  std::string body;
  wire::AppendHeader(BlobProto::kShapeFieldNumber, shape.ByteSizeLong(), &body);
  shape.AppendToString(&body);
  uint64_t length = body.size();
  for (const Section& section : encoded.sections) length += section.size();
  wire::AppendHeader(LayerParameter::kBlobsFieldNumber, length, &encoded.head);
  encoded.head += body;
  return encoded;
}

std::string EncodeParameters(const LayerParameter& param) {
  NetParameter net;
  *net.add_layer() = param;
  MoveForkFieldsBeforeWrite(&net);
  return net.layer(0).SerializePartialAsString();
}

}  // namespace

CaffemodelWriter::CaffemodelWriter(const std::string& file, const NetParameter& net, FileForm form)
    : file_(file), form_(form) {
  Require(net.layer_size() == 0 && net.layers_size() == 0, Error::File{file},
          ": layers are written with WriteLayer, the net's own message must have none");
  const std::string head = net.SerializePartialAsString();
  file_.Write(head.data(), head.size());
}

void CaffemodelWriter::WriteLayer(const LayerParameter& param,
                                  const std::vector<BlobSource>& blobs) {
  Require(param.blobs_size() == 0, Error::File{file_.path()}, ": layer '", param.name(),
          "': blobs are given apart from the layer's parameters");
  std::vector<EncodedBlob> encoded;
  const std::string parameters = EncodeParameters(param);
  uint64_t length = parameters.size();
  try {
    for (const BlobSource& blob : blobs) {
      encoded.push_back(Encode(blob, form_));
      length += encoded.back().size();
    }
  } catch (Error& error) {
    error.AddContext(Join(file_.path(), ": layer '", param.name(), "', blob ", encoded.size()));
    throw;
  }
  std::string head;
  wire::AppendHeader(NetParameter::kLayerFieldNumber, length, &head);
  head += parameters;
  file_.Write(head.data(), head.size());
  for (const EncodedBlob& blob : encoded) {
    file_.Write(blob.head.data(), blob.head.size());
    for (const Section& section : blob.sections) {
      file_.Write(section.head.data(), section.head.size());
      WriteElements(section, &file_);
    }
  }
}

}  // namespace caffe
