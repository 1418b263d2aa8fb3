// Records of databases: read as pixels or an image, cropped and made a batch's item.
#include "caffe/data_transformer.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::Datum, MutateBinary)

namespace {

caffe::TransformationParameter Transform(int crop) {
  caffe::TransformationParameter param;
  param.set_crop_size(crop);
  param.set_mirror(crop > 0);
  param.set_scale(0.5f);
  param.add_mean_value(2);
  return param;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  caffe::Datum datum;
  if (!datum.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const int crop : {0, 4}) {
    caffe::fuzz::Try([&] {
      caffe::DataTransformer<float> transformer(Transform(crop), caffe::TRAIN);
      transformer.InitRand();
      caffe::Blob<float> item(transformer.InferBlobShape(datum));
      transformer.Transform(datum, &item);
    });
  }
  return 0;
}
