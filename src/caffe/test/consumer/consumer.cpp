#include <caffe/caffe.hpp>
#include <iostream>

int main() {
  caffe::Caffe::set_mode(caffe::Caffe::CPU);
  caffe::NetParameter param;
  caffe::LayerParameter* input = param.add_layer();
  input->set_name("input");
  input->set_type("Input");
  input->add_top("x");
  input->mutable_input_param()->add_shape()->add_dim(3);
  caffe::LayerParameter* relu = param.add_layer();
  relu->set_name("relu");
  relu->set_type("ReLU");
  relu->add_bottom("x");
  relu->add_top("y");
  caffe::Net<float> net(param);
  float* x = net.input_blobs()[0]->mutable_cpu_data();
  x[0] = -1;
  x[1] = 0;
  x[2] = 2;
  const float* y = net.Forward()[0]->cpu_data();
  std::cout << y[0] << y[1] << y[2] << std::endl;
  return y[0] == 0 && y[2] == 2 ? 0 : 1;
}
