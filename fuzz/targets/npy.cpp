// Arrays of NumPy.
#include "caffe/io/npy.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] { caffe::ReadNpy(caffe::fuzz::NewFile("a.npy", data, size)); });
}
