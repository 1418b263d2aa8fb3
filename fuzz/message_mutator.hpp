#ifndef CAFFE_FUZZ_MESSAGE_MUTATOR_HPP_
#define CAFFE_FUZZ_MESSAGE_MUTATOR_HPP_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

// Mutators that know protobuf's messages: what they make is read, where flipped bits mostly end in
// the parser.

namespace caffe::fuzz {

/// Changes a field somewhere in the message: another value, set or not, an element more or less.
/// Strings come from the message and from the names of layers.
void MutateMessage(unsigned seed, google::protobuf::Message* message);

/// LLVMFuzzerCustomMutator for inputs in the text or binary form of a message of `type`, which is
/// empty. One in sixteen is mutated as bytes, as is what cannot be parsed.
size_t MutateText(const google::protobuf::Message& type, uint8_t* data, size_t size,
                  size_t max_size, unsigned seed);
size_t MutateBinary(const google::protobuf::Message& type, uint8_t* data, size_t size,
                    size_t max_size, unsigned seed);

}  // namespace caffe::fuzz

/// The custom mutator of a target, `mutate` is MutateText or MutateBinary.
#define CAFFE_FUZZ_MUTATOR(Type, mutate)                                                 \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, \
                                            unsigned seed) {                             \
    return caffe::fuzz::mutate(Type::default_instance(), data, size, max_size, seed);    \
  }

#endif  // CAFFE_FUZZ_MESSAGE_MUTATOR_HPP_
