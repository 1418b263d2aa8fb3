// Layers with weights compute the activation behind them while they write, in every type: one step,
// whose outputs are those of the net.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/lowering.hpp"
#include "caffe/inference/passes/split_epilogues.hpp"
#include "caffe/inference/quantize/value_ranges.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/random_nets.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::inference {
namespace {

struct FusedLayer {
  const char* name;
  int channels;  ///< of the input
  const char* text;
};
struct Activation {
  const char* name;
  const char* text;
};

// Outputs that do not fill their last block, for which what fills it up has to stay 0.
const FusedLayer kLayers[] = {
    {"Dense", 10, "type: 'Convolution' convolution_param { num_output: 19 kernel_size: 3 pad: 1 }"},
    {"Strided", 24,
     "type: 'Convolution' convolution_param { num_output: 34 kernel_size: 2 stride: 2 }"},
    {"OfAnImage", 3,
     "type: 'Convolution' convolution_param { num_output: 19 kernel_size: 3 stride: 2 }"},
    {"Depthwise", 19,
     "type: 'Convolution' convolution_param { num_output: 19 group: 19 kernel_size: 3 pad: 1 }"},
    {"WideDepthwise", 19,
     "type: 'Convolution' convolution_param { num_output: 19 group: 19 kernel_size: 4 }"},
    {"Deconvolution", 10,
     "type: 'Deconvolution' convolution_param { num_output: 19 kernel_size: 3 stride: 2 }"},
    {"Enlarged", 19,
     "type: 'Deconvolution' convolution_param { num_output: 19 group: 19 kernel_size: 4 stride: 2 "
     "pad: 1 }"},
    {"InnerProduct", 10, "type: 'InnerProduct' inner_product_param { num_output: 37 }"},
};
const Activation kActivations[] = {
    {"PRelu", "type: 'PReLU'"},
    {"SharedPRelu", "type: 'PReLU' prelu_param { channel_shared: true }"},
    {"Elu", "type: 'ELU' elu_param { alpha: 0.5 }"},
    {"Sigmoid", "type: 'Sigmoid'"},
    {"Swish", "type: 'Swish' swish_param { beta: 1.5 }"},
    {"TanH", "type: 'TanH'"},
    {"HardSwish", "type: 'HardSwish'"},
    {"Gelu", "type: 'GELU'"},
    {"Selu", "type: 'ELU' elu_param { alpha: 0.6 lambda: 1.1 }"},
    {"LowRelu6", "type: 'ReLU6' relu6_param { threshold: 0.4 }"},
    {"Relu6", "type: 'ReLU6'"},
    {"Clip", "type: 'Clip' clip_param { min: 0.1 max: 0.8 }"},
    {"LeakyRelu", "type: 'ReLU' relu_param { negative_slope: 0.1 }"},
};

class FusedActivations : public ::testing::TestWithParam<std::tuple<FusedLayer, Activation>> {
 protected:
  void SetUp() override {
    const auto& [layer, activation] = GetParam();
    std::ostringstream text;
    text << "name: 'fused' state { phase: TEST } "
         << "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: "
         << layer.channels << " dim: 9 dim: 7 } } }"
         << "layer { name: 'layer' bottom: 'data' top: 'sums' " << layer.text << " }"
         << "layer { name: 'act' bottom: 'sums' top: 'act' " << activation.text << " }"
         << "layer { name: 'tail' type: 'InnerProduct' bottom: 'act' top: 'tail' "
         << "inner_product_param { num_output: 5 } }";
    net_ = std::make_unique<Net<float>>(ParseNet(text.str()));
    std::minstd_rand random(TestSeed());
    const auto fill = [&](Blob<float>* blob, double size) {
      std::uniform_real_distribution<float> number(-size, size);
      for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = number(random);
    };
    for (const auto& each : net_->layers()) {
      for (const auto& blob : each->blobs()) {
        const int fan = blob->num_axes() > 1 ? blob->count(1) : 1;
        fill(blob.get(), 1.5 / std::sqrt(fan));
      }
    }
    fill(net_->input_blobs()[0], 1);
    net_->Forward();
    for (size_t i = 0; i < net_->blobs().size(); ++i) {
      const Blob<float>& blob = *net_->blobs()[i];
      const auto [least, most] =
          std::minmax_element(blob.cpu_data(), blob.cpu_data() + blob.count());
      BlobCalibration calibration;
      calibration.threshold = std::max(std::fabs(*least), std::fabs(*most));
      calibration.is_unsigned = *least >= 0;
      table_.Set(net_->blob_names()[i], calibration);
    }
  }

  Graph Lowered(ElementType type, Timing* timing) const {
    const auto lower = [&](Graph graph) {
      graph = SplitEpilogues(std::move(graph));
      LoweringOptions options;
      options.maths.assign(graph.nodes.size(), {type});
      const std::vector<bool> integers(graph.nodes.size(), type == ElementType::INT8);
      options.ranges = RangesOf(graph, table_, integers);
      return Lower(std::move(graph), options, timing);
    };
    return LoweredBy(lower, GraphOf(*net_));
  }

  std::unique_ptr<Net<float>> net_;
  CalibrationTable table_;
};

/// All ways take the same time, but for one.
class OneIsFastest : public Timing {
 public:
  explicit OneIsFastest(std::string implementation)
      : Timing(cpu::CpuTarget(), 0, nullptr, 0), fastest_(std::move(implementation)) {}
  double Of(const LoweringContext& context, const Node& node, const Candidate& candidate) override {
    Timing::Of(context, node, candidate);
    return candidate.implementation->name() == fastest_ ? 1 : 1e6;
  }

 private:
  const std::string fastest_;
};

double BoundOf(ElementType type) {
  return type == ElementType::FLOAT      ? 1e-5
         : type == ElementType::FLOAT16  ? 5e-3
         : type == ElementType::BFLOAT16 ? 4e-2
                                         : 4e-2;
}

TEST_P(FusedActivations, AreOneStepInEveryImplementationAndType) {
  const NamedValues expected = OutputsOf(*net_), inputs = InputsOf(*net_);
  const bool by_kernels = std::string(std::get<0>(GetParam()).name) != "Deconvolution";
  for (const ElementType type :
       {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT8}) {
    std::set<std::string> chosen;
    for (const Implementation* implementation : cpu::CpuTarget().implementations()) {
      OneIsFastest timing(implementation->name());
      const Graph graph = Lowered(type, &timing);
      SCOPED_TRACE(ToText(graph));
      const Node& node = graph.nodes[graph.FindNode("layer")];
      ASSERT_EQ(node.epilogue.size(), 1u);
      EXPECT_EQ(node.epilogue[0].layer.name(), "act");
      EXPECT_EQ(graph.FindNode("act"), -1) << "it is a step of its own";
      // Where channels are summed up its layer computes, in FLOAT and FLOAT16.
      if (by_kernels) {
        EXPECT_EQ(node.math, type);
      }
      ExpectSame(expected, RunGraph(graph, inputs), BoundOf(type), 1);
      chosen.insert(node.implementation);
    }
    EXPECT_GT(chosen.size(), by_kernels ? chosen.count("layer") : 0) << "no kernel has it";
  }
}

INSTANTIATE_TEST_SUITE_P(All, FusedActivations,
                         ::testing::Combine(::testing::ValuesIn(kLayers),
                                            ::testing::ValuesIn(kActivations)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  std::get<1>(info.param).name;
                         });

// Slopes are for axis 1, which are no outputs of this inner product.
TEST(FusedActivation, SlopesOfOtherChannelsAreAStepOfTheirOwn) {
  Graph graph;
  const int x = graph.AddValue("x", {2, 3, 4}), y = graph.AddValue("y", {2, 3, 3});
  graph.inputs = {x};
  graph.outputs = {y};
  Node node;
  node.layer = ParseLayer(
      "name: 'ip' type: 'InnerProduct' inner_product_param { num_output: 3 axis: 2 bias_term: "
      "false }");
  node.parameters = {Constant::Of({3, 4}, Floats(12, 0.5f))};
  node.inputs = {x};
  node.outputs = {y};
  Epilogue prelu;
  prelu.layer = ParseLayer("name: 'prelu' type: 'PReLU'");
  prelu.parameters = {Constant::Of({3}, {1, 2, 3})};
  node.epilogue = {prelu};
  graph.nodes = {node};
  EXPECT_EQ(SplitEpilogues(graph).nodes.size(), 2u);
  prelu.parameters = {Constant::Of({}, {2})};
  graph.nodes[0].epilogue = {prelu};
  EXPECT_EQ(SplitEpilogues(graph).nodes.size(), 1u);
}

}  // namespace
}  // namespace caffe::inference
