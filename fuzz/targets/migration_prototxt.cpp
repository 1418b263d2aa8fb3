// The precision migration of a net's text, with the small net's weights.
#include "caffe/net.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/migration.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

namespace {

std::string SmallWeights() {
  caffe::NetParameter weights;
  caffe::Net<float>(caffe::fuzz::SmallNet()).ToProto(&weights);
  return caffe::fuzz::NewFile("small.caffemodel", weights.SerializeAsString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string weights = SmallWeights();
  caffe::fuzz::Migrate(caffe::fuzz::NewFile("net.prototxt", data, size), weights);
  return 0;
}
