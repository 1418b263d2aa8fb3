// What layers do on a GPU that their cases do not check; in builds with CUDA, on the tests' device.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "caffe/common.hpp"
#include "caffe/error.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/fake_device.hpp"

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

#if defined(__GNUC__) && !defined(__clang__)
// GCC tells which function a virtual call would reach.
#pragma GCC diagnostic ignored "-Wpmf-conversions"

/// What a layer that knows no GPU has, and what a layer's calls of it reach.
struct WithoutKernels : Layer<float> {
  using Blobs = const vector<Blob<float>*>&;
  using Forwards = void (*)(Layer<float>*, Blobs, Blobs);
  using Backwards = void (*)(Layer<float>*, Blobs, const vector<bool>&, Blobs);

  WithoutKernels() : Layer<float>(LayerParameter()) {}
  void Reshape(Blobs, Blobs) override {}
  void Forward_cpu(Blobs, Blobs) override {}
  void Backward_cpu(Blobs, const vector<bool>&, Blobs) override {}

  bool SharesForwardWith(Layer<float>* other) {
    const auto function = &WithoutKernels::Forward_gpu;
    return (Forwards)(other->*function) == (Forwards)(this->*function);
  }
  bool SharesBackwardWith(Layer<float>* other) {
    const auto function = &WithoutKernels::Backward_gpu;
    return (Backwards)(other->*function) == (Backwards)(this->*function);
  }
};

TEST_F(CudaLayers, EveryTypeHasKernelsOrSaysWhyNot) {
  WithoutKernels without;
  for (const string& type : LayerRegistry<float>::LayerTypeList()) {
    SCOPED_TRACE(type);
    LayerParameter param;
    param.set_type(type);
    const auto layer = LayerRegistry<float>::CreateLayer(param);
    const Operation* const operation = OperationTable::Find(type);
    if (!operation) continue;  // tests' own types
    const bool no_forward = without.SharesForwardWith(layer.get());
    // Split and Silence have something to compute in the backward pass only.
    const bool no_kernels = no_forward && without.SharesBackwardWith(layer.get());
    EXPECT_TRUE(operation->cpu_only.empty() ? !no_kernels : no_forward)
        << "reason: '" << operation->cpu_only << "'";
    if (operation->backward_reads == Operation::kNothing || operation->source) continue;
    EXPECT_EQ(without.SharesBackwardWith(layer.get()), !operation->cpu_only.empty())
        << "backward pass; reason: '" << operation->cpu_only << "'";
  }
}
#endif

TEST_F(CudaLayers, ANetLogsOnceWhatRunsOnTheCpuAndWhy) {
  const CapturedLog log;
  NetParameter param;
  Require(google::protobuf::TextFormat::ParseFromString(R"(
      layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 4
              dim: 4 } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'relu' }
      layer { name: 'boxes' type: 'PriorBox' bottom: 'relu' bottom: 'data' top: 'boxes'
              prior_box_param { min_size: 2 } })",
                                                        &param),
          "the net");
  Net<float> net(param);
  net.Forward();
  net.Forward();
  const auto& lines = log.lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(),
                       "boxes (PriorBox) runs on the CPU: it makes small constants of the shapes"),
            1);
  EXPECT_FALSE(log.HasPrefix("relu (ReLU) runs"));
}

TEST_F(CudaLayers, ANetInCpuModeSaysNothingOfIt) {
  Caffe::set_mode(Caffe::CPU);
  const CapturedLog log;
  MakeNet("", "", "");
  EXPECT_FALSE(log.HasPrefix("data (Input) runs on the CPU"));
  EXPECT_TRUE(log.HasPrefix("Setting up data"));
}

}  // namespace
}  // namespace caffe
