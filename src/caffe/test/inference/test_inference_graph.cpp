// The graph: what it checks, how nets become graphs, how it prints.
#include <gtest/gtest.h>

#include <cmath>

#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

/// data -> relu -> y.
Graph OneRelu() {
  Graph graph;
  graph.name = "one";
  graph.inputs = {graph.AddValue("data", {2, 3})};
  Node node;
  node.layer = ParseLayer("name: 'relu' type: 'ReLU'");
  node.inputs = {0};
  node.outputs = graph.outputs = {graph.AddValue("y", {2, 3})};
  graph.nodes.push_back(node);
  return graph;
}

void ExpectInvalid(const Graph& graph, const std::string& message) {
  ExpectContains(ErrorOf([&] { graph.Validate(); }), message);
}

TEST(Graph, AcceptsWhatIsWhole) { EXPECT_NO_THROW(OneRelu().Validate()); }

TEST(Graph, RefusesWhatIsNot) {
  Graph graph = OneRelu();
  graph.values[1].name = "data";
  ExpectInvalid(graph, "graph 'one': two values are called 'data'");
  graph = OneRelu();
  graph.nodes.push_back(graph.nodes[0]);
  ExpectInvalid(graph, "two nodes are called 'relu'");
  graph.nodes[1].layer.set_name("again");
  ExpectInvalid(graph, "node 'again' (ReLU): it makes value 'y', which there is already");
  graph = OneRelu();
  graph.nodes[0].inputs = {7};
  ExpectInvalid(graph, "node 'relu' (ReLU): its inputs name value 7 of 2");
  graph = OneRelu();
  graph.nodes[0].inputs = {1};
  ExpectInvalid(graph, "it reads value 'y', which no node before it makes");
  graph = OneRelu();
  graph.nodes.clear();
  ExpectInvalid(graph, "output value 'y' is made by no node");
  graph = OneRelu();
  graph.values[0].shape = {2, -3};
  ExpectInvalid(graph, "extent -3 is negative");
  graph.values[0].shape = {1 << 16, 1 << 16};
  ExpectInvalid(graph, "more than 2^31 - 1 elements");
  graph = OneRelu();
  graph.values[1].view = {0, 1, 1};
  graph.values[1].shape = {2, 2};
  EXPECT_NO_THROW(graph.Validate());
  graph.values[1].view.offset = 2;
  ExpectInvalid(graph, "value 'y' does not lie within value 'data'");
  graph = OneRelu();
  graph.values[0].view.base = 1;
  graph.values[1].view.base = 0;
  ExpectInvalid(graph, "is a view of itself");
  graph = OneRelu();
  graph.arena_bytes = 64;
  graph.values[1].arena_offset = 0;
  EXPECT_NO_THROW(graph.Validate());
  graph.values[1].arena_offset = 64;
  ExpectInvalid(graph, "does not lie within the arena of 64 bytes");
}

// base (2, 4, 3); part: its channels 1 and 2; flat: the part as rows; last: the part's channel 2.
TEST(Regions, FollowViewsToTheirRoot) {
  Graph graph;
  graph.AddValue("base", {2, 4, 3});
  graph.values[graph.AddValue("part", {2, 2, 3})].view = {0, 1, 1};
  graph.values[graph.AddValue("flat", {2, 6})].view = {1, 0, 0};
  graph.values[graph.AddValue("last", {2, 1, 3})].view = {1, 1, 1};
  graph.values[graph.AddValue("column", {2, 2, 1})].view = {1, 2, 0};
  const auto expect = [&](int value, size_t offset, size_t outer, size_t stride, size_t run) {
    const auto region = RegionOf(graph, value);
    ASSERT_TRUE(region.has_value());
    EXPECT_EQ(region->root, 0);
    EXPECT_EQ(region->offset, offset);
    EXPECT_EQ(region->outer, outer);
    EXPECT_EQ(region->stride, stride);
    EXPECT_EQ(region->run, run);
  };
  expect(1, 3, 2, 12, 6);
  expect(2, 3, 2, 12, 6);
  expect(3, 6, 2, 12, 3);
  EXPECT_FALSE(RegionOf(graph, 4)) << "runs within runs of another number are none";
}

TEST(GraphOf, GivesEachLayerInPlaceAValueOfItsOwn) {
  const auto net = MakeNet(R"(
    name: 'net'
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 } } }
    layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'x' }
    layer { name: 'power' type: 'Power' bottom: 'x' top: 'x' power_param { shift: 1 } }
    layer { name: 'a' type: 'TanH' bottom: 'x' top: 'a' }
    layer { name: 'b' type: 'TanH' bottom: 'x' top: 'b' })");
  EXPECT_EQ(ToText(GraphOf(*net)),
            "graph 'net': 4 nodes\n"
            "input data: 2x3\n"
            "relu = ReLU(data) -> x_before_power: 2x3\n"
            "power = Power(x_before_power) -> x: 2x3\n"
            "a = TanH(x) -> a: 2x3\n"
            "b = TanH(x) -> b: 2x3\n"
            "output a\n"
            "output b\n");
}

/// "data" -> "x" by the layer "double", then `layers`.
string AfterDouble(const string& layers) {
  return R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
      layer { name: "double" type: "Power" bottom: "data" top: "x" power_param { scale: 2 } } )" +
         layers;
}

// In a net the ReLU changes "x", too: who reads that afterwards is refused, who reads it before
// gets what the net gives it.
TEST(GraphOf, RefusesReadersOfWhatIsChangedInPlaceByAnotherName) {
  const string view = "layer { name: 'flat' type: 'Flatten' bottom: 'x' top: 'v' } ";
  const string split = "layer { name: 'copies' type: 'Split' bottom: 'x' top: 'v' top: 'w' } ";
  const string relu = "layer { name: 'relu' type: 'ReLU' bottom: 'v' top: 'v' } ";
  const string drop = "layer { name: 'drop' type: 'Dropout' bottom: 'v' top: 'v' } ";
  const auto reader = [](const string& blob) {
    return "layer { name: 'y' type: 'Power' bottom: '" + blob +
           "' top: 'y' power_param { shift: 1 } } ";
  };
  const auto message = [](const string& layers) {
    return ErrorOf([&] { NetworkDefinition::FromCaffe(ParseNet(AfterDouble(layers)), {}); });
  };
  const string after = message(view + relu + reader("x"));
  ExpectContains(after, "layer 'relu' (ReLU) works in place on blob 'v'");
  ExpectContains(after, "in the memory of blob 'x'");
  ExpectContains(after, "layer 'y' (Power)");
  ExpectContains(after, "a name of its own");
  ExpectContains(message(split + relu + reader("w")), "layer 'y' (Power)");
  ExpectContains(message(split + relu), "is an output");
  EXPECT_EQ(message(view + relu + reader("v")), "");
  EXPECT_EQ(message(view + drop + reader("x")), "") << "Dropout changes nothing";
  EXPECT_EQ(message(view + relu + "layer { name: 'y' type: 'Reduction' bottom: 'v' top: 's' } " +
                    "layer { name: 'crop' type: 'Crop' bottom: 'data' bottom: 'x' top: 'y' "
                    "crop_param { axis: 1 } }"),
            "")
      << "Crop reads the shape";

  for (const string& layers :
       {view + reader("x") + relu, reader("x") + view + relu, split + reader("w") + relu}) {
    const auto net = MakeNet(AfterDouble(layers));
    SetValues(net->input_blobs()[0], {1, -2, 3, -4});
    net->Forward();
    EXPECT_EQ(RunGraph(GraphOf(*net), InputsOf(*net)), OutputsOf(*net)) << layers;
  }
}

TEST(GraphOf, KeepsTheNamesOfInputsThatAreOverwritten) {
  const auto net = MakeNet(R"(
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 } } }
    layer { name: 'scale' type: 'Power' bottom: 'data' top: 'data' power_param { scale: 2 } }
    layer { name: 'shift' type: 'Power' bottom: 'data' top: 'data' power_param { shift: 1 } })");
  const Graph graph = GraphOf(*net);
  EXPECT_EQ(RunGraph(graph, {{"data", {3}}}), (NamedValues{{"data_after_shift", {7}}}));
}

TEST(GraphOf, NamesLayersOfOneNameApart) {
  const auto net = MakeNet(R"(
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 } } }
    layer { name: 'same' type: 'ReLU' bottom: 'data' top: 'a' }
    layer { name: 'same' type: 'ReLU' bottom: 'a' top: 'b' })");
  const Graph graph = GraphOf(*net);
  EXPECT_EQ(graph.nodes[0].name(), "same");
  EXPECT_EQ(graph.nodes[1].name(), "same_2");
}

TEST(GraphOf, TakesTheFactorOutOfStatistics) {
  const auto net = MakeNet(R"(
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 } } }
    layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' })");
  const auto& blobs = net->layer_by_name("bn")->blobs();
  SetValues(blobs[0].get(), {2, 4});
  SetValues(blobs[1].get(), {8, 16});
  SetValues(blobs[2].get(), {4});
  const Graph graph = GraphOf(*net);
  EXPECT_EQ(graph.nodes[0].parameters[0].ToVector(), (Floats{0.5, 1}));
  EXPECT_EQ(graph.nodes[0].parameters[1].ToVector(), (Floats{2, 4}));
  EXPECT_EQ(graph.nodes[0].parameters[2].ToVector(), (Floats{1}));
  EXPECT_EQ(Values(*blobs[0]), (std::vector<double>{2, 4})) << "the net's own stay";
}

// A net that runs may pack its weights and drop the plain ones; one that is gone has none.
TEST(GraphOf, KeepsParametersWhateverBecomesOfTheNet) {
  auto net = MakeNet(R"(
    layer { name: 'data' type: 'Input' top: 'data'
      input_param { shape { dim: 1 dim: 16 dim: 12 dim: 12 } } }
    layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
      convolution_param { num_output: 32 kernel_size: 3 weight_filler { type: 'gaussian' } } }
    layer { name: 'fc' type: 'InnerProduct' bottom: 'conv' top: 'fc'
      inner_product_param { num_output: 24 weight_filler { type: 'gaussian' } } })");
  const Graph graph = GraphOf(*net);
  const Floats conv = graph.nodes[0].parameters[0].ToVector();
  const Floats fc = graph.nodes[1].parameters[0].ToVector();
  for (int i = 0; i < 2; ++i) net->Forward();
  net.reset();
  EXPECT_EQ(graph.nodes[0].parameters[0].ToVector(), conv);
  EXPECT_EQ(graph.nodes[1].parameters[0].ToVector(), fc);
}

TEST(NetworkDefinition, ReadsCaffesFilesWithTheirWeights) {
  const std::string model = NewFile(R"(
    name: 'file' input: 'data' input_shape { dim: 1 dim: 2 }
    layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'fc' forward_type: FLOAT16
      inner_product_param { num_output: 1 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'fc' bottom: 'data' top: 'loss'
      include { phase: TRAIN } })");
  Net<float> net(model, TEST);
  SetValues(net.layer_by_name("fc")->blobs()[0].get(), {1, 3});
  SetValues(net.layer_by_name("fc")->blobs()[1].get(), {0.5});
  const std::string weights = NewFileName();
  net.ToBinaryProto(weights);
  const NetworkDefinition read = NetworkDefinition::FromCaffe(model, {weights});

  EXPECT_EQ(RunGraph(read.graph(), {{"data", {1, 0}}}), (NamedValues{{"fc", {1.5}}}));
  EXPECT_EQ(read.graph().nodes[0].parameters[1].ToVector(), (Floats{0.5}));
}

TEST(NetworkDefinition, IsPutTogetherLayerByLayer) {
  NetworkDefinition net("code");
  net.AddInput("data", {1, 2});
  net.AddLayer(ParseLayer("name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'x' "
                          "inner_product_param { num_output: 2 }"),
               {Constant::Of({2, 2}, {1, 2, 3, 4}), Constant::Of({2}, {0, -20})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'x' top: 'x'"));
  net.MarkOutput("x");
  // x = (1 * 5 + 2 * 1, max(0, 3 * 5 + 4 * 1 - 20))
  EXPECT_EQ(RunGraph(net.graph(), {{"data", {5, 1}}}), (NamedValues{{"x", {7, 0}}}));
}

TEST(NetworkDefinition, SaysWhatIsWrong) {
  NetworkDefinition net("code");
  EXPECT_EQ(ErrorOf([&] { net.graph(); }), "net 'code' has no outputs: mark one");
  net.AddInput("data", {1, 2});
  const auto error = [&](const std::string& layer, const std::vector<Constant>& parameters = {}) {
    return ErrorOf([&] { net.AddLayer(ParseLayer(layer), parameters); });
  };
  ExpectContains(error("name: 'a' type: 'ReLU' bottom: 'dat' top: 'a'"),
                 "layer 'a' (ReLU): bottom 'dat' is made by no layer before");
  ExpectContains(error("name: 'a' type: 'ReLU' bottom: 'data' top: 'data'"), "is an input");
  ExpectContains(error("name: 'a' type: 'ReLuu' bottom: 'data' top: 'a'"), "ReLuu");
  ExpectContains(error("name: 'a' type: 'InnerProduct' bottom: 'data' top: 'a' "
                       "inner_product_param { num_output: 2 }",
                       {Constant::Of({3}, {1, 2, 3})}),
                 "layer 'a' (InnerProduct)");
  ExpectContains(ErrorOf([&] { net.MarkOutput("nothing"); }), "output 'nothing'");
  ExpectContains(ErrorOf([&] { net.AddInput("data", {1}); }), "input 'data'");
  ExpectContains(ErrorOf([&] {
                   net.AddInput("image", {1, -2});
                 }),
                 "input 'image': extent -2 of shape 1 -2");
  Constant without_values;
  without_values.shape = {2, 2};
  const LayerParameter product = ParseLayer(
      "name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
      "num_output: 2 bias_term: false }");
  ExpectContains(ErrorOf([&] { net.AddLayer(product, {without_values}); }),
                 "layer 'ip' (InnerProduct): parameter 0 of shape 2 2 (4) has no values");
  ExpectContains(ErrorOf([] { Constant::Of({2}, {1}); }), "has 1 values");
}

TEST(NetworkDefinition, KeepsPrecisionsAndRanges) {
  NetworkDefinition net("code");
  net.AddInput("x", {1, 2});
  net.AddLayer(ParseLayer("name: 'power' type: 'Power' bottom: 'x' top: 'y'"));
  EXPECT_TRUE(net.layer_precisions().empty());
  net.SetPrecision("power", Precision::INT8);
  net.SetPrecision("power", Precision::FP16);
  EXPECT_EQ(net.layer_precisions(), (std::map<std::string, Precision>{{"power", Precision::FP16}}));
  net.SetRange("x", -0.5, 2);
  net.SetRange("y", -3, 1);
  net.SetRange("y", 0, 4);
  EXPECT_EQ(net.ranges().blobs(), (std::vector<std::string>{"x", "y"}));
  const BlobCalibration& x = net.ranges().At("x");
  EXPECT_EQ(x.threshold, 2);
  EXPECT_FALSE(x.is_unsigned);
  EXPECT_EQ(x.minimum, -0.5);
  EXPECT_EQ(x.maximum, 2);
  EXPECT_EQ(x.method, "given");
  EXPECT_EQ(net.ranges().At("y").threshold, 4);
  EXPECT_TRUE(net.ranges().At("y").is_unsigned);
}

TEST(NetworkDefinition, NormalizesAnInput) {
  NetworkDefinition net("pixels");
  net.AddInput("x", {1, 2, 1, 2});
  net.AddLayer(ParseLayer("name: 'conv' type: 'Convolution' bottom: 'x' top: 'y' "
                          "convolution_param { num_output: 1 kernel_size: 1 bias_term: false }"),
               {Constant::Of({1, 2, 1, 1}, {1, 10})});
  net.MarkOutput("y");
  net.NormalizeInput("x", {100, 50}, 0.5f);
  // 0.5 (x0 - 100) + 10 * 0.5 (x1 - 50).
  const NamedValues inputs = {{"x", {100, 102, 50, 60}}}, expected = {{"y", {0, 51}}};
  ExpectSame(expected, RunGraph(net.graph(), inputs), 1e-6);
  const Graph optimized = Optimize(net.graph());
  EXPECT_EQ(optimized.nodes.size(), 1u) << "it went into the weights";
  ExpectSame(expected, RunGraph(optimized, inputs), 1e-6);
  ExpectContains(ErrorOf([&] { net.NormalizeInput("y", {}, 1); }), "has no input 'y'");
  ExpectContains(ErrorOf([&] {
                   net.NormalizeInput("x", {1, 2, 3}, 1);
                 }),
                 "has 2 channels, the mean 3 values");
  ExpectContains(ErrorOf([&] { net.NormalizeInput("x", {}, INFINITY); }), "must be finite");
  ExpectContains(ErrorOf([&] { net.NormalizeInput("x", {}, 0); }), "scale not 0");
}

TEST(NetworkDefinition, NormalizesItsInputByAMeanImage) {
  NetworkDefinition net("code");
  net.AddInput("x", {2, 1, 1, 3});
  net.AddLayer(
      ParseLayer("name: 'power' type: 'Power' bottom: 'x' top: 'y' power_param { power: 2 }"));
  net.MarkOutput("y");
  net.NormalizeInput("x", {10, 20, 30}, 0.1f);
  ExpectSame({{"y", {1, 4, 9, 0, 1, 0}}}, RunGraph(net.graph(), {{"x", {20, 40, 60, 10, 30, 30}}}),
             1e-6);
  ExpectContains(ErrorOf([&] {
                   net.NormalizeInput("x", {1, 2}, 1);
                 }),
                 "has 1 channels, the mean 2 values");
  ASSERT_EQ(net.normalizations().size(), 1u);
  EXPECT_EQ(net.normalizations()[0].normalized, "x_normalized");
}

TEST(NetworkDefinition, RefusesPrecisionsAndRangesOfNothing) {
  NetworkDefinition net("code");
  net.AddInput("x", {1, 2});
  ExpectContains(ErrorOf([&] { net.SetPrecision("x", Precision::FP16); }),
                 "net 'code' has no layer 'x'");
  ExpectContains(ErrorOf([&] { net.SetRange("y", 0, 1); }), "net 'code' has no blob 'y'");
  ExpectContains(ErrorOf([&] { net.SetRange("x", 2, 1); }), "blob 'x': a range goes from");
  ExpectContains(ErrorOf([&] { net.SetRange("x", -INFINITY, 1); }), "blob 'x': a range goes from");
  ExpectContains(ErrorOf([&] { net.SetRange("x", 0, NAN); }), "blob 'x': a range goes from");
  ExpectContains(ErrorOf([&] { net.SetRange("x", 0, 0); }), "leaves INT8 nothing");
  EXPECT_TRUE(net.ranges().blobs().empty());
}

/// What the net computes that a graph stands for.
NamedValues RunAsNet(const Graph& graph, const NamedValues& inputs) {
  return RunGraph(NetworkDefinition::FromCaffe(ToNetParameter(graph), {}).graph(), inputs);
}

TEST(ToNetParameter, WritesLayersBlobsAndInputs) {
  NetworkDefinition net("code");
  net.AddInput("data", {1, 2});
  LayerParameter fc = ParseLayer(
      "name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'x' inner_product_param { num_output: 2 "
      "} forward_type: FLOAT16 include { stage: 'deploy' } param { name: 'shared' }");
  net.AddLayer(fc, {Constant::Of({2, 2}, {1, 2, 3, 4}), Constant::Of({2}, {0, -20})});
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'x' top: 'x'"));
  net.MarkOutput("x");
  EXPECT_EQ(ToNetParameter(net.graph()).DebugString(), ParseNet(R"(
    name: 'code'
    state { phase: TEST }
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 } } }
    layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'x_before_relu' phase: TEST
      inner_product_param { num_output: 2 }
      blobs { shape { dim: 2 dim: 2 } data: 1 data: 2 data: 3 data: 4 }
      blobs { shape { dim: 2 } data: 0 data: -20 } }
    layer { name: 'relu' type: 'ReLU' bottom: 'x_before_relu' top: 'x' phase: TEST })")
                                                           .DebugString());
  EXPECT_EQ(RunAsNet(net.graph(), {{"data", {5, 1}}}), (NamedValues{{"x", {7, 0}}}));
}

// y = relu(x + 1 + constant), as one node; neither z, which is not an output, nor w is read.
TEST(ToNetParameter, TakesNodesApart) {
  Graph graph;
  graph.name = "fused";
  graph.inputs = {graph.AddValue("x", {2}), graph.AddValue("w", {3})};
  const int constant = graph.AddValue("constant", {2});
  graph.values[constant].data = Constant::Of({2}, {10, -10}).data;
  Node node;
  node.layer = ParseLayer("name: 'plus' type: 'Power' power_param { shift: 1 }");
  node.inputs = {0};
  node.outputs = graph.outputs = {graph.AddValue("y", {2})};
  node.epilogue.push_back({ParseLayer("name: 'sum' type: 'Eltwise'"), {}, constant, ""});
  node.epilogue.push_back({ParseLayer("name: 'relu' type: 'ReLU'"), {}, -1, ""});
  graph.nodes.push_back(node);
  node = Node();
  node.layer = ParseLayer("name: 'x' type: 'TanH'");  // called like an input
  node.inputs = {0};
  node.outputs = {graph.AddValue("z", {2})};
  graph.nodes.push_back(node);
  const NamedValues inputs = {{"x", {1, 2}}, {"w", {0, 0, 0}}};
  EXPECT_EQ(RunGraph(graph, inputs), (NamedValues{{"y", {12, 0}}}));
  EXPECT_EQ(RunAsNet(graph, inputs), (NamedValues{{"y", {12, 0}}}));
  const NetParameter net = ToNetParameter(graph);
  EXPECT_EQ(net.layer(0).name(), "x_2") << "the node keeps its name";
  EXPECT_EQ(net.layer(4).top(0), "y_before_relu");
}

TEST(ToNetParameter, NamesTheLayerOfParametersOfOtherTypes) {
  Graph graph = OneRelu();
  graph.nodes[0].parameters = {Constant::Of({1}, {1})};
  graph.nodes[0].parameters[0].type = ElementType::FLOAT16;
  ExpectContains(ErrorOf([&] { ToNetParameter(graph); }),
                 "layer 'relu' (ReLU): a constant of shape");
}

TEST(Graph, DrawsItself) {
  Graph graph = OneRelu();
  graph.values[1].name = "a \"quoted\" name";
  const std::string dot = ToDot(graph);
  ExpectContains(dot, "digraph \"one\" {");
  ExpectContains(dot, "n0 [label=\"relu: ReLU\"]");
  ExpectContains(dot, "v0 -> n0 [label=\"data\n2x3\"]");
  ExpectContains(dot, "label=\"a \\\"quoted\\\" name\"");
}

TEST(Graph, TakesAnotherBatch) {
  const auto net = MakeNet(R"(
    layer { name: 'in' type: 'Input' top: 'data' top: 'info'
      input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } shape { dim: 1 dim: 3 } } }
    layer { name: 'pool' type: 'Pooling' bottom: 'data' top: 'pool'
      pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: 'power' type: 'Power' bottom: 'info' top: 'power' })");
  const Graph graph = WithBatch(GraphOf(*net), 7);
  EXPECT_EQ(graph.values[graph.FindValue("pool")].shape, (Shape{7, 3, 2, 2}));
  EXPECT_EQ(graph.values[graph.FindValue("power")].shape, (Shape{1, 3}));
  ExpectContains(ErrorOf([&] { WithBatch(graph, 0); }), "the batch must be positive, got 0");
}

}  // namespace
}  // namespace caffe::inference
