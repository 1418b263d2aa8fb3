// What the TEST phase of a net with quantized_training computes: the integers of its engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/quantize/trained_part.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

using Floats = std::vector<float>;

/// A residual block with batch normalization, a pooled mean and two inner products, of which the
/// second is for training alone.
std::string Body() {
  const std::string filler = "weight_filler { type: 'gaussian' std: 0.3 }";
  const auto convolution = [&](const std::string& name, const std::string& bottom) {
    return Join("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '",
                name, "' convolution_param { num_output: 8 kernel_size: 3 pad: 1 ", filler,
                " } } layer { name: 'bn_", name, "' type: 'BatchNorm' bottom: '", name, "' top: '",
                name, "' } layer { name: 'scale_", name, "' type: 'Scale' bottom: '", name,
                "' top: '", name, "' scale_param { bias_term: true } } ");
  };
  return convolution("a", "data") + "layer { name: 'relu_a' type: 'ReLU' bottom: 'a' top: 'a' } " +
         convolution("b", "a") +
         "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' } "
         "layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' } "
         "layer { name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool' "
         "pooling_param { pool: AVE kernel_size: 2 stride: 2 } } "
         "layer { name: 'scores' type: 'InnerProduct' bottom: 'pool' top: 'scores' "
         "inner_product_param { num_output: 5 " +
         filler + " } } ";
}

std::string Input(int batch) {
  return Join("layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: ", batch,
              " dim: 3 dim: 6 dim: 6 } } } ");
}

std::string Trained(const std::string& quantized_training, int batch = 4) {
  return Join("quantized_training { ", quantized_training, " } ", Input(batch),
              "layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: ", batch,
              " } } } ", Body(),
              "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'label' "
              "top: 'loss' } layer { name: 'accuracy' type: 'Accuracy' bottom: 'scores' "
              "bottom: 'label' top: 'accuracy' include { phase: TEST } }");
}

Floats RandomNumbers(size_t count) {
  Floats numbers(count);
  for (float& x : numbers) x = static_cast<float>(std::rand() % 2001) / 1000 - 1;
  return numbers;
}

template <typename Dtype>
Floats Scores(Net<Dtype>* net, const Floats& data) {
  Blob<Dtype>& input = *net->blob_by_name("data");
  std::copy(data.begin(), data.end(), input.mutable_cpu_data());
  net->Forward();
  const Blob<Dtype>& scores = *net->blob_by_name("scores");
  return Floats(scores.cpu_data(), scores.cpu_data() + scores.count());
}

/// What `caffe build -precision int8` makes of the weights.
Floats EngineScores(const std::string& weights, const Floats& data, int batch) {
  inference::BuilderConfig config;
  config.precision = inference::Precision::INT8;
  const NetParameter net = ParseNet(Input(batch) + Body());
  inference::ExecutionContext context(
      inference::Builder(config).Build(inference::NetworkDefinition::FromCaffe(net, {weights})));
  std::copy(data.begin(), data.end(), context.Input("data"));
  context.Run();
  return Floats(context.Output("scores"), context.Output("scores") + 5 * batch);
}

/// Trains for some batches, so that there are ranges and statistics.
template <typename Dtype>
std::unique_ptr<Net<Dtype>> NetInTraining(const std::string& text) {
  auto net = MakeNet<Dtype>(text, TRAIN);
  for (int i = 0; i < 5; ++i) Scores(net.get(), RandomNumbers(net->blob_by_name("data")->count()));
  return net;
}

/// The net for the TEST phase, with the parameters of the trained one.
template <typename Dtype>
std::unique_ptr<Net<Dtype>> TestNetOf(const Net<Dtype>* trained, const std::string& text) {
  auto net = MakeNet<Dtype>(text, TEST);
  net->ShareTrainedLayersWith(trained);
  return net;
}

template <typename Dtype>
void ExpectTheEnginesScores(const std::string& text) {
  SCOPED_TRACE(text);
  const auto train = NetInTraining<Dtype>(text);
  const auto test = TestNetOf(train.get(), text);
  const std::string weights = NewFileName() + ".caffemodel";
  NetParameter param;
  train->ToProto(&param);
  WriteProtoToBinaryFile(param, weights);
  for (int i = 0; i < 20; ++i) {
    const Floats data = RandomNumbers(4 * 3 * 6 * 6);
    ASSERT_EQ(Scores(test.get(), data), EngineScores(weights, data, 4));
  }
}

class IntegerPassTest : public ::testing::Test {
 protected:
  IntegerPassTest() { std::srand(TestSeed()); }
};

TEST_F(IntegerPassTest, HasTheScoresOfTheEngineToTheBit) {
  for (const char* numbers : {"scheme: AFFINE", "scheme: SYMMETRIC", "scheme: PAPER",
                              "weight_bits: 4", "weight_bits: 5 activation_bits: 6"}) {
    ExpectTheEnginesScores<float>(Trained(numbers));
  }
}

TEST_F(IntegerPassTest, HasThemInNetsOfDoublesToo) {
  ExpectTheEnginesScores<double>(Trained("scheme: AFFINE"));
}

TEST_F(IntegerPassTest, FollowsWeightsThatAreWritten) {
  const auto net = NetInTraining<float>(Trained(""));
  const auto test = TestNetOf(net.get(), Trained(""));
  const Floats data = RandomNumbers(4 * 3 * 6 * 6);
  const Floats before = Scores(test.get(), data);
  float* bias = net->layer_by_name("scores")->blobs()[1]->mutable_cpu_data();
  bias[0] += 0.5f;
  const Floats after = Scores(test.get(), data);
  EXPECT_NEAR(after[0] - before[0], 0.5, 0.1);
  EXPECT_EQ(after[1], before[1]);
}

TEST_F(IntegerPassTest, FollowsTheShapeOfItsInput) {
  const auto net = NetInTraining<float>(Trained(""));
  const auto test = TestNetOf(net.get(), Trained(""));
  const Floats data = RandomNumbers(4 * 3 * 6 * 6);
  const Floats four = Scores(test.get(), data);
  test->blob_by_name("data")->Reshape({1, 3, 6, 6});
  test->blob_by_name("label")->Reshape({1});
  test->Reshape();
  const Floats one = Scores(test.get(), Floats(data.begin(), data.begin() + 3 * 6 * 6));
  EXPECT_EQ(one, Floats(four.begin(), four.begin() + 5));
}

TEST_F(IntegerPassTest, LayersFromTheMiddleOnAreRunOnWhatIsThere) {
  const auto net = NetInTraining<float>(Trained(""));
  const auto test = TestNetOf(net.get(), Trained(""));
  test->set_share_activations(false);
  Scores(test.get(), RandomNumbers(4 * 3 * 6 * 6));
  const auto pool = test->blob_by_name("pool");
  std::fill_n(pool->mutable_cpu_data(), pool->count(), 0.f);
  const auto& names = test->layer_names();
  const auto scores = std::find(names.begin(), names.end(), "scores") - names.begin();
  test->ForwardFrom(static_cast<int>(scores));
  const float* bias = test->layer_by_name("scores")->blobs()[1]->cpu_data();
  const auto made = test->blob_by_name("scores");
  for (int i = 0; i < made->count(); ++i) {
    EXPECT_NEAR(made->cpu_data()[i], bias[i % 5], 0.1) << "the scores of an input of zeros";
  }
}

TEST(TrainedPart, EndsAtTheScoresAndReadsNoLabels) {
  const NetParameter net = ParseNet(Input(4) +
                                    "layer { name: 'label' type: 'Input' top: 'label' "
                                    "input_param { shape { dim: 4 } } } " +
                                    Body() +
                                    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'scores' "
                                    "bottom: 'label' top: 'loss' }");
  const auto part = inference::TrainedPartOf(net, inference::PositionsOf(net));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->inputs, std::vector<std::string>{"data"});
  EXPECT_EQ(part->outputs, std::vector<std::string>{"scores"});
  for (const LayerParameter& layer : part->net.layer()) {
    EXPECT_NE(layer.name(), "label");
    EXPECT_NE(layer.name(), "loss");
  }
}

TEST(TrainedPart, EndsAtBlobsThatAreReadWithoutRoundingToo) {
  const NetParameter net =
      ParseNet(Input(4) + Body() +
               "layer { name: 'moved' type: 'Permute' bottom: 'sum' top: 'moved' "
               "permute_param { order: 0 order: 2 order: 1 order: 3 } }");
  const auto part = inference::TrainedPartOf(net, inference::PositionsOf(net));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->outputs, (std::vector<std::string>{"sum", "scores"}));
}

// What a layer moves is rounded though one of its readers, or none, is all that is left.
TEST(TrainedPart, EndsAtBlobsThatAreMovedToOutputsAndToRoundedLayers) {
  const NetParameter net =
      ParseNet(Input(4) + Body() +
               "layer { name: 'moved' type: 'Flatten' bottom: 'scores' top: 'moved' } "
               "layer { name: 'next' type: 'InnerProduct' bottom: 'moved' top: 'next' "
               "inner_product_param { num_output: 5 } } "
               "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'moved' bottom: 'next' "
               "top: 'loss' }");
  const auto part = inference::TrainedPartOf(net, inference::PositionsOf(net));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->outputs, (std::vector<std::string>{"scores", "next"}));
}

TEST(TrainedPart, SaysWhyThereIsNone) {
  const NetParameter net = ParseNet(Input(4) +
                                    "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' "
                                    "batch_norm_param { use_global_stats: false } } "
                                    "layer { name: 'c' type: 'Convolution' bottom: 'bn' top: 'c' "
                                    "convolution_param { num_output: 2 kernel_size: 3 } }");
  CapturedLog log;
  EXPECT_FALSE(inference::TrainedPartOf(net, inference::PositionsOf(net)).has_value());
  EXPECT_TRUE(
      log.Has("Scores of the TEST phase are simulated in floats: blob 'data' is not rounded under "
              "that name"));
}

TEST(TrainedPart, OfANetWithoutIntegersIsNone) {
  const NetParameter net = ParseNet(Input(4) +
                                    "layer { name: 's' type: 'Sin' bottom: 'data' "
                                    "top: 's' }");
  EXPECT_FALSE(inference::TrainedPartOf(net, inference::TrainingPositions()).has_value());
}

}  // namespace
}  // namespace caffe
