// Lists of files: of images with labels, for tools, data layers and calibration, and of sizes.
#include "tools/common/image_list.hpp"
#include "caffe/util/input_batches.hpp"
#include "caffe/util/label_map.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/one_layer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using caffe::fuzz::Try;
  const std::string list = caffe::fuzz::NewFile("list.txt", data, size);
  Try([&] {
    for (const auto& line : caffe::ReadImageList(list, "label")) caffe::LabelIn(line, list);
  });
  Try([&] { caffe::InputBatches::FromList(list, {}); });
  Try([&] { caffe::ReadNameSizeFile(list); });
  return Try([&] {
    caffe::fuzz::RunLayer(R"(type: "ImageData" top: "data" top: "label"
        image_data_param { source: "list.txt" batch_size: 2 new_height: 4 new_width: 4 })");
  });
}
