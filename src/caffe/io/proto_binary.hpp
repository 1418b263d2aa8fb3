#ifndef CAFFE_IO_PROTO_BINARY_HPP_
#define CAFFE_IO_PROTO_BINARY_HPP_

#include <cstddef>
#include <cstdint>
#include <string>

namespace google {
namespace protobuf {
class Message;
}
}  // namespace google

namespace caffe {

class NetParameter;

/// Replaces `message` by a file's contents in protobuf's binary form. A NetParameter is read layer
/// by layer, may be larger than 2 GB (no single layer may), and passes MoveForkFieldsAfterRead. A
/// SolverParameter whose field 42 is a float is NVCaffe's: rampup_lr, and 41 rampup_interval.
/// To load weights use CaffemodelReader, which copies them only once. Throws Error with the file
/// and, for a NetParameter, the byte offset and the layer if the file is missing, empty, truncated
/// or of another kind.
void ReadProtoBinary(const std::string& file, google::protobuf::Message* message);

/// What a file's first bytes show it to be if it is another message than a net, and which program
/// takes it: "a blob, such as an image mean"; empty when they show nothing.
std::string DescribeOtherMessage(const uint8_t* data, size_t size);

/// Replaces the file; a failure leaves the old one and throws Error. NetParameter: see
/// MoveForkFieldsBeforeWrite.
void WriteProtoBinary(const google::protobuf::Message& message, const std::string& file);

/// Field numbers that forks use for something else, in a net read from a binary file. Where the
/// wire type shows which fork wrote the field, it becomes the field that means the same here:
///   LayerParameter varints 145 to 148 -> forward_type, backward_type, forward_math, backward_math
///   (NVCaffe); 151 -> recurrent_param (NVCaffe); a string 149 -> engine (Intel Caffe), in
///   Normalize layers norm_param (first SSD); 150 of PriorBox layers -> prior_box_param;
///   TransformationParameter messages 8, 9, 10, 13, 14 and varint 12 -> 208 to 214 (SSD), and with
///   one of these also varint 11; messages 15, 16 -> random_resize_param,
///   random_aspect_ratio_param (Intel Caffe).
/// What does not parse stays an unknown field.
void MoveForkFieldsAfterRead(NetParameter* net);

/// The opposite for what is about to be written: the four types become varints 145 to 148, where
/// NVCaffe reads them; BVLC Caffe skips them.
void MoveForkFieldsBeforeWrite(NetParameter* net);

}  // namespace caffe

#endif  // CAFFE_IO_PROTO_BINARY_HPP_
