// Files of a WindowData layer. An image 0.png is there.
#include "fuzz/fuzz.hpp"
#include "fuzz/one_layer.hpp"
#include "fuzz/small_image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string image = caffe::fuzz::NewFile("0.png", caffe::fuzz::SmallImage("png"));
  return caffe::fuzz::Try([&] {
    caffe::fuzz::NewFile("windows.txt", data, size);
    caffe::fuzz::RunLayer(R"(type: "WindowData" top: "data" top: "label"
        window_data_param { source: "windows.txt" batch_size: 4 context_pad: 1 }
        transform_param { crop_size: 6 mirror: true })");
  });
}
