// MNIST's files, gzipped or not.
#include "fuzz/fuzz.hpp"
#include "tools/common/idx_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caffe;  // NOLINT: the function cannot be in the namespace
  const std::string file = fuzz::NewFile("idx", data, size);
  fuzz::Try([&] {
    IdxFile labels(file, kIdxLabels);
    char label;
    for (uint32_t count = labels.Number(); count > 0; --count) labels.Read(&label, 1);
  });
  return fuzz::Try([&] {
    IdxImages images(file);
    for (uint32_t i = 0; i < images.count; ++i) images.Next();
  });
}
