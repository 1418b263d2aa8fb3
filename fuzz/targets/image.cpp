// Encoded images, in files and in records.
#include "caffe/util/image.hpp"

#include <opencv2/core.hpp>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  caffe::Datum datum;
  datum.set_encoded(true);
  datum.set_data(caffe::fuzz::TextOf(data, size));
  caffe::fuzz::Try([&] { caffe::DecodeDatumToCVMatNative(datum); });
  const std::string file = caffe::fuzz::NewFile("image", data, size);
  return caffe::fuzz::Try([&] {
    caffe::Datum read;
    caffe::ReadImageToDatum(file, 0, 8, 8, /*is_color=*/true, &read);
  });
}
