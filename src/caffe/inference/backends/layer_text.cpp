#include "layer_text.hpp"

#include <google/protobuf/descriptor.h>

#include <cctype>
#include <iomanip>
#include <limits>
#include <locale>
#include <set>
#include <vector>

#include "caffe/util/string_stream.hpp"

namespace caffe::inference {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Of fields of LayerParameter.
bool Matters(const FieldDescriptor& field) {
  static const std::set<std::string> others = {
      "name",  "type",  "bottom",  "top",     "phase",          "loss_weight",
      "param", "blobs", "include", "exclude", "propagate_down", "loss_param"};
  return others.count(std::string(field.name())) == 0;
}

bool IsFiller(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() == FillerParameter::descriptor();
}

/// In quotes, with what cannot stand in a line as numbers.
void WriteString(const std::string& text, std::ostream& out) {
  out << '"';
  for (const unsigned char c : text) {
    if (std::isprint(c) && c != '"' && c != '\\') {
      out << c;
    } else {
      out << '\\' << static_cast<int>(c) << ';';
    }
  }
  out << '"';
}

void WriteFields(const Message& message, std::ostream& out);

/// The value of a field, or one of a repeated one.
void WriteValue(const Message& message, const FieldDescriptor& field, int index,
                std::ostream& out) {
  const Reflection& in = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      out << '{';
      WriteFields(
          many ? in.GetRepeatedMessage(message, &field, index) : in.GetMessage(message, &field),
          out);
      out << '}';
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      return WriteString(
          many ? in.GetRepeatedString(message, &field, index) : in.GetString(message, &field), out);
    case FieldDescriptor::CPPTYPE_ENUM:
      out << (many ? in.GetRepeatedEnumValue(message, &field, index)
                   : in.GetEnumValue(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      out << (many ? in.GetRepeatedBool(message, &field, index) : in.GetBool(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      out << std::setprecision(std::numeric_limits<float>::max_digits10)
          << (many ? in.GetRepeatedFloat(message, &field, index) : in.GetFloat(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out << std::setprecision(std::numeric_limits<double>::max_digits10)
          << (many ? in.GetRepeatedDouble(message, &field, index) : in.GetDouble(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      out << (many ? in.GetRepeatedInt32(message, &field, index) : in.GetInt32(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      out << (many ? in.GetRepeatedInt64(message, &field, index) : in.GetInt64(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out << (many ? in.GetRepeatedUInt32(message, &field, index) : in.GetUInt32(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      out << (many ? in.GetRepeatedUInt64(message, &field, index) : in.GetUInt64(message, &field));
      return;
  }
}

/// Those that are set, in the order of their numbers.
void WriteFields(const Message& message, std::ostream& out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  const bool is_layer = message.GetDescriptor() == LayerParameter::descriptor();
  const char* between = "";
  for (const FieldDescriptor* field : fields) {
    if (IsFiller(*field) || (is_layer && !Matters(*field))) continue;
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      out << between << field->name() << ':';
      WriteValue(message, *field, i, out);
      between = " ";
    }
  }
}

}  // namespace

std::string CanonicalText(const LayerParameter& layer) {
  StringWriter out;
  out.imbue(std::locale::classic());
  WriteFields(layer, out);
  return out.str();
}

}  // namespace caffe::inference
