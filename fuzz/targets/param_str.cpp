// Settings of Python layers that this library has in C++.
#include "caffe/util/text/param_str.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    caffe::ParamStr settings(caffe::fuzz::TextOf(data, size));
    caffe::fuzz::Try([&] { settings.Number("feat_stride", 16); });
    caffe::fuzz::Try([&] { settings.Numbers("scales", {8, 16}); });
    caffe::fuzz::Try([&] { settings.Flag("clobber_positives", false); });
    settings.RequireAllKnown();
  });
}
