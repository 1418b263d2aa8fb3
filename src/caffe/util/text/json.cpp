#include "json.hpp"

#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "caffe/error.hpp"
#include "caffe/util/text/printable.hpp"

namespace caffe::json {

namespace {

void SetNumber(double number, google::protobuf::Value* value) {
  if (std::isfinite(number)) {
    value->set_number_value(number);
  } else {
    value->set_string_value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
  }
}

}  // namespace

void Set(Struct* object, const std::string& key, double number) {
  SetNumber(number, &(*object->mutable_fields())[key]);
}

// JSON is UTF-8, which names in a net need not be.
void Set(Struct* object, const std::string& key, const std::string& text) {
  (*object->mutable_fields())[key].set_string_value(Printable(text));
}

void Set(Struct* object, const std::string& key, const std::vector<std::string>& texts) {
  ListValue* list = List(object, key);
  for (const std::string& text : texts) list->add_values()->set_string_value(Printable(text));
}

void Set(Struct* object, const std::string& key, const std::vector<int>& numbers) {
  ListValue* list = List(object, key);
  for (const int number : numbers) list->add_values()->set_number_value(number);
}

void Set(Struct* object, const std::string& key, const std::vector<float>& numbers) {
  ListValue* list = List(object, key);
  for (const float number : numbers) SetNumber(number, list->add_values());
}

Struct* Object(Struct* object, const std::string& key) {
  return (*object->mutable_fields())[key].mutable_struct_value();
}

ListValue* List(Struct* object, const std::string& key) {
  return (*object->mutable_fields())[key].mutable_list_value();
}

Struct* Append(Struct* object, const std::string& key) {
  return List(object, key)->add_values()->mutable_struct_value();
}

std::string Text(const Struct& object) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(object, &text, options);
  Require(status.ok(), "JSON: ", status.ToString());
  return text;
}

}  // namespace caffe::json
