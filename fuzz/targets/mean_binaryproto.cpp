// Mean images, as data layers and engines read them.
#include "caffe/data_transformer.hpp"
#include "caffe/inference/image_preprocessing.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::BlobProto, MutateBinary)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = caffe::fuzz::NewFile("mean.binaryproto", data, size);
  caffe::fuzz::Try([&] {
    caffe::inference::ImagePreprocessing preprocessing;
    preprocessing.ReadMeanImage(file);
    preprocessing.MiddleOfMeanImage(3, 2, 2);
  });
  return caffe::fuzz::Try([&] {
    caffe::TransformationParameter param;
    param.set_mean_file(file);
    caffe::DataTransformer<float> transformer(param, caffe::TEST);
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(8);
    datum.set_width(8);
    datum.set_data(std::string(3 * 8 * 8, 'x'));
    caffe::Blob<float> item(1, 3, 8, 8);
    transformer.Transform(datum, &item);
  });
}
