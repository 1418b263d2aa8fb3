#ifndef CAFFE_TEST_INVERTED_RESIDUALS_HPP_
#define CAFFE_TEST_INVERTED_RESIDUALS_HPP_

#include <memory>
#include <string>

#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

// Nets with convolutions that engines compute as one.
namespace caffe::inference {

/// The first layers of a net: two inverted residuals, the first with a residual. Others may read
/// "linear2".
constexpr char kTwoResiduals[] = R"(
  layer { name: "data" type: "Input" top: "data"
          input_param { shape { dim: 2 dim: 3 dim: 19 dim: 22 } } }
  layer { name: "first" type: "Convolution" bottom: "data" top: "first"
          convolution_param { num_output: 24 kernel_size: 3 stride: 2 weight_filler { type: "msra" } } }
  layer { name: "expand" type: "Convolution" bottom: "first" top: "expand"
          convolution_param { num_output: 72 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "relu1" type: "ReLU6" bottom: "expand" top: "expand" }
  layer { name: "dw" type: "Convolution" bottom: "expand" top: "dw"
          convolution_param { num_output: 72 group: 72 kernel_size: 3 pad: 1 bias_term: false
                              weight_filler { type: "msra" } } }
  layer { name: "relu2" type: "PReLU" bottom: "dw" top: "dw" }
  layer { name: "linear" type: "Convolution" bottom: "dw" top: "linear"
          convolution_param { num_output: 24 kernel_size: 1 weight_filler { type: "msra" }
                              bias_filler { type: "uniform" } } }
  layer { name: "sum" type: "Eltwise" bottom: "linear" bottom: "first" top: "sum" }
  layer { name: "expand2" type: "Convolution" bottom: "sum" top: "expand2"
          convolution_param { num_output: 40 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "dw2" type: "ConvolutionDepthwise" bottom: "expand2" top: "dw2"
          convolution_param { kernel_size: 5 pad: 2 stride: 2 weight_filler { type: "msra" } } }
  layer { name: "linear2" type: "Convolution" bottom: "dw2" top: "linear2"
          convolution_param { num_output: 21 kernel_size: 1 weight_filler { type: "msra" } } }
)";

/// The net, whose layers run one by one, after a pass.
inline std::unique_ptr<Net<float>> NetOfSines(const std::string& text) {
  Caffe::set_random_seed(TestSeed());
  auto net = std::make_unique<Net<float>>(ParseNet(text));
  net->set_share_activations(false);
  FillWithSines(net->input_blobs()[0]);
  net->Forward();
  return net;
}

}  // namespace caffe::inference

#endif  // CAFFE_TEST_INVERTED_RESIDUALS_HPP_
