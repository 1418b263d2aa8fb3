// What layers do on a GPU beside what their cases check; in builds with CUDA, on the tests' device.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "caffe/common.hpp"
#include "caffe/error.hpp"
#include "caffe/net.hpp"
#include "fake_device.hpp"

namespace caffe {
namespace {

class CudaLayers : public ::testing::Test {
 protected:
  CudaLayers() { Caffe::set_mode(Caffe::GPU); }
  ~CudaLayers() override { Caffe::set_mode(Caffe::CPU); }

  /// A convolution; `net` and `layer` are fields of theirs, `own` of convolution_param.
  static std::unique_ptr<Net<float>> MakeNet(const std::string& net, const std::string& layer,
                                             const std::string& own) {
    NetParameter param;
    const std::string text = net + R"(
        layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2
                dim: 4 dim: 4 } } }
        layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' )" +
                             layer + " convolution_param { num_output: 2 kernel_size: 3 " + own +
                             " } }";
    Require(google::protobuf::TextFormat::ParseFromString(text, &param), text);
    return std::make_unique<Net<float>>(param);
  }

 private:
  const FakeDevice::Installed device_;
};

TEST_F(CudaLayers, AlgorithmsAreThreeNumbers) {
  for (const char* wrong : {"", "1,2", "1,2,3,4", "a,b,c", "1,2,3 x"}) {
    const auto net = MakeNet("", "", std::string("conv_algos_override: '") + wrong + "'");
    try {
      net->Forward();
      FAIL() << "no error for \"" << wrong << "\"";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("layer 'conv'"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("conv_algos_override"), std::string::npos)
          << error.what();
    }
  }
  MakeNet("", "", "conv_algos_override: '1, 0,-1'")->Forward();
}

TEST_F(CudaLayers, ANetsCudnnSettingsAreThoseOfLayersThatStateNone) {
  const std::string settings =
      "default_conv_algos_override: '1,2,3' default_cudnn_math_override: 0";
  const auto without = MakeNet(settings, "", "");
  const LayerParameter& taken = without->layer_by_name("conv")->layer_param();
  EXPECT_EQ(taken.convolution_param().conv_algos_override(), "1,2,3");
  EXPECT_EQ(taken.cudnn_math_override(), 0);
  const auto with = MakeNet(settings, "cudnn_math_override: 1", "conv_algos_override: '4,5,6'");
  const LayerParameter& own = with->layer_by_name("conv")->layer_param();
  EXPECT_EQ(own.convolution_param().conv_algos_override(), "4,5,6");
  EXPECT_EQ(own.cudnn_math_override(), 1);
}

}  // namespace
}  // namespace caffe
