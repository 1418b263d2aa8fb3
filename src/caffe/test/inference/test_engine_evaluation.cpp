// Feeding engines from nets, comparing and scoring them.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/accuracy_loss.hpp"
#include "caffe/inference/evaluation/engine_comparison.hpp"
#include "caffe/inference/evaluation/engine_scoring.hpp"
#include "caffe/layers/memory_data_layer.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

const char kScores[] =
    "layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'fc' inner_product_param { "
    "num_output: 3 weight_filler { type: 'gaussian' std: 1 } } } ";
const char kRelu[] = "layer { name: 'relu' type: 'ReLU' bottom: 'fc' top: 'fc' } ";
const char kSoftmax[] = "layer { name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' } ";

std::string InputOf(int batch) {
  return Join(
      "name: 'net' layer { name: 'data' type: 'Input' top: 'data' input_param { shape { "
      "dim: ",
      batch, " dim: 4 } } } ");
}

/// A layer's weights changed by `offset`: an engine that is wrong there.
std::shared_ptr<const Engine> EngineOf(const Net<float>& net, const std::string& layer = "",
                                       float offset = 0) {
  Graph graph = GraphOf(net);
  if (!layer.empty()) {
    Constant& weights = graph.nodes[graph.FindNode(layer)].parameters[0];
    std::vector<float> values = weights.ToVector();
    for (float& value : values) value += offset;
    weights = Constant::Of(weights.shape, values);
  }
  return Builder().Build(NetworkDefinition(std::move(graph)));
}

void FillWith(float first, Blob<float>* blob) {
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = first + std::sin(i + first);
}

TEST(OutputsToJson, WritesShapesAndValues) {
  NetworkDefinition definition("twice");
  definition.AddInput("x", {1, 3});
  definition.AddLayer(
      ParseLayer("name: 'twice' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 }"));
  definition.MarkOutput("y");
  ExecutionContext context(Builder().Build(definition));
  const float x[] = {0.25f, -1, std::numeric_limits<float>::infinity()};
  std::copy_n(x, 3, context.Input("x"));
  context.Run();
  google::protobuf::ListValue list;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(OutputsToJson(&context), &list).ok());
  ASSERT_EQ(list.values_size(), 1);
  const auto& y = list.values(0).struct_value().fields();
  EXPECT_EQ(y.at("name").string_value(), "y");
  EXPECT_EQ(y.at("dimensions").string_value(), "1x3");
  const auto& values = y.at("values").list_value();
  EXPECT_EQ(values.values(0).number_value(), 0.5);
  EXPECT_EQ(values.values(1).number_value(), -2);
  EXPECT_EQ(values.values(2).string_value(), "inf");
}

TEST(RunInPieces, GivesWhatOneBatchGives) {
  const auto net = MakeNet(InputOf(7) + kScores + kSoftmax);
  FillWith(1, net->input_blobs()[0]);
  net->Forward();
  const auto small = EngineOf(*net);
  BuilderConfig config;
  config.max_batch = 3;
  const auto engine = Builder(config).Build(NetworkDefinition(GraphOf(*net)));
  ExecutionContext context(engine);
  const InputSource source(*net, *engine);
  const Tensors outputs = RunInPieces(source.Read(net.get()), &context);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs.at("prob").shape, (Shape{7, 3}));
  const Blob<float>& expected = *net->blob_by_name("prob");
  for (int i = 0; i < expected.count(); ++i) {
    EXPECT_NEAR(outputs.at("prob").values[i], expected.cpu_data()[i], 1e-6);
  }
}

TEST(RunInPieces, NumbersDetectionsByTheirItem) {
  LayerParameter detections = ParseLayer(
      "name: 'out' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'prior' top: 'out' "
      "detection_output_param { num_classes: 2 keep_top_k: 1 nms_param { nms_threshold: 0.5 } "
      "confidence_threshold: 0.1 }");
  NetworkDefinition net("detector");
  net.AddInput("loc", {2, 4});
  net.AddInput("conf", {2, 2});
  net.AddInput("prior", {1, 2, 4});
  net.AddLayer(detections);
  net.MarkOutput("out");
  const auto engine = Builder().Build(net);
  ASSERT_TRUE(IsDetections(*engine, "out"));
  ExecutionContext context(engine);
  Tensors inputs;
  inputs["loc"] = {{5, 4}, std::vector<float>(20, 0)};
  inputs["conf"] = {{5, 2}, {0, 0.5f, 0, 0.6f, 0, 0.7f, 0, 0.8f, 0, 0.9f}};
  inputs["prior"] = {{1, 2, 4}, {0.1f, 0.1f, 0.4f, 0.4f, 0.1f, 0.1f, 0.2f, 0.2f}};
  const NamedTensor out = RunInPieces(inputs, &context).at("out");
  ASSERT_EQ(out.shape, (Shape{1, 1, 5, 7}));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(out.values[i * 7], i);
    EXPECT_FLOAT_EQ(out.values[i * 7 + 2], 0.5f + 0.1f * i);
  }
}

TEST(InputNetOf, HasTheInputsOfTheEngine) {
  const auto engine = EngineOf(*MakeNet(InputOf(5) + kScores));
  EXPECT_EQ(InputNetOf(*engine)->input_blobs()[0]->shape(), (Shape{5, 4}));
  const auto two = InputNetOf(*engine, 2);
  EXPECT_EQ(two->input_blobs()[0]->shape(), (Shape{2, 4}));
  EXPECT_TRUE(two->has_blob("data"));
}

TEST(InputSource, NeedsEveryInput) {
  const auto engine = EngineOf(*MakeNet(InputOf(2) + kScores));
  const auto other = MakeNet(
      "name: 'other' layer { name: 'x' type: 'Input' top: 'x' input_param { "
      "shape { dim: 2 dim: 4 } } }");
  ExpectContains(ErrorOf([&] { InputSource(*other, *engine); }),
                 "has an input 'data' and net 'other' has none");
}

/// The first blob of which the signal-to-noise ratio, in decibels, is below this; or blobs().end().
auto FirstBelow(double decibels, const EngineComparison& comparison) {
  const std::vector<BlobComparison>& blobs = comparison.blobs();
  return std::find_if(blobs.begin(), blobs.end(),
                      [&](const BlobComparison& blob) { return blob.SignalToNoise() < decibels; });
}

TEST(EngineComparison, FindsNoErrorInAnEqualEngine) {
  const auto net = MakeNet(InputOf(2) + kScores + kRelu + kSoftmax);
  EngineComparison comparison(net.get(), EngineOf(*net));
  for (int batch = 0; batch < 2; ++batch) {
    FillWith(batch, net->input_blobs()[0]);
    comparison.Add();
  }
  ASSERT_EQ(comparison.blobs().size(), 2u);
  EXPECT_EQ(comparison.blobs()[0].blob, "fc");
  EXPECT_EQ(comparison.blobs()[0].error.count(), 12u) << "two batches";
  EXPECT_TRUE(comparison.blobs()[1].is_output);
  EXPECT_EQ(FirstBelow(60, comparison), comparison.blobs().end());
  EXPECT_LT(comparison.OutputError(), 1e-5);
  EXPECT_TRUE(comparison.LayersByOwnError().empty()) << "all compute in FLOAT";
}

TEST(EngineComparison, NamesTheFirstLayerThatGoesWrong) {
  const auto net = MakeNet(InputOf(2) + kScores + kSoftmax +
                           "layer { name: 'next' type: 'InnerProduct' bottom: 'fc' top: 'next' "
                           "inner_product_param { num_output: 2 weight_filler { value: 1 } } }" +
                           "layer { name: 'last' type: 'Sigmoid' bottom: 'next' top: 'last' }");
  FillWith(1, net->input_blobs()[0]);
  // The sigmoid of large scores would hide what went wrong.
  net->input_blobs()[0]->scale_data(0.01f);
  EngineComparison comparison(net.get(), EngineOf(*net, "next", 0.5f));
  comparison.Add();
  const auto first = FirstBelow(100, comparison);
  ASSERT_NE(first, comparison.blobs().end());
  EXPECT_EQ(first->layer, "next");
  EXPECT_GT(comparison.OutputError(), 0);
}

TEST(EngineComparison, OrdersLayersByTheErrorThatTheyAdd) {
  const char layer[] =
      "layer { name: '%' type: 'InnerProduct' bottom: '$' top: '%' inner_product_param { "
      "num_output: 4 bias_term: false weight_filler { value: 1 } } } ";
  std::string text = InputOf(1), before = "data";
  for (const char* name : {"a", "b", "c"}) {
    for (const char c : std::string(layer)) text += c == '%' ? name : c == '$' ? before : Join(c);
    before = name;
  }
  const auto net = MakeNet(text);
  FillWith(2, net->input_blobs()[0]);
  Graph graph = GraphOf(*net);
  for (Node& node : graph.nodes) {
    const float scale = node.name() == "a" ? 1.01f : node.name() == "b" ? 1 : 1.5f;
    std::vector<float> values = node.parameters[0].ToVector();
    for (float& value : values) value *= scale;
    node.parameters[0] = Constant::Of(node.parameters[0].shape, values);
  }
  BuilderConfig config;
  config.backend = Backend::REFERENCE;  // computes in FLOAT whatever is said below
  const auto engine = Builder(config).Build(NetworkDefinition(graph));
  Graph narrow = *engine->graph();
  for (Node& node : narrow.nodes) node.math = ElementType::FLOAT16;
  EngineComparison comparison(net.get(), std::make_shared<const Engine>(narrow));
  comparison.Add();
  EXPECT_EQ(comparison.LayersByOwnError(), (std::vector<std::string>{"c", "a", "b"}));
  EXPECT_EQ(comparison.NetLayersIn("b"), std::vector<std::string>{"b"});
  EXPECT_EQ(comparison.NetLayersIn("a+c"), (std::vector<std::string>{"a", "c"})) << "merged ones";
}

TEST(EngineComparison, MatchesBoxesOfDetections) {
  const std::string inputs =
      "name: 'detector' layer { name: 'in' type: 'Input' top: 'loc' top: 'conf' top: 'prior' "
      "input_param { shape { dim: 1 dim: 4 } shape { dim: 1 dim: 2 } "
      "shape { dim: 1 dim: 2 dim: 4 } } } ";
  const auto detector = [&](double threshold) {
    return MakeNet(inputs +
                   "layer { name: 'out' type: 'DetectionOutput' bottom: 'loc' bottom: "
                   "'conf' bottom: 'prior' top: 'out' detection_output_param { "
                   "num_classes: 2 keep_top_k: 1 nms_param { nms_threshold: 0.5 } "
                   "confidence_threshold: " +
                   std::to_string(threshold) + " } }");
  };
  const auto net = detector(0.1);
  SetValues(net->blob_by_name("conf").get(), {0, 0.9});
  SetValues(net->blob_by_name("prior").get(), {0.1, 0.1, 0.4, 0.4, 0.1, 0.1, 0.2, 0.2});
  EngineComparison same(net.get(), EngineOf(*net));
  same.Add();
  EXPECT_EQ(same.blobs().at(0).unmatched, 0.0);
  EXPECT_EQ(FirstBelow(100, same), same.blobs().end());
  EngineComparison blind(net.get(), EngineOf(*detector(0.95)));
  blind.Add();
  EXPECT_EQ(blind.OutputError(), 1) << "its only box is not there";
  EXPECT_NE(FirstBelow(20, blind), blind.blobs().end());
}

TEST(EngineComparison, RefusesAnotherNet) {
  const auto net = MakeNet(InputOf(2) + kScores);
  const auto other =
      MakeNet(InputOf(2) + "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'other' }");
  ExpectContains(ErrorOf([&] { EngineComparison(other.get(), EngineOf(*net)); }),
                 "have no blob in common");
}

/// A train_val net: three classes, of data and labels that MemoryData gives, four a batch.
const char kTested[] =
    "name: 'tested' layer { name: 'data' type: 'MemoryData' top: 'pixels' top: 'label' "
    "memory_data_param { batch_size: 4 channels: 4 height: 1 width: 1 } } "
    "layer { name: 'flat' type: 'Flatten' bottom: 'pixels' top: 'data' } ";
const char kScoring[] =
    "layer { name: 'accuracy' type: 'Accuracy' bottom: 'fc' bottom: 'label' top: 'accuracy' } "
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' } ";

NetParameter TestPhase(const std::string& text) {
  NetParameter param = ParseNet(text);
  param.mutable_state()->set_phase(TEST);
  return param;
}

/// The same weights in nets of any data layers.
std::unique_ptr<Net<float>> WithWeights(const std::string& text, const Net<float>& weights) {
  auto net = MakeNet(text);
  net->ShareTrainedLayersWith(&weights);
  return net;
}

/// Data for MemoryData of a net; `labels` as often as they are needed.
struct Data {
  std::vector<float> pixels = std::vector<float>(16);
  std::vector<float> labels = {0, 1, 2, 1};
  Data() {
    for (int i = 0; i < 16; ++i) pixels[i] = std::sin(3 * i);
  }
  void GiveTo(const Net<float>& net) {
    auto* layer = dynamic_cast<MemoryDataLayer<float>*>(net.layers()[0].get());
    layer->Reset(pixels.data(), labels.data(), 4);
  }
};

class EngineScoringTest : public ::testing::Test {
 protected:
  /// What the net makes of the data.
  std::map<std::string, float> Expected() {
    data_.GiveTo(*net_);
    net_->Forward();
    return {{"accuracy", net_->blob_by_name("accuracy")->cpu_data()[0]},
            {"loss", net_->blob_by_name("loss")->cpu_data()[0]}};
  }
  std::map<std::string, float> Scores(EngineScoring* scoring) {
    data_.GiveTo(scoring->data());
    std::map<std::string, float> scores;
    float loss = 0;
    const auto& outputs = scoring->Forward(&loss);
    for (size_t i = 0; i < outputs.size(); ++i) {
      scores[scoring->net().blob_names()[scoring->net().output_blob_indices()[i]]] =
          outputs[i]->cpu_data()[0];
    }
    EXPECT_FLOAT_EQ(loss, scores["loss"]);
    return scores;
  }

  const std::string text_ = std::string(kTested) + kScores + kScoring;
  const std::unique_ptr<Net<float>> net_ = MakeNet(text_);
  Data data_;
};

TEST_F(EngineScoringTest, OfTheNetItselfGivesItsScores) {
  EngineScoring scoring(TestPhase(text_), EngineOf(*net_));
  const auto expected = Expected(), scores = Scores(&scoring);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores.at("accuracy"), expected.at("accuracy"));
  EXPECT_NEAR(scores.at("loss"), expected.at("loss"), 1e-5);
  EXPECT_TRUE(scoring.left_out().empty());
}

TEST_F(EngineScoringTest, TakesLogarithmsOfProbabilities) {
  const std::string deployed =
      "name: 'deploy' layer { name: 'pixels' type: 'Input' top: 'pixels' input_param { shape { "
      "dim: 3 dim: 4 dim: 1 dim: 1 } } } layer { name: 'flat' type: 'Flatten' bottom: 'pixels' "
      "top: 'data' } " +
      std::string(kScores) + kSoftmax;
  EngineScoring scoring(TestPhase(text_), EngineOf(*WithWeights(deployed, *net_)));
  const auto expected = Expected(), scores = Scores(&scoring);
  EXPECT_EQ(scores.at("accuracy"), expected.at("accuracy"));
  EXPECT_NEAR(scores.at("loss"), expected.at("loss"), 1e-5) << "in two pieces of at most three";
}

TEST_F(EngineScoringTest, KnowsTheOnlyProbabilitiesByAnotherName) {
  std::string renamed = std::string(kTested) + kScores + kSoftmax;
  for (size_t at; (at = renamed.find("'fc'")) != std::string::npos;) renamed.replace(at, 4, "'x'");
  const auto engine = EngineOf(*MakeNet(renamed));
  EngineScoring scoring(TestPhase(text_), engine);
  EXPECT_TRUE(scoring.left_out().empty());
}

TEST_F(EngineScoringTest, SaysWhatItLeavesOut) {
  const std::string more =
      text_ +
      "layer { name: 'aux' type: 'InnerProduct' bottom: 'data' top: 'aux' "
      "inner_product_param { num_output: 3 } } "
      "layer { name: 'aux_loss' type: 'SoftmaxWithLoss' bottom: 'aux' bottom: 'label' top: "
      "'aux_loss' } layer { name: 'unscored' type: 'Accuracy' bottom: 'aux' bottom: "
      "'label' top: 'unscored' }";
  EngineScoring scoring(TestPhase(more), EngineOf(*net_));
  EXPECT_EQ(scoring.left_out(), (std::vector<std::string>{"aux_loss", "unscored"}));
}

TEST_F(EngineScoringTest, NeedsDataAndScores) {
  const auto engine = EngineOf(*net_);
  ExpectContains(ErrorOf([&] { EngineScoring(TestPhase(InputOf(2) + kScores), engine); }),
                 "reads no data to score the engine on");
  ExpectContains(ErrorOf([&] { EngineScoring(TestPhase(kTested), engine); }),
                 "has no layer that scores what engine 'tested' makes");
}

class AccuracyLossTest : public ::testing::Test {
 protected:
  /// `net_` gives each of four items its own class; another engine mistakes some.
  AccuracyLossTest() {
    Blob<float>& weights = *net_->layer_by_name("fc")->blobs()[0];
    for (int i = 0; i < 16; ++i) weights.mutable_cpu_data()[i] = i % 5 == 0;
  }
  Tensors Inputs() const {
    NamedTensor data{{4, 4}, std::vector<float>(16, 0)};
    for (int i = 0; i < 4; ++i) data.values[i * 5] = 1;
    return {{"data", data}};
  }
  Tensors Expected(const std::shared_ptr<const Engine>& engine) const {
    ExecutionContext context(engine);
    return RunInPieces(Inputs(), &context);
  }

  const std::unique_ptr<Net<float>> net_ =
      MakeNet(InputOf(4) +
              "layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'fc' "
              "inner_product_param { num_output: 4 bias_term: false } }");
};

TEST_F(AccuracyLossTest, IsTheShareOfItemsLost) {
  const auto exact = EngineOf(*net_);
  AccuracyLoss loss;
  loss.Add(Inputs(), Expected(exact), {0, 1, 2, 0});
  ASSERT_TRUE(loss.HasLabels());
  EXPECT_EQ(loss.FloatAccuracy(), 0.75) << "the fourth label is wrong";
  EXPECT_EQ(loss(exact), 0);
  net_->layer_by_name("fc")->blobs()[0]->mutable_cpu_data()[1 * 4 + 0] = 2;
  EXPECT_EQ(loss(EngineOf(*net_)), 0.25) << "item 0 is now taken for class 1";
}

TEST_F(AccuracyLossTest, CountsOnlyLabelledItemsOfABatchThatWasFilledUp) {
  const auto exact = EngineOf(*net_);
  AccuracyLoss loss;
  loss.Add(Inputs(), Expected(exact), {0, 1, 2});
  EXPECT_EQ(loss.FloatAccuracy(), 1);
  EXPECT_EQ(loss.items(), 3u);
}

TEST_F(AccuracyLossTest, WithoutLabelsIsTheOutputsError) {
  const auto exact = EngineOf(*net_);
  AccuracyLoss loss;
  loss.Add(Inputs(), Expected(exact), {0, -1, 2, 3});
  EXPECT_FALSE(loss.HasLabels());
  EXPECT_EQ(loss(exact), 0);
  net_->layer_by_name("fc")->blobs()[0]->mutable_cpu_data()[0] = 1.5f;
  EXPECT_DOUBLE_EQ(loss(EngineOf(*net_)), std::sqrt(0.25 / 4));
}

TEST_F(AccuracyLossTest, NeedsBatchesOfOneKind) {
  AccuracyLoss loss;
  ExpectContains(ErrorOf([&] { loss(EngineOf(*net_)); }), "there is no data");
  loss.Add({}, {{"a", {}}}, {});
  ExpectContains(ErrorOf([&] { loss.Add({}, {{"b", {}}}, {}); }), "other outputs");
}

}  // namespace
}  // namespace caffe::inference
