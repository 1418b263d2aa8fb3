// Plans that a validated graph, a right checksum and a wrong content make: an Error or a result,
// never a crash. And nodes that the CPU backend has to treat with care.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>

#include "caffe/blob.hpp"
#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/test/support/damaged_plans.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

Constant Ones(const Shape& shape) {
  return Constant::Of(shape, std::vector<float>(CountOf(shape), 1.f));
}

/// Convolutions with a residual, pooling, a Concat, a Deconvolution, an inner product: every layout
/// in memory.
NetworkDefinition NetOfManyLayers() {
  NetworkDefinition net("net");
  net.AddInput("x", {2, 16, 6, 6});
  const std::string three = " convolution_param { num_output: 16 kernel_size: 3 pad: 1 }";
  const std::vector<Constant> weights = {Ones({16, 16, 3, 3}), Ones({16})};
  net.AddLayer(ParseLayer("name: 'a' type: 'Convolution' bottom: 'x' top: 'a'" + three), weights);
  net.AddLayer(ParseLayer("name: 'relu' type: 'ReLU' bottom: 'a' top: 'a'"));
  net.AddLayer(ParseLayer("name: 'b' type: 'Convolution' bottom: 'a' top: 'b'" + three), weights);
  net.AddLayer(ParseLayer("name: 'sum' type: 'Eltwise' bottom: 'b' bottom: 'x' top: 'sum'"));
  net.AddLayer(
      ParseLayer("name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool' "
                 "pooling_param { kernel_size: 2 stride: 2 }"));
  net.AddLayer(ParseLayer("name: 'c' type: 'Convolution' bottom: 'pool' top: 'c'" + three),
               weights);
  net.AddLayer(ParseLayer("name: 'cat' type: 'Concat' bottom: 'pool' bottom: 'c' top: 'cat'"));
  net.AddLayer(
      ParseLayer("name: 'up' type: 'Deconvolution' bottom: 'cat' top: 'up' "
                 "convolution_param { num_output: 32 group: 32 kernel_size: 4 stride: 2 pad: 1 }"),
      {Ones({32, 1, 4, 4}), Ones({32})});
  net.AddLayer(ParseLayer("name: 'fc' type: 'InnerProduct' bottom: 'up' top: 'y' "
                          "inner_product_param { num_output: 5 }"),
               {Ones({5, 32 * 36}), Ones({5})});
  net.MarkOutput("y");
  return net;
}

std::shared_ptr<const CalibrationTable> Ranges() {
  auto table = std::make_shared<CalibrationTable>();
  for (const char* blob : {"x", "a", "b", "sum", "pool", "c", "cat", "up", "y"}) {
    BlobCalibration calibration;
    calibration.threshold = 3;
    calibration.is_unsigned = false;
    table->Set(blob, calibration);
  }
  return table;
}

std::shared_ptr<const Engine> BuiltIn(const NetworkDefinition& net, Precision precision) {
  BuilderConfig config;
  config.precision = precision;
  config.timing_iterations = 0;
  if (precision == Precision::INT8) config.calibration = Ranges();
  return Builder(config).Build(net);
}

/// Loads a plan, runs it in two shapes, and returns the Error's message, "" if there is none.
std::string Try(const std::string& file) {
  return ExpectErrorOrEngine(file, [](const std::shared_ptr<const Engine>& engine) {
    ExecutionContext context(engine);
    context.Run();
    if (context.batch() > 1) context.SetBatch(1);
    context.Run();
  });
}

std::string TryGraph(const Graph& graph) {
  const std::string file = NewFileName();
  WritePlan({{graph}, 0}, file);
  return Try(file);
}

void SetLayout(Layout::Kind layout, Value* value) {
  value->layout = layout;
  value->block = cpu::ChannelBlock();
}

class DamagedPlans : public ::testing::TestWithParam<Precision> {
 protected:
  const std::shared_ptr<const Engine> engine_ = BuiltIn(NetOfManyLayers(), GetParam());
};

TEST_P(DamagedPlans, SoundOnesRun) { EXPECT_EQ(TryGraph(*engine_->graph()), ""); }

TEST_P(DamagedPlans, MissingParametersAreErrors) {
  const Graph& sound = *engine_->graph();
  for (size_t n = 0; n < sound.nodes.size(); ++n) {
    for (size_t p = 0; p < sound.nodes[n].parameters.size(); ++p) {
      SCOPED_TRACE(sound.nodes[n].name() + " parameter " + std::to_string(p));
      Graph graph = sound;
      graph.nodes[n].parameters.resize(p);
      EXPECT_NE(TryGraph(graph), "");
      graph = sound;
      graph.nodes[n].parameters[p].shape = {1};
      EXPECT_NE(TryGraph(graph), "") << "too short";
      graph = sound;
      graph.nodes[n].parameters[p].type = ElementType::UINT8;
      EXPECT_NE(TryGraph(graph), "") << "of another type";
    }
  }
}

TEST_P(DamagedPlans, OtherFormsOfValuesAreErrorsOrEngines) {
  const Graph& sound = *engine_->graph();
  const std::vector<std::function<void(Value*)>> damages = {
      [](Value* v) { v->type = ElementType::FLOAT; },
      [](Value* v) { v->type = ElementType::INT8; },
      [](Value* v) { v->type = ElementType::FLOAT16; },
      [](Value* v) { v->type = ElementType::DOUBLE; },
      [](Value* v) { v->affine.scale = 0; },
      [](Value* v) { v->layout = Layout::PLAIN; },
      [](Value* v) { v->layout = Layout::CHANNELS_LAST; },
      [](Value* v) { SetLayout(cpu::kChannelsLast, v); },
      [](Value* v) { SetLayout(cpu::kBlocked, v); },
      [](Value* v) { v->block = 1; },
      [](Value* v) { v->block = 1 << 30; },
      [](Value* v) { v->view.axis = 1000; },
      [](Value* v) { v->view = View(); },
      [](Value* v) { v->arena_offset = -1; },
      [](Value* v) { v->arena_offset = 0; },
      [](Value* v) { v->shape[0] = 0; },
      [](Value* v) { v->shape.assign(1, static_cast<int>(CountOf(v->shape))); },
  };
  for (size_t v = 0; v < sound.values.size(); ++v) {
    for (size_t d = 0; d < damages.size(); ++d) {
      SCOPED_TRACE(sound.values[v].name + " damage " + std::to_string(d));
      Graph graph = sound;
      damages[d](&graph.values[v]);
      TryGraph(graph);
    }
  }
}

TEST_P(DamagedPlans, OtherNodesAreErrorsOrEngines) {
  SLOW_TEST();
  const Graph& sound = *engine_->graph();
  const std::vector<std::string> names = {"winograd",
                                          "packed",
                                          "onednn",
                                          "onednn_bf16",
                                          "onednn_bf16_inner_product",
                                          "int8",
                                          "int8_small_pairs",
                                          "int8_small_pairs:copied",
                                          "int8_winograd",
                                          "int8_winograd:2x2",
                                          "int8_winograd:4x4",
                                          "deconvolution",
                                          "packed_deconvolution",
                                          "inner_product",
                                          "int8_inner_product",
                                          "blas",
                                          "pooling",
                                          "move",
                                          "reorder",
                                          "across channels",
                                          "layer",
                                          "nothing"};
  const std::vector<std::string> types = {"ReLU",    "Convolution", "Pooling", "InnerProduct",
                                          "Concat",  "Slice",       "Reorder", "Nothing",
                                          "Flatten", "Tile"};
  for (size_t n = 0; n < sound.nodes.size(); ++n) {
    SCOPED_TRACE(sound.nodes[n].name());
    const auto damaged = [&](const std::function<void(Node*)>& damage) {
      Graph graph = sound;
      damage(&graph.nodes[n]);
      return TryGraph(graph);
    };
    for (const std::string& name : names) damaged([&](Node* node) { node->implementation = name; });
    ExpectContains(damaged([](Node* node) { node->implementation = "nothing"; }),
                   "there is no implementation 'nothing'");
    for (const std::string& type : types) damaged([&](Node* node) { node->layer.set_type(type); });
    for (const ElementType math : {ElementType::FLOAT, ElementType::INT8, ElementType::INT32}) {
      damaged([&](Node* node) { node->math = math; });
      damaged([&](Node* node) {
        node->math = math;
        if (!node->parameters.empty()) node->parameters[0].type = math;
      });
    }
    damaged([](Node* node) { node->inputs.clear(); });
    damaged([](Node* node) { node->outputs.clear(); });
    damaged([](Node* node) { node->inputs.push_back(node->inputs[0]); });
    damaged([](Node* node) { node->epilogue.clear(); });
    damaged([](Node* node) {
      node->layer.mutable_convolution_param()->set_group(0);
      node->layer.mutable_inner_product_param()->set_num_output(0);
    });
    damaged([](Node* node) { node->layer.mutable_inner_product_param()->set_axis(1000); });
    damaged([](Node* node) {
      Epilogue step;
      step.layer = ParseLayer("name: 'tile' type: 'Tile' tile_param { tiles: 1000 }");
      node->epilogue.push_back(step);
    });
    damaged([](Node* node) {
      Epilogue step;
      step.layer = ParseLayer("name: 'more' type: 'Eltwise'");
      step.operand = node->inputs[0];
      node->epilogue.push_back(step);
    });
  }
}

TEST_P(DamagedPlans, SurviveWrongBytes) {
  const std::string file = NewFileName();
  engine_->Save(file);
  const std::string bytes = ReadFile(file);
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  uint64_t description = 0;
  std::memcpy(&description, &bytes[24], 8);
  for (int round = 0; round < 100; ++round) {
    std::string damaged = bytes;
    for (int changes = 1 + random() % 2; changes > 0; --changes) {
      damaged[64 + random() % description] ^= static_cast<char>(1 << random() % 8);
    }
    Try(NewFile(Signed(damaged)));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DamagedPlans,
                         ::testing::Values(Precision::FP32, Precision::FP16, Precision::BF16,
                                           Precision::INT8),
                         [](const auto& info) { return std::string(Name(info.param)); });

/// A net of one Deconvolution, 3x3 with stride 1: packed weights of a convolution are as many.
Graph OfDeconvolution(int channels, int outputs, int group, Precision precision) {
  NetworkDefinition net("net");
  net.AddInput("x", {1, channels, 6, 6});
  net.AddLayer(ParseLayer(Join("name: 'up' type: 'Deconvolution' bottom: 'x' top: 'y' "
                               "convolution_param { kernel_size: 3 num_output: ",
                               outputs, " group: ", group, " }")),
               {Ones({channels, outputs / group, 3, 3}), Ones({outputs})});
  net.MarkOutput("y");
  return *BuiltIn(net, precision)->graph();
}

// Their kernels would compute the other of the two, or read more than there is.
TEST(PlanDeconvolutions, AreRunByNoKernelOfConvolutions) {
  Graph graph = OfDeconvolution(16, 16, 1, Precision::FP32);
  Node& up = graph.nodes.at(graph.FindNode("up"));
  ASSERT_EQ(up.implementation, "packed_deconvolution");
  EXPECT_EQ(TryGraph(graph), "");
  for (const char* name : {"packed", "winograd", "channels_last:2x2", "onednn", "int8"}) {
    SCOPED_TRACE(name);
    up.implementation = name;
    ExpectContains(TryGraph(graph), "is no convolution of one bottom");
  }
  up.implementation = "packed_deconvolution";
  up.layer.set_type("Convolution");
  EXPECT_NE(TryGraph(graph), "");
}

TEST(PlanDeconvolutions, TakeTheirChannelsInBlocks) {
  Graph graph = OfDeconvolution(3, 16, 1, Precision::FP32);
  Node& up = graph.nodes.at(graph.FindNode("up"));
  ASSERT_EQ(up.implementation, "packed_deconvolution");
  up.inputs[0] = graph.inputs[0];
  ExpectContains(TryGraph(graph), "there is no kernel for a bottom of shape 1 3 6 6");
}

// Halves would be read as floats.
TEST(PlanDeconvolutions, OfEachChannelHaveAnotherKernel) {
  Graph graph = OfDeconvolution(16, 16, 16, Precision::FP16);
  Node& up = graph.nodes.at(graph.FindNode("up"));
  ASSERT_EQ(up.implementation, "deconvolution");
  up.implementation = "packed_deconvolution";
  for (const ElementType type : {ElementType::FLOAT, ElementType::FLOAT16}) {
    up.math = up.parameters[0].type = type;
    ExpectContains(TryGraph(graph), "there is no kernel for a bottom of shape 1 16 6 6");
  }
}

TEST(PlanIntegers, WeightsOfInt8HaveNoZeroPoint) {
  Graph graph = *BuiltIn(NetOfManyLayers(), Precision::FP32)->graph();
  Node& node = graph.nodes.at(graph.FindNode("a"));
  node.integers.emplace().weight_zero_point = 3;
  node.parameters[0].type = ElementType::INT8;  // the same bytes, of which it needs fewer
  const std::string file = NewFileName();
  WritePlan({{graph}, 0}, file);
  const std::string error = Try(file);
  for (const std::string& part :
       {file, std::string("layer 'a' (Convolution)"), std::string("weight_zero_point is 3"),
        std::string("build the plan again")}) {
    ExpectContains(error, part);
  }
}

// Memory cannot be planned for values of unknown size.
TEST(PlanArena, IsNoLargerThanItsValues) {
  Graph graph = *BuiltIn(NetOfManyLayers(), Precision::FP32)->graph();
  graph.arena_bytes = size_t(1) << 50;
  ExpectContains(TryGraph(graph), "the arena has");
}

/// Sets every text below `message` that is not a name or a type.
void SetTexts(google::protobuf::Message* message, const std::string& text, int depth = 0) {
  const auto* reflection = message->GetReflection();
  const auto* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* field = type->field(i);
    const bool kept = depth == 0 && (field->name() == "name" || field->name() == "type");
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING && !kept) {
      field->is_repeated() ? reflection->AddString(message, field, text)
                           : reflection->SetString(message, field, text);
    } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE &&
               !field->is_repeated() && depth < 4) {
      SetTexts(reflection->MutableMessage(message, field), text, depth + 1);
      // Fields that are required would be missing.
      if (!message->IsInitialized()) reflection->ClearField(message, field);
    }
  }
}

/// How often files of a folder were opened, read or written since it was made.
class Watch {
 public:
  explicit Watch(const std::string& folder) : queue_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(queue_, folder.c_str(), IN_ALL_EVENTS), 0);
  }
  ~Watch() { close(queue_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool saw_something() const {
    char events[4096];
    return read(queue_, events, sizeof(events)) > 0;
  }

 private:
  const int queue_;
};

/// A plan whose values have memory of their own, so that any layer may make the last one.
Graph Unplanned() {
  Graph graph = *BuiltIn(NetOfManyLayers(), Precision::FP32)->graph();
  for (Value& value : graph.values) value.arena_offset = -1;
  graph.arena_bytes = 0;
  return graph;
}

// Plans are data: to load one runs nothing and opens nothing that it names.
TEST(PlanSafety, LoadingOpensNoOtherFile) {
  const std::string trap = NewFile("trap");
  const Graph sound = Unplanned();
  for (const char* type : {"", "Python", "HDF5Data", "Data", "ImageData", "InfogainLoss",
                           "HDF5Output", "DetectionOutput", "frob"}) {
    Graph graph = sound;
    for (Node& node : graph.nodes) {
      SetTexts(&node.layer, trap);
      for (Epilogue& step : node.epilogue) SetTexts(&step.layer, trap);
      node.implementation = trap;
    }
    if (*type) graph.nodes.at(graph.FindNode("fc")).layer.set_type(type);
    graph.class_names = {trap};
    const std::string plan = NewFileName();
    WritePlan({{graph}, 0}, plan);
    const Watch watch(std::filesystem::path(trap).parent_path());
    EXPECT_FALSE(watch.saw_something());
    Engine::Load(plan);
    EXPECT_FALSE(watch.saw_something()) << type;
    ReadFile(trap);
    EXPECT_TRUE(watch.saw_something());  // it would have been seen
  }
}

TEST(PlanSafety, LayersThatRunCodeOrReadFilesCanBeForbidden) {
  Graph graph = Unplanned();
  Node& node = graph.nodes.at(graph.FindNode("fc"));
  const LayerParameter sound = node.layer;
  const auto refused = [&] {
    const std::string plan = NewFileName();
    WritePlan({{graph}, 0}, plan);
    const std::string message = ErrorOf([&] { Engine::Load(plan); });
    if (!message.empty()) ExpectContains(message, plan);
    return message;
  };
  node.layer = ParseLayer(
      "name: 'fc' type: 'Python' bottom: 'x' top: 'a' python_param { module: 'm' layer: 'L' }");
  EXPECT_EQ(refused(), "");
  {
    const LimitsScope scope("untrusted");
    ExpectContains(refused(), "layer 'fc' (Python): python_param names code, the class L of the ");
  }
  node.layer = sound;
  node.layer.mutable_transform_param()->set_mean_file("/etc/passwd");
  EXPECT_EQ(refused(), "");
  const LimitsScope scope("layer_files=false");
  ExpectContains(refused(), "layer 'fc' (InnerProduct): transform_param.mean_file names a file");
}

TEST(PlanSafety, WhatAsksForMoreThanTheLimitsIsRefused) {
  const Graph sound = *BuiltIn(NetOfManyLayers(), Precision::FP32)->graph();
  const auto refused = [](const Graph& graph) {
    const std::string plan = NewFileName();
    WritePlan({{graph}, 0}, plan);
    return ErrorOf([&] { Engine::Load(plan); });
  };
  for (const auto& [list, message] :
       std::map<std::string, std::string>{{"layers=2", "and the limit (layers) is 2"},
                                          {"axes=3", "asks for 4, and the limit (axes) is 3"},
                                          {"blob_bytes=1000", "and the limit (blob_bytes)"},
                                          {"net_bytes=1000", "and the limit (net_bytes)"}}) {
    const LimitsScope scope(list);
    ExpectContains(refused(sound), message);
  }
  Graph graph = sound;
  Value& value = graph.values[graph.inputs[0]];
  value.layout = Layout::CHANNELS_BLOCKED;
  value.block = 1 << 30;  // the size in bytes has more than 64 bits
  ExpectContains(refused(graph), "cannot lie in blocks of channels");
}

// What a list says it has is not taken in memory before the file is seen to hold it.
TEST(PlanSafety, ListsAreNoLongerThanTheFile) {
  const auto engine = BuiltIn(NetOfManyLayers(), Precision::FP32);
  const std::string name = NewFileName();
  engine->Save(name);
  std::string plan = ReadFile(name);
  constexpr size_t kHeader = 64, kSummed = 32;
  uint64_t described;
  std::memcpy(&described, &plan[24], 8);
  // Behind the fingerprint, threads, the number of graphs and the graph's name: its values.
  const size_t at = kHeader + 8 + PlanFingerprint().size() + 16 + 8 + engine->name().size();
  uint64_t values;
  std::memcpy(&values, &plan[at], 8);
  ASSERT_EQ(values, engine->graph()->values.size());
  values = described / 90;
  std::memcpy(&plan[at], &values, 8);
  const uint64_t sum = PlanChecksum(plan.data() + kHeader, plan.size() - kHeader,
                                    PlanChecksum(plan.data(), kSummed, 0));
  std::memcpy(&plan[kSummed], &sum, 8);
  const std::string damaged = NewFile(plan);
  ExpectContains(ErrorOf([&] { Engine::Load(damaged); }), "it lists more than it holds");
}

TEST(CpuBackend, PoolsIntegersBetweenIntegers) {
  const auto engine = BuiltIn(NetOfManyLayers(), Precision::INT8);
  const Graph& graph = *engine->graph();
  const Node& pool = graph.nodes.at(graph.FindNode("pool"));
  EXPECT_EQ(pool.implementation, "pooling");
  EXPECT_EQ(pool.math, ElementType::INT8);
}

// A sum with floats takes another time than one with 8 bits.
TEST(CpuBackend, TellsTypesOfResidualsApartInTheTimingCache) {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.timing_iterations = 0;
  config.calibration = Ranges();
  config.timing_cache = std::make_shared<TimingCache>();
  Builder(config).Build(NetOfManyLayers());
  const std::string file = NewFileName();
  config.timing_cache->Write(file);
  const std::string text = ReadFile(file);
  for (const char* type : {"INT8b", "FLOATb"}) {
    ExpectContains(text, Join(" + Eltwise ", ShapeString({2, 16, 6, 6}), type));
  }
}

// From one image to the next there are 53 elements here: not a whole number of channels.
TEST(CpuBackend, ConvolvesImagesWithUnevenGapsBetweenThem) {
  NetworkDefinition net("gaps");
  net.AddInput("x", {2, 53});
  net.AddLayer(
      ParseLayer("name: 'cut' type: 'Slice' bottom: 'x' top: 'a' top: 'b' "
                 "slice_param { slice_point: 48 }"));
  net.AddLayer(
      ParseLayer("name: 'shape' type: 'Reshape' bottom: 'a' top: 'image' reshape_param { "
                 "shape { dim: 0 dim: 3 dim: 4 dim: 4 } }"));
  net.AddLayer(ParseLayer("name: 'conv' type: 'Convolution' bottom: 'image' top: 'y' "
                          "convolution_param { num_output: 1 kernel_size: 4 bias_term: false }"),
               {Ones({1, 3, 4, 4})});
  net.MarkOutput("b");
  net.MarkOutput("y");
  ExecutionContext context(BuiltIn(net, Precision::FP32));
  for (int i = 0; i < 106; ++i) context.Input("x")[i] = static_cast<float>(i);
  context.Run();
  EXPECT_EQ(Floats(context.Output("y"), context.Output("y") + 2),
            (Floats{47 * 24, 47 * 24 + 53 * 48}));
}

// Nothing is known of a source's bottoms: it has none.
TEST(CpuBackend, BuildsSourcesThatAreNotFolded) {
  NetworkDefinition net("source");
  net.AddInput("x", {1, 2});
  net.AddLayer(
      ParseLayer("name: 'one' type: 'DummyData' top: 'one' dummy_data_param { "
                 "shape { dim: 1 dim: 2 } data_filler { type: 'constant' value: 1 } }"));
  net.AddLayer(ParseLayer("name: 'sum' type: 'Eltwise' bottom: 'x' bottom: 'one' top: 'y'"));
  net.MarkOutput("y");
  BuilderConfig config;
  config.timing_iterations = 0;
  config.skip_passes = {"constants"};
  ExecutionContext context(Builder(config).Build(net));
  std::fill_n(context.Input("x"), 2, 2.f);
  context.Run();
  EXPECT_EQ(context.Output("y")[1], 3);
}

// A lookup takes only indices: the numbers that candidates are timed with are not valid ones.
TEST(CpuBackend, BuildsLayersThatRefuseTheNumbersTheyAreTimedWith) {
  NetworkDefinition net("lookup");
  net.AddInput("x", {2});
  net.AddLayer(ParseLayer("name: 'embed' type: 'Embed' bottom: 'x' top: 'y' embed_param { "
                          "num_output: 2 input_dim: 3 bias_term: false }"),
               {Constant::Of({3, 2}, {1, 2, 3, 4, 5, 6})});
  net.MarkOutput("y");
  BuilderConfig config;
  config.precision = Precision::FP16;
  config.timing_iterations = 1;
  ExecutionContext context(Builder(config).Build(net));
  std::copy_n(std::vector<float>{2, 0}.data(), 2, context.Input("x"));
  context.Run();
  EXPECT_EQ(Floats(context.Output("y"), context.Output("y") + 4), (Floats{5, 6, 1, 2}));
}

/// Ten times the bottom: a layer that the optimizer does not know.
class TenfoldLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "Tenfold"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = 10 * bottom[0]->cpu_data()[i];
    }
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

// The part of each image is not contiguous with that of the next one.
TEST(CpuBackend, GathersPiecesForLayersWhoseShapesAreUnknown) {
  LayerRegistry<float>::AddCreator("Tenfold", [](const LayerParameter& param) {
    return boost::shared_ptr<Layer<float>>(new TenfoldLayer(param));
  });
  NetworkDefinition net("pieces");
  net.AddInput("x", {2, 4});
  net.AddLayer(ParseLayer("name: 'cut' type: 'Slice' bottom: 'x' top: 'a' top: 'b'"));
  net.AddLayer(ParseLayer("name: 'tenfold' type: 'Tenfold' bottom: 'b' top: 'y'"));
  net.MarkOutput("a");
  net.MarkOutput("y");
  ExecutionContext context(BuiltIn(net, Precision::FP32));
  for (int i = 0; i < 8; ++i) context.Input("x")[i] = static_cast<float>(i);
  context.Run();
  EXPECT_EQ(Floats(context.Output("y"), context.Output("y") + 4), (Floats{20, 30, 60, 70}));
}

}  // namespace
}  // namespace caffe::inference
