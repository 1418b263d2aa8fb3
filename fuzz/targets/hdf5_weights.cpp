// Weights for the small net in an HDF5 file.
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static caffe::Net<float> net(caffe::fuzz::SmallNet());
  return caffe::fuzz::Try(
      [&] { net.CopyTrainedLayersFrom(caffe::fuzz::NewFile("net.caffemodel.h5", data, size)); });
}
