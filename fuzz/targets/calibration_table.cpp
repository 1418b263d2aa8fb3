// Calibration tables: this library's, TensorRT's and ncnn's. What was read is written and read
// again.
#include "caffe/inference/calibration_table.hpp"

#include "caffe/inference/quantize/calibration_formats.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const caffe::NetParameter net = caffe::fuzz::SmallNet();
  std::string written;
  caffe::fuzz::Try([&] {
    const auto table =
        caffe::ReadAnyCalibrationTable(caffe::fuzz::NewFile("table.txt", data, size), net);
    written = table.Text();
    caffe::TensorRtCache(table, caffe::TensorRtHeader(table, "8503"));
  });
  if (written.empty()) return 0;
  if (caffe::CalibrationTable::Parse(written, "written").Text() != written) std::abort();
  return 0;
}
