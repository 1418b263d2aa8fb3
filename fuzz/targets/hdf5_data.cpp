// Files of an HDF5Data layer, with sets "data" and "label".
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/one_layer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    const std::string rows = caffe::fuzz::NewFile("rows.h5", data, size);
    caffe::fuzz::NewFile("list.txt", rows + "\n");
    caffe::fuzz::RunLayer(R"(type: "HDF5Data" top: "data" top: "label"
                             hdf5_data_param { source: "list.txt" batch_size: 3 })");
  });
}
