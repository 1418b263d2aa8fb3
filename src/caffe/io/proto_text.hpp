#ifndef CAFFE_IO_PROTO_TEXT_HPP_
#define CAFFE_IO_PROTO_TEXT_HPP_

#include <string>

namespace google {
namespace protobuf {
class Message;
}
}  // namespace google

namespace caffe {

/// Replaces `message` by what `text` says. Throws Error "origin:line:column: what is wrong", with
/// the nearest known names for an unknown field or value, and the line of a block left open.
void ParseProtoText(const std::string& text, const std::string& origin,
                    google::protobuf::Message* message);

/// ParseProtoText on a file's contents. Throws Error also if the file is missing, empty or binary,
/// and then says what it looks like.
void ReadProtoText(const std::string& file, google::protobuf::Message* message);

/// Replaces the file; a failure leaves the old one and throws Error.
void WriteProtoText(const google::protobuf::Message& message, const std::string& file);

}  // namespace caffe

#endif  // CAFFE_IO_PROTO_TEXT_HPP_
