// A layer with a .cu file of its own, as people wrote them: on the CPU, and on the first GPU if
// there is one.
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/util/device_alternate.hpp"

using namespace caffe;  // NOLINT(build/namespaces)

template <typename Dtype>
void Run(const char* file) {
  Net<Dtype> net(file, TRAIN);
  Blob<Dtype>* input = net.input_blobs()[0];
  for (int i = 0; i < input->count(); ++i) {
    input->mutable_cpu_data()[i] = (i % 7) - 3;
  }
  const vector<Blob<Dtype>*>& output = net.Forward();
  for (int i = 0; i < input->count(); ++i) {
    const Dtype x = (i % 7) - 3;
    CHECK_NEAR(output[0]->cpu_data()[i], 0.5 * x * x + 2, 1e-5);
  }
  caffe_set(output[0]->count(), Dtype(3), output[0]->mutable_cpu_diff());
  net.Backward();
  for (int i = 0; i < input->count(); ++i) {
    CHECK_NEAR(input->cpu_diff()[i], 3 * ((i % 7) - 3), 1e-5);
  }
}

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: gpu_layer net.prototxt";
  Caffe::set_mode(Caffe::CPU);
  Run<float>(argv[1]);
  if (Caffe::FindDevice() < 0) {
    LOG(INFO) << "no GPU here: the layer's CPU functions alone have run";
    return 0;
  }
  Caffe::SetDevice(Caffe::FindDevice());
  Caffe::set_mode(Caffe::GPU);
  Run<float>(argv[1]);
  Run<double>(argv[1]);
  return 0;
}
