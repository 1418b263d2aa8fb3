// The precision migration of weights, with the small net's text.
#include "fuzz/message_mutator.hpp"
#include "fuzz/migration.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateBinary)

namespace {

std::string SmallText() {
  const std::string file = caffe::fuzz::Folder() + "/small.prototxt";
  caffe::WriteProtoToTextFile(caffe::fuzz::SmallNet(), file);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string prototxt = SmallText();
  caffe::fuzz::Migrate(prototxt, caffe::fuzz::NewFile("net.caffemodel", data, size));
  return 0;
}
