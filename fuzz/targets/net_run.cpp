// Nets as text: set up for testing and for training, and run once on zeros, forward and backward.
#include <algorithm>

#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
    caffe::fuzz::Try([&] {
      caffe::NetParameter param;
      caffe::ParseProtoText(caffe::fuzz::TextOf(data, size), "net.prototxt", &param);
      caffe::UpgradeNetAsNeeded("net.prototxt", &param);
      caffe::fuzz::RequireSmall(param);
      param.mutable_state()->set_phase(phase);
      param.set_force_backward(phase == caffe::TRAIN);
      caffe::Net<float> net(param);
      caffe::fuzz::RequireQuick(net);
      for (caffe::Blob<float>* input : net.input_blobs()) {
        std::fill_n(input->mutable_cpu_data(), input->count(), 0.f);
      }
      net.Forward();
      if (phase == caffe::TRAIN) net.Backward();
    });
  }
  return 0;
}
