// What `engine` asks for, and that oneDNN's layers hand on what they compute as it lies.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>

#include "caffe/core/as_stored.hpp"
#include "caffe/engine.hpp"
#include "caffe/layer.hpp"
#include "caffe/net.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

LayerParameter ParseLayer(const std::string& text) {
  LayerParameter layer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'l' " + text, &layer)) << text;
  return layer;
}

struct Request {
  const char* prototxt;
  Engine engine;
};

TEST(Engines, AreReadFromTheLayersOwnParametersOrFromTheLayer) {
  const Request requests[] = {
      {"type: 'Pooling'", Engine::DEFAULT},
      {"type: 'Pooling' pooling_param { engine: DEFAULT }", Engine::DEFAULT},
      {"type: 'Pooling' pooling_param { engine: CAFFE }", Engine::DEFAULT},
      {"type: 'Pooling' pooling_param { engine: CUDNN }", Engine::DEFAULT},
      {"type: 'Pooling' pooling_param { engine: ONEDNN }", Engine::ONEDNN},
      {"type: 'Convolution' convolution_param { engine: MKL2017 }", Engine::ONEDNN},
      {"type: 'TanH' tanh_param { engine: REFERENCE }", Engine::REFERENCE},
      {"type: 'InnerProduct' engine: 'ONEDNN'", Engine::ONEDNN},
      {"type: 'InnerProduct' engine: 'MKLDNN'", Engine::ONEDNN},
      {"type: 'InnerProduct' engine: 'MKLDNN:CPU,FPGA'", Engine::ONEDNN},
      {"type: 'InnerProduct' engine: 'REFERENCE'", Engine::REFERENCE},
      {"type: 'InnerProduct' engine: 'CAFFE'", Engine::DEFAULT},
      // The layer's own parameters have the last word.
      {"type: 'Pooling' engine: 'REFERENCE' pooling_param { engine: ONEDNN }", Engine::ONEDNN},
      {"type: 'Pooling' engine: 'REFERENCE' pooling_param { kernel_size: 2 }", Engine::REFERENCE},
  };
  for (const Request& request : requests) {
    EXPECT_EQ(ReadEngine(ParseLayer(request.prototxt)), request.engine) << request.prototxt;
  }
}

TEST(Engines, AnUnknownNameIsAnErrorThatListsThem) {
  try {
    LayerRegistry<float>::CreateLayer(ParseLayer("type: 'InnerProduct' engine: 'cudnn'"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "layer 'l': engine 'cudnn' is not known: it is DEFAULT, CAFFE, CUDNN, ONEDNN "
                 "(MKLDNN, MKL2017) or REFERENCE");
  }
}

TEST(Engines, WhatTheMachineLacksIsLogged) {
  CapturedLog log;
  LayerRegistry<float>::CreateLayer(ParseLayer("type: 'TanH' tanh_param { engine: CUDNN }"));
  EXPECT_TRUE(log.Has("Layer l: engine CUDNN is for GPUs; DEFAULT computes."));
  const bool enabled = onednn::Enabled();
  onednn::SetEnabled(false);
  LayerRegistry<float>::CreateLayer(ParseLayer("type: 'TanH' tanh_param { engine: ONEDNN }"));
  EXPECT_TRUE(log.HasPrefix("Layer l: engine ONEDNN is "));
  const size_t lines = log.lines().size();
  onednn::SetEnabled(enabled);
  LayerRegistry<float>::CreateLayer(ParseLayer("type: 'TanH' tanh_param { engine: CAFFE }"));
  if (enabled) {
    LayerRegistry<float>::CreateLayer(ParseLayer("type: 'TanH' tanh_param { engine: ONEDNN }"));
  }
  EXPECT_EQ(log.lines().size(), lines);
}

TEST(Engines, TheNetsOneIsForLayersThatStateNone) {
  NetParameter param;
  const std::string text = R"(
    name: 'n'
    engine: 'REFERENCE'
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 } } }
    layer { name: 'none' type: 'InnerProduct' bottom: 'data' top: 'none'
            inner_product_param { num_output: 2 } }
    layer { name: 'its' type: 'InnerProduct' engine: 'CAFFE' bottom: 'data' top: 'its'
            inner_product_param { num_output: 2 } }
    layer { name: 'parameters' type: 'Softmax' bottom: 'none' top: 'parameters'
            softmax_param { engine: CAFFE } }
    layer { name: 'softmax' type: 'Softmax' bottom: 'its' top: 'softmax' })";
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param));
  Net<float> net(param);
  net.Forward();
  const auto engine = [&](const char* layer) {
    return std::string(net.layer_by_name(layer)->forward_engine());
  };
  EXPECT_EQ(engine("none"), "reference");
  EXPECT_NE(engine("its"), "reference");
  EXPECT_NE(engine("parameters"), "reference");
  EXPECT_EQ(engine("softmax"), "reference");

  param.set_engine("FAST");
  try {
    Net<float> unknown(param);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "net 'n': engine 'FAST' is not known: it is DEFAULT, CAFFE, CUDNN, ONEDNN "
                 "(MKLDNN, MKL2017) or REFERENCE");
  }
}

// Layers with a reference implementation, and layers without one.
const std::vector<std::string> kWithReference = {
    "type: 'Convolution' convolution_param { num_output: 16 kernel_size: 3 }",
    "type: 'Deconvolution' convolution_param { num_output: 16 kernel_size: 3 }",
    "type: 'InnerProduct' inner_product_param { num_output: 16 }",
    "type: 'Pooling' pooling_param { kernel_size: 2 }",
    "type: 'LRN'",
    "type: 'BatchNorm'",
    "type: 'Softmax' softmax_param { axis: 3 }",
};
const std::vector<std::string> kWithoutReference = {
    "type: 'ReLU'",
    "type: 'TanH'",
    "type: 'Eltwise' bottom: 'data2'",
    "type: 'Concat' bottom: 'data2'",
};

/// The implementation that computed a layer of this text on `engine`.
std::string EngineOf(const std::string& layer, const std::string& engine, Phase phase) {
  NetParameter param;
  const std::string text = "engine: '" + engine +
                           "' layer { name: 'in' type: 'Input' top: 'data' top: 'data2'"
                           "  input_param { shape { dim: 2 dim: 16 dim: 8 dim: 8 } } }"
                           "layer { name: 'l' bottom: 'data' top: 'l' " +
                           layer + " }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.mutable_state()->set_phase(phase);
  Net<float> net(param);
  net.Forward();
  return net.layer_by_name("l")->forward_engine();
}

/// Checks it where the REFERENCE engine computes the layers by `reference`.
void ExpectEngines(const std::vector<std::string>& layers, const std::string& reference) {
  const bool enabled = onednn::Enabled();
  const bool fast = enabled && EngineOf(kWithReference[0], "ONEDNN", TEST) == "oneDNN";
  for (const std::string& layer : layers) {
    for (const Phase phase : {TRAIN, TEST}) {
      SCOPED_TRACE(Join(layer, " in ", Phase_Name(phase)));
      EXPECT_EQ(EngineOf(layer, "REFERENCE", phase), reference);
      // oneDNN's LRN and BatchNorm in Caffe's order are plain loops, or wrong; EngineChain shows
      // them in blocks. Not every version of oneDNN has a fast gradient of everything.
      const bool plain_loop = layer == "type: 'LRN'" || layer == "type: 'BatchNorm'";
      if (fast && phase == TEST && !plain_loop) {
        EXPECT_EQ(EngineOf(layer, "ONEDNN", phase), "oneDNN");
      }
      onednn::SetEnabled(false);
      EXPECT_EQ(EngineOf(layer, "ONEDNN", phase), "native");
      onednn::SetEnabled(enabled);
    }
  }
}

TEST(Engines, LayersSayWhichOneComputed) {
  ExpectEngines(kWithReference, "reference");
  ExpectEngines(kWithoutReference, "native");
}

TEST(Engines, AConvolutionThatDoesOthersWorkSaysTheSame) {
  const std::string folded =
      "type: 'Convolution' convolution_param { num_output: 16 kernel_size: 3 } }"
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'l' top: 'l' }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'l' top: 'l'";
  for (const char* engine : {"DEFAULT", "REFERENCE"}) {
    EXPECT_EQ(EngineOf(folded, engine, TEST), EngineOf(kWithReference[0], engine, TEST)) << engine;
  }
}

/// Two convolutions of as many channels as fill blocks, and all that may stand behind them.
const char kChain[] = R"(
  force_backward: true
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 16 dim: 12 dim: 12 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
          num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: 'gaussian' std: 0.1 } } }
  layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { ENGINE
          kernel_size: 2 stride: 2 } }
  layer { name: 'bn' type: 'BatchNorm' bottom: 'pool' top: 'bn' batch_norm_param { ENGINE } }
  layer { name: 'relu' type: 'ReLU' bottom: 'bn' top: 'relu' relu_param { ENGINE } }
  layer { name: 'tanh' type: 'TanH' bottom: 'relu' top: 'tanh' tanh_param { ENGINE } }
  layer { name: 'conv2' type: 'Convolution' bottom: 'pool' top: 'conv2' convolution_param {
          num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: 'gaussian' std: 0.1 } } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'tanh' bottom: 'conv2' top: 'sum' LAYER_ENGINE }
  layer { name: 'both' type: 'Concat' bottom: 'sum' bottom: 'bn' top: 'both' LAYER_ENGINE }
  layer { name: 'norm' type: 'LRN' bottom: 'both' top: 'norm' lrn_param { ENGINE } }
  layer { name: 'probability' type: 'Softmax' bottom: 'norm' top: 'probability'
          softmax_param { ENGINE } })";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::unique_ptr<Net<float>> MakeChain(const std::string& engine, Phase phase) {
  NetParameter param;
  std::string text = Replaced(kChain, "LAYER_ENGINE", "engine: '" + engine + "'");
  text = Replaced(text, "ENGINE", "engine: " + engine);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param));
  param.mutable_state()->set_phase(phase);
  Caffe::set_random_seed(TestSeed());
  std::unique_ptr<Net<float>> net(new Net<float>(param));
  net->set_share_activations(false);  // all blobs are looked at
  std::mt19937 random(TestSeed());
  std::normal_distribution<float> value;
  const auto draw = [&](int count, float* values) {
    for (int i = 0; i < count; ++i) values[i] = value(random);
  };
  Blob<float>* input = net->input_blobs()[0];
  draw(input->count(), input->mutable_cpu_data());
  Blob<float>* output = net->output_blobs()[0];
  draw(output->count(), output->mutable_cpu_diff());
  if (phase == TEST) {
    const auto& blobs = net->layer_by_name("bn")->blobs();
    for (int i = 0; i < 3; ++i) {
      for (int c = 0; c < blobs[i]->count(); ++c) blobs[i]->mutable_cpu_data()[c] = i ? 1.f : 0.1f;
    }
  }
  return net;
}

/// True if the machine's oneDNN writes this net's convolutions in blocks at all.
bool WritesBlocks(Net<float>& net) {
  const auto blob = net.blob_by_name("conv");
  return blob->data_tensor().newest_layout(ElementType::FLOAT).kind == Layout::CHANNELS_BLOCKED;
}

class EngineChain : public ::testing::TestWithParam<Phase> {};

TEST_P(EngineChain, ReordersTheEndsOnly) {
  for (const char* engine : {"DEFAULT", "ONEDNN"}) {
    SCOPED_TRACE(engine);
    std::unique_ptr<Net<float>> net = MakeChain(engine, GetParam());
    net->Forward();
    if (!WritesBlocks(*net)) GTEST_SKIP() << "oneDNN writes no blocks of channels here";
    const uint64_t before = LayoutChanges();
    net->input_blobs()[0]->mutable_cpu_data();
    net->Forward();
    // The input is brought into blocks. Softmax of the library's own wants Caffe's order.
    const uint64_t forward = LayoutChanges() - before;
    EXPECT_LE(forward, 2);
    // Not every version of oneDNN has a fast gradient of LRN; ours wants Caffe's order.
    const bool norm_in_blocks =
        std::string(net->layer_by_name("norm")->forward_engine()) == "oneDNN";
    for (const std::string name : {"pool", "relu", "tanh", "conv2", "sum", "both", "norm"}) {
      if (!norm_in_blocks && (name == "both" || name == "norm")) continue;
      const auto blob = net->blob_by_name(name);
      EXPECT_EQ(blob->data_tensor().newest_layout(ElementType::FLOAT).kind,
                Layout::CHANNELS_BLOCKED)
          << name;
      EXPECT_FALSE(blob->data_tensor().has_slot(ElementType::FLOAT) && name != "norm") << name;
    }
  }
}

TEST_P(EngineChain, GivesTheSameOnEveryEngine) {
  std::unique_ptr<Net<float>> expected = MakeChain("REFERENCE", GetParam());
  const auto run = [](Net<float>* net) {
    net->Forward();
    if (net->phase() == TRAIN) net->Backward();
  };
  run(expected.get());
  for (const char* engine : {"DEFAULT", "ONEDNN"}) {
    SCOPED_TRACE(engine);
    std::unique_ptr<Net<float>> net = MakeChain(engine, GetParam());
    run(net.get());
    for (const string& name : net->blob_names()) {
      if (!expected->has_blob(name)) continue;
      const auto wanted = expected->blob_by_name(name), actual = net->blob_by_name(name);
      for (int i = 0; i < wanted->count(); ++i) {
        ASSERT_NEAR(wanted->cpu_data()[i], actual->cpu_data()[i], 2e-4) << name << " " << i;
        if (net->phase() == TEST) continue;
        ASSERT_NEAR(wanted->cpu_diff()[i], actual->cpu_diff()[i], 2e-4) << name << " diff " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothPhases, EngineChain, ::testing::Values(TRAIN, TEST),
                         [](const auto& info) { return Phase_Name(info.param); });

}  // namespace
}  // namespace caffe
