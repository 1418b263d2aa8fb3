#ifndef CAFFE_UTIL_JSON_HPP_
#define CAFFE_UTIL_JSON_HPP_

#include <google/protobuf/struct.pb.h>

#include <string>
#include <vector>

namespace caffe::json {

// JSON objects are protobuf's Structs; these put things into them.

using google::protobuf::ListValue;
using google::protobuf::Struct;

/// JSON has no infinity and no NaN: they become the texts "inf", "-inf" and "nan".
void Set(Struct* object, const std::string& key, double number);
void Set(Struct* object, const std::string& key, const std::string& text);
void Set(Struct* object, const std::string& key, const std::vector<std::string>& texts);
void Set(Struct* object, const std::string& key, const std::vector<int>& numbers);
void Set(Struct* object, const std::string& key, const std::vector<float>& numbers);
/// An empty object (list) that was put there.
Struct* Object(Struct* object, const std::string& key);
ListValue* List(Struct* object, const std::string& key);
/// A new object at the end of a list, which is made if it is not there.
Struct* Append(Struct* object, const std::string& key);

/// With line breaks; ends with one.
std::string Text(const Struct& object);

}  // namespace caffe::json

#endif  // CAFFE_UTIL_JSON_HPP_
