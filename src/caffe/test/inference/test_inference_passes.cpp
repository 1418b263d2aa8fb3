// Each pass by itself: what it changes, what it must leave, and that the outputs stay the same.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "caffe/inference/backends/arena_gaps.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/passes/memory_plan.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/inference/passes/siblings.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

const char kData[] =
    "layer { name: 'data' type: 'Input' top: 'data' "
    "input_param { shape { dim: 2 dim: 4 dim: 6 dim: 6 } } } ";

std::string LayerText(const std::string& type, const std::string& name, const std::string& bottom,
                      const std::string& top, const std::string& parameters = "") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "' ";
  if (!bottom.empty()) text += "bottom: '" + bottom + "' ";
  if (!top.empty()) text += "top: '" + top + "' ";
  return text + parameters + " } ";
}

std::string Conv(const std::string& name, const std::string& bottom, const std::string& top,
                 const std::string& parameters = "kernel_size: 3 pad: 1") {
  return LayerText("Convolution", name, bottom, top,
                   "convolution_param { num_output: 4 " + parameters + " }");
}

/// The graph of a net behind "data", parameters random; variances and their factors are positive.
Graph GraphFrom(const std::string& layers, const std::string& data = kData) {
  const auto net = MakeNet(data + layers);
  std::mt19937 random(TestSeed());
  std::uniform_real_distribution<float> any(-1, 1), positive(0.5, 2);
  for (const auto& layer : net->layers()) {
    const bool statistics = std::string(layer->type()) == "BatchNorm";
    for (size_t j = 0; j < layer->blobs().size(); ++j) {
      Blob<float>& blob = *layer->blobs()[j];
      for (int i = 0; i < blob.count(); ++i) {
        blob.mutable_cpu_data()[i] = statistics && j > 0 ? positive(random) : any(random);
      }
    }
  }
  return GraphOf(*net);
}

NamedValues RandomInputs(const Graph& graph) {
  std::mt19937 random(TestSeed() + 1);
  std::uniform_real_distribution<float> any(-1, 1);
  NamedValues inputs;
  for (const int input : graph.inputs) {
    Floats& values = inputs[graph.values[input].name];
    for (size_t i = 0; i < CountOf(graph.values[input].shape); ++i) values.push_back(any(random));
  }
  return inputs;
}

/// "conv Convolution+ReLU, pool Pooling": the nodes in their order.
std::string Nodes(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += (text.empty() ? "" : ", ") + node.name() + " " + node.type();
    for (const Epilogue& step : node.epilogue) text += "+" + step.layer.type();
  }
  return text;
}

/// Runs the pass: the outputs stay the same (0: bit by bit), and these nodes are left.
Graph ExpectPass(Graph (*pass)(Graph), const Graph& graph, const std::string& nodes,
                 double relative = 0) {
  const Graph result = pass(graph);
  result.Validate();
  EXPECT_EQ(Nodes(result), nodes) << ToText(result);
  const NamedValues inputs = RandomInputs(graph);
  ExpectSame(RunGraph(graph, inputs), RunGraph(result, inputs), relative);
  return result;
}

constexpr double kRounding = 2e-6;

TEST(Passes, HaveNamesAndDescriptionsOfTheirOwn) {
  std::set<std::string> names, descriptions;
  for (const Pass& pass : Passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_TRUE(descriptions.insert(pass.description).second) << pass.description;
  }
}

TEST(Passes, AreObservedAndSkipped) {
  std::vector<std::string> seen;
  const Graph graph = GraphFrom(Conv("conv", "data", "x") + LayerText("ReLU", "relu", "x", "y"));
  const Graph result =
      Optimize(graph, {"activations", "memory"},
               [&](const std::string& pass, const Graph&) { seen.push_back(pass); });
  EXPECT_EQ(seen, (std::vector<std::string>{"", "losses", "identities", "dead_layers", "constants",
                                            "affine", "pooling_order", "concat_order", "residuals",
                                            "siblings", "views", "order"}));
  EXPECT_EQ(Nodes(result), "conv Convolution, relu ReLU");
}

/// The passes that a build runs, in order, for this configuration.
std::vector<std::string> PassesSeen(BuilderConfig config) {
  std::vector<std::string> seen;
  NetworkDefinition net("small");
  net.AddInput("data", {1, 3, 6, 6});
  net.AddLayer(ParseLayer("name: 'conv' type: 'Convolution' bottom: 'data' top: 'x' "
                          "convolution_param { num_output: 4 kernel_size: 3 }"),
               {Constant::Of({4, 3, 3, 3}, std::vector<float>(108, 0.01f)),
                Constant::Of({4}, std::vector<float>(4))});
  net.MarkOutput("x");
  config.timing_iterations = 0;
  config.pass_observer = [&](const std::string& pass, const Graph&) { seen.push_back(pass); };
  Builder(config).Build(net);
  return seen;
}

const std::vector<std::string> kBeforeLowering = {
    "",          "losses",      "identities",    "dead_layers",
    "constants", "affine",      "pooling_order", "concat_order",
    "residuals", "activations", "siblings"};

std::vector<std::string> Followed(std::vector<std::string> passes,
                                  const std::vector<std::string>& by) {
  passes.insert(passes.end(), by.begin(), by.end());
  return passes;
}

TEST(Passes, AreAllThatABuildDoes) {
  EXPECT_EQ(PassesSeen({}),
            Followed(kBeforeLowering, {"epilogues", "ranges", "kernels", "joined_layers", "packing",
                                       "views", "order", "scratch", "memory"}));
  BuilderConfig reference;
  reference.backend = Backend::REFERENCE;
  EXPECT_EQ(PassesSeen(reference), Followed(kBeforeLowering, {"views", "order", "memory"}));
  BuilderConfig skipping;
  skipping.skip_passes = {"memory", "order"};
  EXPECT_EQ(PassesSeen(skipping), Followed(kBeforeLowering, {"epilogues", "ranges", "kernels",
                                                             "joined_layers", "packing", "views"}))
      << "scratch memory is planned with the rest";
}

TEST(Passes, ForIntegersAreThere) {
  BuilderConfig config;
  config.precision = Precision::INT8;
  CalibrationTable table;
  BlobCalibration range;
  range.minimum = -1;
  range.maximum = range.threshold = 1;
  for (const char* blob : {"data", "x"}) table.Set(blob, range);
  config.calibration = std::make_shared<const CalibrationTable>(table);
  EXPECT_EQ(PassesSeen(config), Followed(kBeforeLowering, {"epilogues", "ranges", "equalization",
                                                           "kernels", "joined_layers", "packing",
                                                           "views", "order", "scratch", "memory"}));
  config.skip_passes = {"equalization"};
  EXPECT_EQ(PassesSeen(config),
            Followed(kBeforeLowering, {"epilogues", "ranges", "kernels", "joined_layers", "packing",
                                       "views", "order", "scratch", "memory"}));
  config.skip_passes.clear();
  config.quantization.arithmetic = Arithmetic::INTEGER;
  std::vector<std::string> alone = kBeforeLowering;
  alone.erase(std::find(alone.begin(), alone.end(), "residuals"));
  EXPECT_EQ(PassesSeen(config),
            Followed(alone, {"integers", "integer_residuals", "epilogues", "ranges", "kernels",
                             "joined_layers", "packing", "views", "order", "scratch", "memory"}));
  for (const char* skipped : {"residuals", "integer_residuals"}) {
    config.skip_passes = {skipped};
    EXPECT_EQ(PassesSeen(config),
              Followed(alone, {"integers", "epilogues", "ranges", "kernels", "joined_layers",
                               "packing", "views", "order", "scratch", "memory"}))
        << skipped;
  }
}

TEST(Passes, ThatEveryEngineNeedsCannotBeSkipped) {
  for (const Pass& pass : Passes()) {
    if (pass.can_be_skipped) continue;
    BuilderConfig config;
    config.skip_passes = {pass.name};
    ExpectContains(ErrorOf([&] { PassesSeen(config); }),
                   std::string("pass '") + pass.name + "' cannot be left out");
  }
}

TEST(IdentitiesPass, TakesOutWhatHandsOnItsBottom) {
  const Graph graph =
      GraphFrom(LayerText("Dropout", "drop", "data", "x") + LayerText("ReLU", "relu", "x", "y") +
                LayerText("Dropout", "in_place", "y", "y") +
                LayerText("Split", "split", "y", "a", "top: 'b'") +
                LayerText("TanH", "tanh", "a", "c") + LayerText("Silence", "silence", "b", "") +
                LayerText("Power", "one", "c", "out", "power_param { power: 1 }"));
  const Graph result = ExpectPass(RemoveIdentities, graph, "relu ReLU, tanh TanH");
  EXPECT_EQ(result.values[result.nodes[0].outputs[0]].name, "y") << "the newest of its values";
}

TEST(IdentitiesPass, LeavesWhatComputes) {
  const Graph graph = GraphFrom(
      LayerText("Dropout", "scaled", "data", "x", "dropout_param { scale_train: false }") +
      LayerText("Power", "square", "x", "y", "power_param { power: 2 }"));
  ExpectPass(RemoveIdentities, graph, "scaled Dropout, square Power");
}

TEST(IdentitiesPass, LeavesWhatIsSeenFromBothSides) {
  ExpectPass(RemoveIdentities, GraphFrom(LayerText("Dropout", "drop", "data", "out")),
             "drop Dropout");
  const Graph graph = GraphFrom(LayerText("ReLU", "relu", "data", "x") +
                                LayerText("Split", "split", "x", "a", "top: 'b'"));
  ExpectPass(RemoveIdentities, graph, "relu ReLU, split Split");
}

const char kLabelled[] =
    "layer { name: 'data' type: 'Input' top: 'data' top: 'label' "
    "input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } } ";

/// The net computes `form` of its data after the pass and has no label.
void ExpectInferenceForm(const std::string& layers, const std::string& nodes,
                         const std::string& output, const std::string& form) {
  const Graph result = LossesToInference(GraphFrom(layers, kLabelled));
  result.Validate();
  EXPECT_EQ(Nodes(result), nodes);
  ASSERT_EQ(result.inputs.size(), 1u) << ToText(result);
  const NamedValues inputs = RandomInputs(result);
  const Graph expected = GraphFrom(LayerText("TanH", "x", "data", "x") + form, kLabelled);
  NamedValues both = inputs;
  both["label"] = {0, 0};
  const NamedValues actual = RunGraph(result, inputs);
  ASSERT_EQ(actual.count(output), 1u) << ToText(result);
  const NamedValues wanted = RunGraph(expected, both);
  EXPECT_EQ(actual.at(output),
            wanted.begin()->first == "label" ? wanted.rbegin()->second : wanted.begin()->second);
}

TEST(LossesPass, MakesProbabilities) {
  const std::string x = LayerText("TanH", "x", "data", "x");
  const std::string labels = "bottom: 'label' ";
  ExpectInferenceForm(x + LayerText("SoftmaxWithLoss", "loss", "x", "loss", labels),
                      "x TanH, loss Softmax", "loss", LayerText("Softmax", "p", "x", "p"));
  ExpectInferenceForm(x + LayerText("SoftmaxWithLoss", "loss", "x", "loss", labels + "top: 'prob'"),
                      "x TanH, loss Softmax", "prob", LayerText("Softmax", "p", "x", "p"));
  ExpectInferenceForm(x + LayerText("SoftmaxWithLoss", "loss", "x", "", labels),
                      "x TanH, loss Softmax", "loss_top_0", LayerText("Softmax", "p", "x", "p"));
}

TEST(LossesPass, KeepsPredictionsAndDropsScores) {
  const std::string x = LayerText("TanH", "x", "data", "x");
  const std::string labels = "bottom: 'label' ";
  ExpectInferenceForm(x + LayerText("HingeLoss", "loss", "x", "loss", labels), "x TanH", "x", "");
  ExpectInferenceForm(x + LayerText("Accuracy", "accuracy", "x", "accuracy", labels), "x TanH", "x",
                      "");
  ExpectInferenceForm(x + LayerText("SoftmaxWithLoss", "loss", "x", "loss", labels) +
                          LayerText("Accuracy", "accuracy", "x", "accuracy", labels),
                      "x TanH, loss Softmax", "loss", LayerText("Softmax", "p", "x", "p"));
}

TEST(DeadLayersPass, KeepsWhatOutputsNeed) {
  Graph graph = GraphFrom(
      LayerText("ReLU", "wanted", "data", "a") + LayerText("TanH", "dead", "a", "b") +
      LayerText("AbsVal", "deader", "b", "c") +
      LayerText("Pooling", "pool", "a", "d", "top: 'mask' pooling_param { kernel_size: 2 }"));
  graph.outputs = {graph.FindValue("d")};
  const Graph result = ExpectPass(RemoveDeadLayers, graph, "wanted ReLU, pool Pooling");
  EXPECT_EQ(result.nodes[1].outputs.size(), 1u);
  EXPECT_EQ(result.values.size(), 3u);
}

TEST(ConstantsPass, ComputesWhatDependsOnNoInput) {
  const Graph graph =
      GraphFrom(LayerText("Parameter", "parameter", "", "p",
                          "parameter_param { shape { dim: 2 dim: 4 dim: 6 dim: 6 } }") +
                LayerText("TanH", "tanh", "p", "q") +
                LayerText("DummyData", "dummy", "", "d",
                          "dummy_data_param { shape { dim: 2 dim: 4 dim: 6 dim: 6 } "
                          "data_filler { value: 3 } }") +
                LayerText("Eltwise", "sum", "q", "s", "bottom: 'd'") +
                LayerText("Eltwise", "out", "s", "out", "bottom: 'data'"));
  const Graph result = ExpectPass(FoldConstants, graph, "out Eltwise");
  EXPECT_TRUE(result.values[result.FindValue("s")].is_constant());
}

TEST(ConstantsPass, ComputesPriorBoxesFromShapes) {
  const std::pair<const char*, const char*> layers[] = {
      {"PriorBox", "prior_box_param { min_size: 2 }"},
      {"PriorBoxClustered", "prior_box_param { width: 2 height: 3 }"}};
  for (const auto& [type, param] : layers) {
    SCOPED_TRACE(type);
    const Graph graph =
        GraphFrom(Conv("conv", "data", "x") +
                  LayerText(type, "prior", "x", "prior", std::string("bottom: 'data' ") + param));
    ExpectPass(FoldConstants, graph, "conv Convolution");
  }
}

TEST(ConstantsPass, LeavesRandomNumbers) {
  const Graph graph = GraphFrom(
      LayerText("DummyData", "dummy", "", "d",
                "dummy_data_param { shape { dim: 1 } data_filler { type: 'gaussian' } }") +
      LayerText("TanH", "tanh", "d", "t"));
  EXPECT_EQ(Nodes(FoldConstants(graph)), "dummy DummyData, tanh TanH");
}

/// A layer behind "x" for each way to write an affine map of the channels, with its top "y".
const std::string kAffine[] = {
    LayerText("BatchNorm", "affine", "x", "y"),
    LayerText("BatchNorm", "affine", "x", "y", "batch_norm_param { scale_bias: true }"),
    LayerText("Scale", "affine", "x", "y"),
    LayerText("Scale", "affine", "x", "y", "scale_param { bias_term: true }"),
    LayerText("Bias", "affine", "x", "y"),
    LayerText("Power", "affine", "x", "y", "power_param { scale: -0.3 shift: 0.7 }"),
};

const std::string kMaps[] = {
    "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 }",
    "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 3 stride: 2 group: 2 "
    "bias_term: false }",
    "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 2 dilation: 2 axis: -3 }",
    "type: 'ConvolutionDepthwise' convolution_param { num_output: 4 kernel_size: 3 group: 4 }",
    "type: 'Deconvolution' convolution_param { num_output: 6 kernel_size: 3 stride: 2 pad: 1 }",
    "type: 'Deconvolution' convolution_param { num_output: 4 kernel_size: 2 group: 2 "
    "bias_term: false }",
    "type: 'InnerProduct' inner_product_param { num_output: 5 }",
    "type: 'InnerProduct' inner_product_param { num_output: 5 transpose: true bias_term: false }",
};

TEST(AffinePass, FoldsIntoTheLayerBefore) {
  for (const std::string& map : kMaps) {
    for (const std::string& affine : kAffine) {
      SCOPED_TRACE(map + "\n" + affine);
      const Graph graph =
          GraphFrom("layer { name: 'map' bottom: 'data' top: 'x' " + map + " } " + affine);
      ExpectPass(FoldAffine, graph, "map " + graph.nodes[0].type(), kRounding);
    }
  }
}

TEST(AffinePass, FoldsIntoALayerOfNoChannels) {
  const std::string data =
      "layer { name: 'data' type: 'Input' top: 'data' "
      "input_param { shape { dim: 2 dim: 0 dim: 6 dim: 6 } } } ";
  for (const std::string& map : {kMaps[0], kMaps[4], kMaps[6]}) {
    SCOPED_TRACE(map);
    const Graph graph =
        GraphFrom("layer { name: 'map' bottom: 'data' top: 'x' " + map + " } " + kAffine[3], data);
    ExpectPass(FoldAffine, graph, "map " + graph.nodes[0].type(), kRounding);
  }
}

TEST(AffinePass, FoldsIntoTheLayersBehindWhereBordersAllowIt) {
  for (const std::string& map : kMaps) {
    for (const std::string& affine : kAffine) {
      SCOPED_TRACE(map + "\n" + affine);
      const Graph graph = GraphFrom(LayerText("TanH", "x", "data", "x") + affine +
                                    "layer { name: 'map' bottom: 'y' top: 'z' " + map + " } " +
                                    "layer { name: 'map2' bottom: 'y' top: 'z2' " + map + " } ");
      const bool shifts = affine.find("'Scale'") == std::string::npos ||
                          affine.find("bias_term") != std::string::npos;
      const bool borders =
          map.find("pad:") != std::string::npos || map.find("'Deconvolution'") != std::string::npos;
      const std::string type = graph.nodes[2].type();
      const std::string maps = "map " + type + ", map2 " + type;
      ExpectPass(FoldAffine, graph,
                 shifts && borders ? "x TanH, affine " + graph.nodes[1].type() + ", " + maps
                                   : "x TanH, " + maps,
                 kRounding);
    }
  }
}

TEST(AffinePass, FoldsChains) {
  const Graph graph =
      GraphFrom(LayerText("Power", "input", "data", "a", "power_param { scale: 0.1 shift: -2 }") +
                Conv("conv", "a", "x", "kernel_size: 3 bias_term: false") +
                LayerText("BatchNorm", "bn", "x", "x") +
                LayerText("Scale", "scale", "x", "x", "scale_param { bias_term: true }"));
  ExpectPass(FoldAffine, graph, "conv Convolution", kRounding);
}

TEST(AffinePass, LeavesWhatIsSeenOrNoMapOfChannels) {
  Graph graph = GraphFrom(Conv("conv", "data", "x") + LayerText("Scale", "scale", "x", "y"));
  graph.outputs.push_back(graph.FindValue("x"));
  ExpectPass(FoldAffine, graph, "conv Convolution, scale Scale");
  ExpectPass(FoldAffine,
             GraphFrom(Conv("conv", "data", "x") +
                       LayerText("Scale", "scale", "x", "y", "scale_param { axis: 2 }") +
                       LayerText("Bias", "bias", "y", "z", "bias_param { axis: 3 }") +
                       LayerText("Power", "power", "z", "p", "power_param { power: 2 }")),
             "conv Convolution, scale Scale, bias Bias, power Power");
  ExpectPass(FoldAffine,
             GraphFrom(Conv("conv", "data", "x") + LayerText("ReLU", "relu", "x", "r") +
                       LayerText("Scale", "scale", "r", "y") + LayerText("TanH", "tanh", "y", "z")),
             "conv Convolution, relu ReLU, scale Scale, tanh TanH");
}

const char kMaxPooling[] = "pooling_param { kernel_size: 3 stride: 2 pad: 1 }";

TEST(PoolingOrderPass, BringsTheActivationToTheConvolution) {
  const Graph graph =
      GraphFrom(Conv("conv", "data", "x") + LayerText("Pooling", "pool", "x", "y", kMaxPooling) +
                LayerText("ReLU", "relu", "y", "z", "relu_param { negative_slope: 0.1 }"));
  ExpectPass(OrderPooling, graph, "conv Convolution, relu ReLU, pool Pooling");
}

TEST(PoolingOrderPass, ElsewherePoolsFirst) {
  for (const char* activation :
       {"type: 'ReLU'", "type: 'ReLU6'", "type: 'Clip' clip_param { min: -0.2 max: 0.1 }"}) {
    const Graph graph =
        GraphFrom(LayerText("TanH", "x", "data", "x") + "layer { name: 'f' bottom: 'x' top: 'y' " +
                  activation + " } " + LayerText("Pooling", "pool", "y", "z", kMaxPooling));
    const Graph result =
        ExpectPass(OrderPooling, graph, "x TanH, pool Pooling, f " + graph.nodes[1].type());
    EXPECT_EQ(result.FindValue("y"), -1) << "no value is the net's blob 'y'";
    EXPECT_EQ(result.values[result.FindValue("x_pool")].shape, (Shape{2, 4, 4, 4}));
  }
}

TEST(PoolingOrderPass, LeavesWhatWouldChange) {
  const std::string x = LayerText("TanH", "x", "data", "x");
  for (const std::string& pair :
       {LayerText("ReLU", "f", "x", "y", "relu_param { negative_slope: -0.5 }") +
            LayerText("Pooling", "pool", "y", "z", kMaxPooling),
        LayerText("ReLU", "f", "x", "y") +
            LayerText("Pooling", "pool", "y", "z", "pooling_param { pool: AVE kernel_size: 2 }"),
        LayerText("ReLU", "f", "x", "y") +
            LayerText("Pooling", "pool", "y", "z", std::string("top: 'mask' ") + kMaxPooling)}) {
    ExpectPass(OrderPooling, GraphFrom(x + pair), "x TanH, f ReLU, pool Pooling");
  }
}

TEST(ConcatOrderPass, BringsTheActivationToTheLayersThatMakeTheParts) {
  const Graph graph =
      GraphFrom(Conv("a", "data", "a") + Conv("b", "data", "b", "kernel_size: 1") +
                "layer { name: 'join' type: 'Concat' bottom: 'a' bottom: 'b' top: 'join' } " +
                LayerText("Sigmoid", "s", "join", "s"));
  const Graph result =
      ExpectPass(OrderConcat, graph,
                 "a Convolution, b Convolution, s of a Sigmoid, s of b Sigmoid, join Concat");
  EXPECT_EQ(Nodes(FuseActivations(result)),
            "a Convolution+Sigmoid, b Convolution+Sigmoid, join Concat");
}

TEST(ConcatOrderPass, LeavesPartsThatOthersReadOrMakeAndOneSlopeAChannel) {
  const std::string join =
      "layer { name: 'join' type: 'Concat' bottom: 'a' bottom: 'b' top: 'j' } ";
  const std::string a = Conv("a", "data", "a"), b = Conv("b", "data", "b");
  const std::string pooled =
      LayerText("Pooling", "b", "data", "b", "pooling_param { kernel_size: 3 pad: 1 stride: 1 }");
  const std::string relu = LayerText("ReLU", "r", "j", "r");
  for (const std::string& layers :
       {a + pooled + join + relu, a + b + join + relu + LayerText("TanH", "other", "a", "other"),
        a + b + join + relu + LayerText("TanH", "other", "j", "other"),
        a + b + join + LayerText("PReLU", "r", "j", "r")}) {
    const Graph graph = GraphFrom(layers);
    ExpectPass(OrderConcat, graph, Nodes(graph));
  }
}

TEST(ResidualsPass, SumsIntoTheLaterConvolution) {
  for (const std::string bottoms : {"bottom: 'a' bottom: 'b'", "bottom: 'b' bottom: 'a'"}) {
    const Graph graph = GraphFrom(Conv("conv_a", "data", "a") + Conv("conv_b", "data", "b") +
                                  "layer { name: 'sum' type: 'Eltwise' top: 's' " + bottoms +
                                  " eltwise_param { coeff: 0.5 coeff: -3 } }" +
                                  LayerText("ReLU", "relu", "s", "out"));
    const Graph result =
        ExpectPass(FuseResiduals, graph,
                   "conv_a Convolution, conv_b Convolution+Eltwise, relu ReLU", kRounding);
    ExpectPass(FuseActivations, result, "conv_a Convolution, conv_b Convolution+Eltwise+ReLU");
  }
}

TEST(ResidualsPass, LeavesOtherSums) {
  const std::string convs = Conv("conv", "data", "a") + LayerText("TanH", "tanh", "a", "t");
  ExpectPass(FuseResiduals, GraphFrom(convs + LayerText("Eltwise", "sum", "a", "s", "bottom: 't'")),
             "conv Convolution, tanh TanH, sum Eltwise");
  const std::string conv = Conv("conv", "data", "a");
  ExpectPass(FuseResiduals, GraphFrom(conv + LayerText("Eltwise", "sum", "a", "s", "bottom: 'a'")),
             "conv Convolution, sum Eltwise");
  ExpectPass(FuseResiduals,
             GraphFrom(conv + LayerText("Eltwise", "max", "a", "s",
                                        "bottom: 'data' eltwise_param { operation: MAX }")),
             "conv Convolution, max Eltwise");
}

TEST(ActivationsPass, GoIntoEveryLayerWithWeights) {
  const std::string activations[] = {"type: 'ReLU'",
                                     "type: 'ReLU6'",
                                     "type: 'PReLU'",
                                     "type: 'ELU'",
                                     "type: 'Swish'",
                                     "type: 'Sigmoid'",
                                     "type: 'Clip' clip_param { min: -0.2 max: 0.1 }"};
  for (const std::string& map : kMaps) {
    for (const std::string& activation : activations) {
      SCOPED_TRACE(map + "\n" + activation);
      const Graph graph = GraphFrom("layer { name: 'map' bottom: 'data' top: 'x' " + map + " } " +
                                    "layer { name: 'f' bottom: 'x' top: 'x' " + activation + " }");
      ExpectPass(FuseActivations, graph,
                 "map " + graph.nodes[0].type() + "+" + graph.nodes[1].type(), kRounding);
    }
  }
}

TEST(ActivationsPass, LeavesWhatIsReadBefore) {
  ExpectPass(FuseActivations,
             GraphFrom(Conv("conv", "data", "x") + LayerText("ReLU", "relu", "x", "y") +
                       LayerText("TanH", "tanh", "x", "z")),
             "conv Convolution, relu ReLU, tanh TanH");
}

TEST(SiblingsPass, MergesConvolutionsOfOneKind) {
  const Graph graph = FuseActivations(GraphFrom(
      Conv("a", "data", "a") + LayerText("ReLU", "relu_a", "a", "a") +
      Conv("other", "data", "other", "kernel_size: 3") + Conv("plain", "data", "plain") +
      LayerText("Convolution", "b", "data", "b",
                "convolution_param { num_output: 3 kernel_size: 3 pad: 1 bias_term: false }") +
      LayerText("ReLU", "relu_b", "b", "b") + LayerText("BNLL", "bnll", "b", "c")));
  const Graph result = ExpectPass(MergeSiblings, graph,
                                  "a+b Convolution+ReLU, a+b_slice Slice, other Convolution, "
                                  "plain Convolution, bnll BNLL",
                                  kRounding);
  EXPECT_EQ(result.values[result.FindValue("a+b")].shape, (Shape{2, 7, 6, 6}));
}

TEST(SiblingsPass, LeavesOtherKinds) {
  ExpectPass(
      MergeSiblings,
      GraphFrom(Conv("a", "data", "a") +
                Conv("b", "data", "b",
                     "kernel_size: 3 pad: 1 "
                     "group: 2") +
                Conv("c", "data", "c", "kernel_size: 3 pad: 1 stride: 2") + Conv("d", "a", "d")),
      "a Convolution, b Convolution, c Convolution, d Convolution");
}

// In integers siblings share a range, which may cost each of them one of its 8 bits.
TEST(SiblingsPass, LeavesRangesThatWouldLoseMoreThanABit) {
  const Graph graph = GraphFrom(Conv("a", "data", "a") + Conv("b", "data", "b") +
                                Conv("c", "data", "c") + Conv("d", "data", "d"));
  const ValueBounds ranges = {
      {"a", {-1, 1}}, {"b", {-0.01, 0.01}}, {"c", {0, 2}}, {"d", {-0.02, 0}}};
  const auto nodes = [&](const ValueBounds& known) {
    std::string names;
    for (const Node& node : MergeSiblings(graph, known).nodes) names += node.name() + " ";
    return names;
  };
  EXPECT_EQ(nodes(ranges), "a+c a+c_slice b+d b+d_slice ");
  EXPECT_EQ(nodes({{"a", {-1, 1}}, {"b", {-3.1, 0}}}), "a b c+d c+d_slice ");
}

/// How many nodes have nothing to do.
int FreeNodes(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) count += IsFree(graph, node);
  return count;
}

TEST(ViewsPass, MakesConcatSliceFlattenAndReshapeFree) {
  const Graph graph = GraphFrom(
      Conv("a", "data", "a") + Conv("b", "data", "b") +
      LayerText("Concat", "inner", "a", "ab", "bottom: 'b'") + Conv("c", "data", "c") +
      LayerText("Concat", "outer", "ab", "abc", "bottom: 'c'") +
      LayerText("Slice", "slice", "abc", "first", "top: 'second' slice_param { slice_point: 3 }") +
      LayerText("Flatten", "flat", "first", "flat") + LayerText("TanH", "t", "flat", "t") +
      LayerText("Reshape", "reshape", "second", "rows",
                "reshape_param { shape { dim: 0 dim: -1 } }") +
      LayerText("TanH", "u", "rows", "u"));
  const Graph result =
      ExpectPass(MakeViews, graph,
                 "a Convolution, b Convolution, inner Concat, c Convolution, outer Concat, "
                 "slice Slice, flat Flatten, t TanH, reshape Reshape, u TanH");
  EXPECT_EQ(FreeNodes(result), 5) << ToText(result);
  EXPECT_EQ(RootOf(result, result.FindValue("a")), result.FindValue("abc"));
  EXPECT_EQ(RootOf(result, result.FindValue("rows")), result.FindValue("abc"));
}

TEST(ViewsPass, CopiesWhatCannotLieThere) {
  const auto free_nodes = [](const std::string& layers) {
    const Graph graph = GraphFrom(layers);
    std::string nodes = Nodes(graph);
    return FreeNodes(ExpectPass(MakeViews, graph, nodes));
  };
  const std::string a = Conv("a", "data", "a"), b = Conv("b", "data", "b");
  EXPECT_EQ(free_nodes(a + LayerText("Concat", "twice", "a", "c", "bottom: 'a'")), 0);
  EXPECT_EQ(free_nodes(a + LayerText("Concat", "input", "a", "c", "bottom: 'data'")), 0);
  EXPECT_EQ(
      free_nodes(a + b +
                 LayerText("Concat", "batch", "a", "c", "bottom: 'b' concat_param { axis: 0 }")),
      0);
  EXPECT_EQ(free_nodes(a + LayerText("Slice", "outputs", "a", "c", "top: 'd'")), 0);
  EXPECT_EQ(free_nodes(a + b + LayerText("Concat", "first", "a", "c", "bottom: 'b'") +
                       LayerText("Concat", "second", "b", "d", "bottom: 'a'")),
            1);
}

TEST(ViewsPass, LeavesRunsWithinRunsToCopying) {
  const Graph graph =
      GraphFrom(Conv("a", "data", "a") + Conv("b", "data", "b") +
                LayerText("Concat", "rows", "a", "ab", "bottom: 'b' concat_param { axis: 2 }") +
                Conv("c", "ab", "c") + LayerText("Concat", "channels", "ab", "abc", "bottom: 'c'"));
  const Graph result =
      ExpectPass(MakeViews, graph,
                 "a Convolution, b Convolution, rows Concat, c Convolution, channels Concat");
  EXPECT_EQ(FreeNodes(result), 1) << ToText(result);
}

TEST(OrderPass, RunsABranchToItsEndBeforeTheNext) {
  // Four large blobs are there at once if all "large" ones run first.
  std::string layers;
  for (const char* name : {"a", "b", "c", "d"}) {
    layers +=
        Conv(std::string("large_") + name, "data", std::string("large_") + name, "kernel_size: 1");
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    layers += LayerText("Pooling", name, std::string("large_") + name, name,
                        "pooling_param { kernel_size: 2 stride: 2 }");
  }
  layers +=
      "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'c' bottom: 'd' "
      "top: 'sum' } ";
  const Graph graph = GraphFrom(layers);
  const Graph ordered = OrderForMemory(graph);
  ordered.Validate();
  EXPECT_LT(LargestLiveBytes(Lifetimes(ordered)), LargestLiveBytes(Lifetimes(graph)) / 2);
  const NamedValues inputs = RandomInputs(graph);
  ExpectSame(RunGraph(graph, inputs), RunGraph(ordered, inputs), 0);
}

TEST(OrderPass, LeavesWhatCannotGetBetter) {
  const Graph graph = GraphFrom(Conv("a", "data", "a") + Conv("b", "a", "b") + Conv("c", "b", "c"));
  ExpectPass(OrderForMemory, graph, Nodes(graph));
}

TEST(MemoryPass, GivesValuesThatMeetDifferentPlaces) {
  const Graph graph = GraphFrom(Conv("a", "data", "a") + Conv("b", "a", "b") + Conv("c", "b", "c") +
                                Conv("d", "c", "d"));
  const Graph result =
      ExpectPass(PlanMemory, graph, "a Convolution, b Convolution, c Convolution, d Convolution");
  const size_t bytes = 2 * 4 * 6 * 6 * 4;  // a multiple of 64; d is an output
  EXPECT_EQ(result.arena_bytes, 2 * bytes);
  EXPECT_EQ(LargestLiveBytes(Lifetimes(graph)), 2 * bytes);
}

TEST(MemoryPass, OverlapsNothingThatLivesAtOnce) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    // A chain of values of many sizes, each read again up to five nodes later.
    Graph graph;
    graph.name = "sizes";
    graph.inputs = {graph.AddValue("v0", {1, 8})};
    for (int i = 1; i < 60; ++i) {
      Node node;
      node.layer = ParseLayer("name: 'n" + std::to_string(i) + "' type: 'InnerProduct'");
      node.inputs = {std::max(0, i - 1 - static_cast<int>(random() % 5)), i - 1};
      node.outputs = {graph.AddValue("v" + std::to_string(i), {1, int(1 + random() % 5000)})};
      graph.nodes.push_back(node);
    }
    graph.outputs = {59};
    const Graph result = PlanMemory(graph);
    result.Validate();
    const std::vector<Lifetime> lifetimes = Lifetimes(result);
    EXPECT_EQ(lifetimes.size(), 58u);
    for (const Lifetime& a : lifetimes) {
      for (const Lifetime& b : lifetimes) {
        if (a.value == b.value || a.last < b.first || b.last < a.first) continue;
        const int64_t begin = result.values[a.value].arena_offset;
        const int64_t other = result.values[b.value].arena_offset;
        EXPECT_TRUE(begin + int64_t(a.bytes) <= other || other + int64_t(b.bytes) <= begin);
      }
    }
    const size_t bound = LargestLiveBytes(lifetimes);
    EXPECT_LE(result.arena_bytes, bound + bound / 10);
  }
}

// A chain of blobs of 4 KB: two are alive at a time.
TEST(MemoryPass, ScratchMemoryLiesBehindValuesIfThatCostsLittle) {
  Graph graph;
  graph.inputs = {graph.AddValue("v0", {1, 1024})};
  for (int i = 1; i < 8; ++i) {
    Node node;
    node.layer = ParseLayer("name: 'n" + std::to_string(i) + "' type: 'ReLU'");
    node.inputs = {i - 1};
    node.outputs = {graph.AddValue("v" + std::to_string(i), {1, 1024})};
    graph.nodes.push_back(node);
  }
  graph.outputs = {7};
  // The first node reads an input: it leaves 4 KB free.
  const std::vector<size_t> scratch = {4096, 0, 1024, 0, 0, 100, 0};
  const auto place = [](const Graph& planned, size_t node, size_t bytes) {
    return ArenaGaps(planned).Place(node, bytes);
  };
  const Graph shared = PlanMemory(graph, scratch);
  EXPECT_EQ(shared.arena_bytes, 8192u);
  EXPECT_LT(place(shared, 0, 4096), 8192u) << "where values lie later";
  EXPECT_EQ(place(shared, 2, 1024), 8192u) << "nothing is free";

  graph.nodes[0].parameters = {NewConstant(ElementType::FLOAT, 10000)};
  const Graph apart = PlanMemory(graph, scratch);
  EXPECT_EQ(apart.arena_bytes, 8192u + 4096u);
  apart.Validate();
  for (const size_t node : {0, 2, 5}) {
    EXPECT_EQ(place(apart, node, scratch[node]), 8192u) << "one place for all";
  }
  EXPECT_GE(place(apart, 2, 5000), 8192u) << "more than was planned, as with more threads";
  EXPECT_EQ(PlanMemory(graph, scratch, ScratchPlace::SHARED).arena_bytes, 8192u)
      << "as with a limit";
}

}  // namespace
}  // namespace caffe::inference
