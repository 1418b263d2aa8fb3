#include "message_mutator.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/layer_factory.hpp"
#include "caffe/util/text/letters.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace caffe::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;
using Fields = std::vector<const FieldDescriptor*>;

class Mutator {
 public:
  Mutator(unsigned seed, Message* root) : bits_(seed) { Collect(root); }

  void Mutate() {
    Message* message = messages_[Draw(messages_.size())];
    if (Draw(4) != 0) message = ParametersOf(message);
    const FieldDescriptor* field = FieldOf(*message);
    if (!field) return;
    if (field->is_repeated()) return MutateRepeated(message, field);
    if (message->GetReflection()->HasField(*message, field) && Draw(4) == 0) {
      return message->GetReflection()->ClearField(message, field);
    }
    Set(message, field);
  }

 private:
  size_t Draw(size_t n) { return bits_() % n; }

  /// Lists the message with those inside of it, and their strings.
  void Collect(Message* message) {
    messages_.push_back(message);
    const Reflection& fields = *message->GetReflection();
    for (const FieldDescriptor* field : FieldsSet(*message)) {
      const bool is_string = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (!field->is_repeated()) {
        if (is_string) strings_.push_back(fields.GetString(*message, field));
        if (is_message) Collect(fields.MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < fields.FieldSize(*message, field); ++i) {
        if (is_string) strings_.push_back(fields.GetRepeatedString(*message, field, i));
        if (is_message) Collect(fields.MutableRepeatedMessage(message, field, i));
      }
    }
  }
  static Fields FieldsSet(const Message& message) {
    Fields set;
    message.GetReflection()->ListFields(message, &set);
    return set;
  }
  /// Mostly one that is set.
  const FieldDescriptor* FieldOf(const Message& message) {
    const Fields set = FieldsSet(message);
    if (!set.empty() && Draw(4) != 0) return set[Draw(set.size())];
    const auto* type = message.GetDescriptor();
    return type->field_count() == 0 ? nullptr
                                    : type->field(static_cast<int>(Draw(type->field_count())));
  }

  /// Of a layer the message with its type's own settings, as convolution_param of Convolution; else
  /// the message itself.
  static Message* ParametersOf(Message* message) {
    const auto* layer = dynamic_cast<const LayerParameter*>(message);
    if (!layer || layer->type().empty()) return message;
    const std::string wanted = LowerCase(layer->type()) + "param";
    const auto* type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      std::string name = type->field(i)->name();
      name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
      if (name == wanted) {
        return message->GetReflection()->MutableMessage(message, type->field(i));
      }
    }
    return message;
  }

  void MutateRepeated(Message* message, const FieldDescriptor* field) {
    const Reflection& fields = *message->GetReflection();
    const int size = fields.FieldSize(*message, field);
    if (size == 0) return Add(message, field);
    const int index = static_cast<int>(Draw(size));
    switch (Draw(4)) {
      case 0:
        return Add(message, field);
      case 1:
        fields.SwapElements(message, field, index, size - 1);
        return fields.RemoveLast(message, field);
      case 2:
        return fields.SwapElements(message, field, index, static_cast<int>(Draw(size)));
      default:
        return SetElement(message, field, index);
    }
  }
  /// A copy of an element, where there is one; else a new one.
  void Add(Message* message, const FieldDescriptor* field) {
    const Reflection& fields = *message->GetReflection();
    const int size = fields.FieldSize(*message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* added = fields.AddMessage(message, field);
      if (size > 0) {
        added->CopyFrom(fields.GetRepeatedMessage(*message, field, static_cast<int>(Draw(size))));
      }
      return;
    }
    AddValue(message, field);
  }

#define CAFFE_FUZZ_TYPES(F)    \
  F(INT32, Int32, Integer())   \
  F(INT64, Int64, Integer())   \
  F(UINT32, UInt32, Integer()) \
  F(UINT64, UInt64, Integer()) \
  F(FLOAT, Float, Real())      \
  F(DOUBLE, Double, Real())    \
  F(BOOL, Bool, Draw(2) == 0) F(STRING, String, Text(field)) F(ENUM, Enum, Word(field))

  void Set(Message* message, const FieldDescriptor* field) {
    const Reflection& fields = *message->GetReflection();
    switch (field->cpp_type()) {
#define CAFFE_FUZZ_SET(TYPE, Name, value) \
  case FieldDescriptor::CPPTYPE_##TYPE:   \
    return fields.Set##Name(message, field, value);
      CAFFE_FUZZ_TYPES(CAFFE_FUZZ_SET)
      case FieldDescriptor::CPPTYPE_MESSAGE:
        fields.MutableMessage(message, field);
    }
  }
  void SetElement(Message* message, const FieldDescriptor* field, int index) {
    const Reflection& fields = *message->GetReflection();
    switch (field->cpp_type()) {
#define CAFFE_FUZZ_SET_ELEMENT(TYPE, Name, value) \
  case FieldDescriptor::CPPTYPE_##TYPE:           \
    return fields.SetRepeated##Name(message, field, index, value);
      CAFFE_FUZZ_TYPES(CAFFE_FUZZ_SET_ELEMENT)
      case FieldDescriptor::CPPTYPE_MESSAGE:
        fields.MutableRepeatedMessage(message, field, index)->Clear();
    }
  }
  void AddValue(Message* message, const FieldDescriptor* field) {
    const Reflection& fields = *message->GetReflection();
    switch (field->cpp_type()) {
#define CAFFE_FUZZ_ADD(TYPE, Name, value) \
  case FieldDescriptor::CPPTYPE_##TYPE:   \
    return fields.Add##Name(message, field, value);
      CAFFE_FUZZ_TYPES(CAFFE_FUZZ_ADD)
      case FieldDescriptor::CPPTYPE_MESSAGE:
        fields.AddMessage(message, field);
    }
  }

  int64_t Integer() {
    constexpr int64_t kNumbers[] = {0,     -1,    255,       256,       32768,
                                    65536, 46341, INT32_MAX, INT32_MIN, INT64_MAX};
    return Draw(3) == 0 ? kNumbers[Draw(std::size(kNumbers))] : static_cast<int64_t>(Draw(10));
  }
  float Real() {
    constexpr float kNumbers[] = {0,
                                  -1,
                                  0.5f,
                                  1,
                                  1e-30f,
                                  1e30f,
                                  -1e30f,
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()};
    return kNumbers[Draw(std::size(kNumbers))];
  }
  /// Types of layers go to fields of that name, strings of the message to others.
  std::string Text(const FieldDescriptor* field) {
    static const std::vector<std::string> types = LayerRegistry<float>::LayerTypeList();
    if ((field->name() == "type") != (Draw(16) == 0)) return types[Draw(types.size())];
    return strings_.empty() || Draw(8) == 0 ? "" : strings_[Draw(strings_.size())];
  }
  const google::protobuf::EnumValueDescriptor* Word(const FieldDescriptor* field) {
    const auto* type = field->enum_type();
    return type->value(static_cast<int>(Draw(type->value_count())));
  }

  std::mt19937 bits_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
};

/// Errors of the parser are of no interest here.
class Silent : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const std::string&) override {}
};

/// Copies what fits, and says how much it is.
size_t Replaced(const std::string& bytes, uint8_t* data, size_t size, size_t max_size) {
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

void MutateMessage(unsigned seed, Message* message) { Mutator(seed, message).Mutate(); }

size_t MutateText(const Message& type, uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::unique_ptr<Message> message(type.New());
  TextFormat::Parser parser;
  Silent silent;
  parser.RecordErrorsTo(&silent);
  parser.AllowPartialMessage(true);
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (seed % 16 == 0 || !parser.ParseFromString(text, message.get())) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  MutateMessage(seed, message.get());
  std::string mutated;
  TextFormat::PrintToString(*message, &mutated);
  return Replaced(mutated, data, size, max_size);
}

size_t MutateBinary(const Message& type, uint8_t* data, size_t size, size_t max_size,
                    unsigned seed) {
  const std::unique_ptr<Message> message(type.New());
  if (seed % 16 == 0 || !message->ParsePartialFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  MutateMessage(seed, message.get());
  return Replaced(message->SerializePartialAsString(), data, size, max_size);
}

}  // namespace caffe::fuzz
