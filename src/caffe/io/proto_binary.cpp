#include "caffe/io/proto_binary.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/limits.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/proto/caffe.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace caffe {

namespace {

using google::protobuf::io::CodedInputStream;
using wire::Bytes;

/// Adds the fields encoded in `bytes` to `message`.
void Merge(Bytes bytes, google::protobuf::Message* message) {
  Require(bytes.size() <= INT_MAX, "a part of ", bytes.size(),
          " bytes is larger than 2 GB; read weights of this size with caffe::CaffemodelReader");
  CodedInputStream input(bytes.begin, static_cast<int>(bytes.size()));
  input.SetRecursionLimit(limits::MessageDepth());
  if (message->MergePartialFromCodedStream(&input) && input.ConsumedEntireMessage()) return;
  const std::string wrong =
      Join("this is no ", message->GetDescriptor()->name(), " in binary form");
  try {  // one that is cut off says so
    wire::Reader fields(bytes, bytes.begin);
    for (wire::Field field; fields.Next(&field);) {
    }
  } catch (Error& error) {
    error.AddContext(wrong);
    throw;
  }
  Fail(wrong);
}

/// Layers are parsed one by one, so that the net as a whole may be large and errors name the layer.
void MergeNet(const MappedFile& file, NetParameter* net) {
  const std::string seen = DescribeOtherMessage(file.data(), file.size());
  Require(seen.empty(), "a net is needed, and this is ", seen);
  wire::Reader fields({file.data(), file.data() + file.size()}, file.data());
  wire::Field field;
  while (fields.Next(&field)) {
    const bool is_message = field.type == wire::Type::LENGTH_DELIMITED;
    try {
      if (is_message && field.number == NetParameter::kLayerFieldNumber) {
        Merge(field.content, net->add_layer());
      } else if (is_message && field.number == NetParameter::kLayersFieldNumber) {
        Merge(field.content, net->add_layers());
      } else {
        Merge(field.whole, net);
      }
    } catch (Error& error) {
      error.AddContext(Join("byte ", field.whole.begin - file.data(), ", layer number ",
                            net->layer_size() + net->layers_size()));
      throw;
    }
  }
  MoveForkFieldsAfterRead(net);
}

void MergeSolver(const MappedFile& file, SolverParameter* solver) {
  Merge({file.data(), file.data() + file.size()}, solver);
  wire::Reader fields({file.data(), file.data() + file.size()}, file.data());
  wire::Field field;
  bool from_nvcaffe = false;
  int32_t rampup_interval = 0;
  while (fields.Next(&field)) {
    if (field.number == SolverParameter::kLayerWiseReduceFieldNumber) {
      rampup_interval = static_cast<int32_t>(field.varint);
    } else if (field.number == SolverParameter::kWeightsFieldNumber &&
               field.type == wire::Type::FIXED32) {
      float rate;
      std::memcpy(&rate, field.content.begin, sizeof(rate));
      solver->set_rampup_lr(rate);
      from_nvcaffe = true;
    }
  }
  if (!from_nvcaffe) return;
  solver->set_rampup_interval(rampup_interval);
  solver->clear_layer_wise_reduce();
  solver->DiscardUnknownFields();
}

/// Passes what protobuf writes on to an AtomicFile.
class OutputStream : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  explicit OutputStream(AtomicFile* file) : file_(file), block_(1 << 16) {}
  bool Next(void** data, int* size) override {
    Flush();
    *data = block_.data();
    *size = static_cast<int>(block_.size());
    used_ = block_.size();
    return true;
  }
  void BackUp(int count) override { used_ -= static_cast<size_t>(count); }
  int64_t ByteCount() const override { return static_cast<int64_t>(file_->size() + used_); }
  void Flush() {
    file_->Write(block_.data(), used_);
    used_ = 0;
  }

 private:
  AtomicFile* file_;
  std::vector<char> block_;
  size_t used_ = 0;
};

bool HasTypes(const NetParameter& net) {
  for (const LayerParameter& layer : net.layer()) {
    if (layer.has_forward_type() || layer.has_backward_type() || layer.has_forward_math() ||
        layer.has_backward_math()) {
      return true;
    }
  }
  return false;
}

void WriteMessage(const google::protobuf::Message& message, const std::string& name) {
  const size_t size = message.ByteSizeLong();
  Require(size <= INT_MAX, Error::File{name}, ": a message of ", size,
          " bytes is larger than the 2 GB that protobuf can write; write weights with "
          "caffe::CaffemodelWriter");
  AtomicFile file(name);
  OutputStream stream(&file);
  Require(message.SerializePartialToZeroCopyStream(&stream), Error::File{name}, ": writing failed");
  stream.Flush();
  file.Commit();
}

}  // namespace

// A net begins with its name (a string, field 1) or with layers. The other messages begin with the
// integers of their fields 1, or with what is an integer in a net.
std::string DescribeOtherMessage(const uint8_t* data, size_t size) {
  constexpr char kBlob[] = "a blob, such as an image mean, or a record";
  const auto tag = [](int field, wire::Type type) {
    return static_cast<uint8_t>(field << 3 | static_cast<int>(type));
  };
  if (size == 0) return "";
  if (data[0] == tag(BlobProto::kDataFieldNumber, wire::Type::LENGTH_DELIMITED)) {
    return kBlob;
  }
  if (data[0] != tag(SolverState::kIterFieldNumber, wire::Type::VARINT)) return "";
  const uint8_t* next = std::find_if(data + 1, data + std::min<size_t>(size, 11),
                                     [](uint8_t byte) { return (byte & 0x80) == 0; });
  if (next + 1 >= data + size) return "";
  if (next[1] == tag(SolverState::kLearnedNetFieldNumber, wire::Type::LENGTH_DELIMITED)) {
    return "the state of a solver, which names its weights: caffe train takes it with -snapshot";
  }
  const bool is_blob = next[1] == tag(BlobProto::kChannelsFieldNumber, wire::Type::VARINT);
  return is_blob ? kBlob : "";
}

void ReadProtoBinary(const std::string& name, google::protobuf::Message* message) {
  const MappedFile file(name);
  message->Clear();
  try {
    if (auto* net = dynamic_cast<NetParameter*>(message)) {
      MergeNet(file, net);
    } else if (auto* solver = dynamic_cast<SolverParameter*>(message)) {
      MergeSolver(file, solver);
    } else {
      Merge({file.data(), file.data() + file.size()}, message);
    }
  } catch (Error& error) {
    const std::string seen = DescribeContents(file.data(), file.size());
    if (!seen.empty()) {
      Fail(Error::File{name}, ": a binary file is needed, and this is ", seen);
    }
    AddFile(name, &error);
    throw;
  }
}

void WriteProtoBinary(const google::protobuf::Message& message, const std::string& name) {
  const auto* net = dynamic_cast<const NetParameter*>(&message);
  if (!net || !HasTypes(*net)) return WriteMessage(message, name);
  NetParameter copy(*net);
  MoveForkFieldsBeforeWrite(&copy);
  WriteMessage(copy, name);
}

}  // namespace caffe
