#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "caffe/inference/quantize/training_positions.hpp"
#include "caffe/inference/quantize/training_ranges.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/layers/elementwise/fake_quantization_layer.hpp"
#include "caffe/net/integer_grids.hpp"
#include "caffe/ranks.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/rank_threads.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

using inference::PositionsOf;
using inference::ReadTrainedRanges;
using inference::TrainedRanges;
using inference::TrainingPositions;
using Names = std::set<std::string>;
using Doubles = std::vector<double>;

const std::string kInput =
    "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 8 dim: "
    "8 "
    "} } } ";

std::string Convolution(const std::string& name, const std::string& bottom,
                        const std::string& fields = "num_output: 4 kernel_size: 3 pad: 1") {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { " + fields + " weight_filler { type: 'gaussian' std: 0.3 } } } ";
}

std::string InPlace(const std::string& name, const std::string& type, const std::string& blob,
                    const std::string& fields = "") {
  return "layer { name: '" + name + "' type: '" + type + "' bottom: '" + blob + "' top: '" + blob +
         "' " + fields + " } ";
}

TrainingPositions Positions(const std::string& net) { return PositionsOf(ParseNet(net)); }

/// "blob behind layer", and the blobs that share its range.
Names NamesOf(const TrainingPositions& positions) {
  Names names;
  for (const auto& blob : positions.blobs) {
    std::string text = blob.name + " behind " + blob.layer;
    for (const auto& other : positions.blobs) {
      if (other.group == blob.group && other.name != blob.name) text += ", with " + other.name;
    }
    names.insert(text);
  }
  return names;
}

TEST(TrainingPositions, StandBehindWhatIsFusedIntoOneOperation) {
  const auto positions = Positions(
      kInput + Convolution("conv", "data") + InPlace("bn", "BatchNorm", "conv") +
      InPlace("scale", "Scale", "conv", "scale_param { bias_term: true }") +
      InPlace("relu", "ReLU", "conv") + InPlace("drop", "Dropout", "conv") +
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' inner_product_param { "
      "num_output: 2 } } layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }");
  EXPECT_EQ(NamesOf(positions),
            (Names{"data behind in", "conv behind relu", "ip behind ip", "prob behind prob"}))
      << "before Dropout, which scales in the TRAIN phase";
  ASSERT_EQ(positions.weights.size(), 2u);
  EXPECT_EQ(positions.weights[0].layer, "conv");
  EXPECT_EQ(positions.weights[0].folded, (std::vector<std::string>{"bn", "scale"}));
  EXPECT_TRUE(positions.weights[1].folded.empty());
  const auto prob = std::find_if(positions.blobs.begin(), positions.blobs.end(),
                                 [](const auto& blob) { return blob.name == "prob"; });
  EXPECT_TRUE(prob->is_stated);
  EXPECT_EQ(prob->minimum, 0);
  EXPECT_EQ(prob->maximum, 255.f / 256);
}

TEST(TrainingPositions, OfActivationsThatAreOperationsOfTheirOwn) {
  const auto positions =
      Positions(kInput + Convolution("conv", "data") + InPlace("tanh", "TanH", "conv") +
                Convolution("next", "conv") + InPlace("elu", "ELU", "next"));
  EXPECT_EQ(NamesOf(positions),
            (Names{"data behind in", "conv_before_tanh behind conv", "conv behind tanh",
                   "next_before_elu behind next", "next behind elu"}));
  for (const auto& blob : positions.blobs) {
    EXPECT_EQ(blob.is_stated, blob.layer == "tanh");
    if (!blob.is_stated) continue;
    EXPECT_EQ(blob.minimum, -1);
    EXPECT_EQ(blob.maximum, 127.f / 128);
  }
}

TEST(TrainingPositions, ShareARangeWhereElementsAreMovedOrPooled) {
  const std::string pool = "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 pool: ";
  const auto positions =
      Positions(kInput + Convolution("a", "data") + Convolution("b", "a") +
                "layer { name: 'max' bottom: 'a' top: 'max' " + pool + "MAX } }" +
                "layer { name: 'ave' bottom: 'b' top: 'ave' " + pool + "AVE } }" +
                "layer { name: 'cat' type: 'Concat' bottom: 'max' bottom: 'ave' top: 'cat' }" +
                "layer { name: 'sum' type: 'Eltwise' bottom: 'cat' bottom: 'cat' top: 'sum' }");
  EXPECT_EQ(NamesOf(positions),
            (Names{"data behind in", "a behind a, with b, with ave", "b behind b, with a, with ave",
                   "ave behind ave, with a, with b", "sum behind sum"}));
}

// An engine rescales them to what the Concat's others have.
TEST(TrainingPositions, OfFunctionsInAConcatAreOfTheirOwnRange) {
  const auto positions =
      Positions(kInput + Convolution("a", "data") +
                "layer { name: 'tanh' type: 'TanH' bottom: 'data' top: 'tanh' }"
                "layer { name: 'cat' type: 'Concat' bottom: 'a' bottom: 'tanh' top: 'cat' }" +
                Convolution("next", "cat"));
  EXPECT_EQ(NamesOf(positions), (Names{"data behind in", "a behind a, with cat", "tanh behind tanh",
                                       "cat behind cat, with a", "next behind next"}));
}

TEST(TrainingPositions, LeaveMeansOfFloatsAlone) {
  const std::string mean =
      "layer { name: 'ave' type: 'Pooling' bottom: 'data' top: 'ave' pooling_param { pool: AVE "
      "global_pooling: true } }";
  EXPECT_EQ(NamesOf(Positions(kInput + mean)), Names());
  EXPECT_EQ(
      NamesOf(Positions(kInput + mean + Convolution("a", "ave", "num_output: 4 kernel_size: 1"))),
      (Names{"data behind in, with ave", "a behind a", "ave behind ave, with data"}));
}

// The optimizer computes the ReLU in the layers that make the parts: they are rounded behind it.
TEST(TrainingPositions, FollowActivationsThatComeBeforeAConcatOrPooling) {
  const auto joined = Positions(
      kInput + Convolution("a", "data", "num_output: 4 kernel_size: 1") + Convolution("b", "data") +
      "layer { name: 'cat' type: 'Concat' bottom: 'a' bottom: 'b' top: 'cat' }" +
      InPlace("relu", "ReLU", "cat") + Convolution("c", "cat"));
  EXPECT_EQ(NamesOf(joined), (Names{"data behind in", "cat behind relu", "c behind c"}));
  const auto pooled = Positions(
      kInput + Convolution("a", "data") +
      "layer { name: 'pool' type: 'Pooling' bottom: 'a' top: 'pool' pooling_param { kernel_size: 2 "
      "} }" +
      InPlace("relu", "ReLU", "pool") + Convolution("c", "pool"));
  EXPECT_EQ(NamesOf(pooled), (Names{"data behind in", "pool behind relu", "c behind c"}));
}

TEST(TrainingPositions, LeaveOutWhatIsNoNumberOfTheNetsAndLosses) {
  const std::string data =
      "layer { name: 'd' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { "
      "shape { dim: 2 dim: 3 } shape { dim: 2 } data_filler { type: 'gaussian' } "
      "data_filler { type: 'constant' } } }";
  const auto positions = Positions(
      data +
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
      "num_output: 2 } }"
      "layer { name: 'acc' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'acc' }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }");
  EXPECT_EQ(NamesOf(positions), (Names{"data behind d", "ip behind ip"}));
}

TEST(TrainingPositions, SiblingsAreOneOperation) {
  const auto positions = Positions(kInput + Convolution("a", "data") + Convolution("b", "data"));
  EXPECT_EQ(NamesOf(positions),
            (Names{"data behind in", "a behind a, with b", "b behind b, with a"}));
  ASSERT_EQ(positions.weights.size(), 2u);
  EXPECT_EQ(positions.weights[0].group, positions.weights[1].group);
}

TEST(TrainingPositions, LeaveTheRandomGeneratorAlone) {
  const std::string before = RandomStateOf(*caffe_rng());
  Positions(kInput + Convolution("a", "data"));
  EXPECT_EQ(RandomStateOf(*caffe_rng()), before);
}

const std::string kLabel =
    "layer { name: 'l' type: 'Input' top: 'label' input_param { shape { dim: 2 dim: 3 } } } ";
const std::string kLoss =
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 'label' top: 'loss' } ";
const std::string kInnerProduct =
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' inner_product_param { "
    "num_output: 3 weight_filler { type: 'gaussian' std: 0.1 } } } ";

/// A convolution with batch normalization, and an inner product.
std::string SmallNet(const std::string& quantized_training) {
  return "quantized_training { " + quantized_training + " } " + kInput + kLabel +
         Convolution("conv", "data") + InPlace("bn", "BatchNorm", "conv") +
         InPlace("scale", "Scale", "conv",
                 "scale_param { bias_term: true filler { type: 'uniform' min: -2 max: 2 } }") +
         InPlace("relu", "ReLU", "conv") + kInnerProduct + kLoss;
}

/// The inputs of batch number `batch`.
template <typename Dtype>
void FillBatch(Net<Dtype>* net, int batch) {
  std::srand(TestSeed() + batch);
  for (Blob<Dtype>* input : net->input_blobs()) {
    for (int i = 0; i < input->count(); ++i) {
      input->mutable_cpu_data()[i] = static_cast<Dtype>(std::rand() % 2001) / 1000 - 1;
    }
  }
}

TEST(QuantizedTraining, KeepsTheNamesOfLayersAndBlobs) {
  const auto net = MakeNet(SmallNet(""), TRAIN);
  EXPECT_EQ(net->layer_names(),
            (std::vector<std::string>{"in", "data_quantization", "l", "conv", "bn", "scale", "relu",
                                      "conv_quantization", "ip", "ip_quantization", "loss"}));
  EXPECT_EQ(net->input_blobs()[0], net->blob_by_name("data").get());
  for (const char* blob : {"data", "data_quantized", "conv", "conv_before_quantization", "ip",
                           "ip_before_quantization"}) {
    EXPECT_TRUE(net->has_blob(blob)) << blob;
  }
  for (size_t i = 0; i < net->learnable_params().size(); ++i) {
    if (net->learnable_params()[i]->count() != 2) continue;
    EXPECT_EQ(net->params_lr()[i], 0) << "a range";
  }
}

// The definition: BatchNorm and Scale go into weights and biases, these are rounded by channel, and
// blobs behind each operation.
TEST(QuantizedTraining, TheTestPhaseComputesWithFoldedAndRoundedWeights) {
  for (const char* scheme : {"AFFINE", "PAPER", "SYMMETRIC"}) {
    SCOPED_TRACE(scheme);
    Caffe::set_random_seed(TestSeed());
    QuantizedTrainingParameter param;
    const std::string options = Join("weight_bits: 5 scheme: ", scheme);
    const auto train = MakeNet<double>(SmallNet(options), TRAIN);
    for (int i = 0; i < 3; ++i) {
      FillBatch(train.get(), i);
      train->ForwardBackward();
    }
    const auto net = MakeNet<double>(SmallNet(options), TEST);
    net->ShareTrainedLayersWith(train.get());
    net->set_share_activations(false);
    FillBatch(net.get(), 9);
    net->Forward();

    // The same with plain layers.
    NetParameter quantized = ParseNet(SmallNet(options));
    param = quantized.quantized_training();
    NetParameter plain = quantized;
    plain.clear_quantized_training();
    plain.mutable_state()->set_phase(TEST);
    plain.mutable_layer()->DeleteSubrange(3, 2);  // bn and scale
    Net<double> folded(plain);
    folded.set_share_activations(false);
    const auto blob = [&](const char* layer, int i) {
      return Values(*train->layer_by_name(layer)->blobs()[i]);
    };
    const Doubles mean = blob("bn", 0), variance = blob("bn", 1), gamma = blob("scale", 0),
                  beta = blob("scale", 1), bias = blob("conv", 1);
    const double weight = blob("bn", 2)[0];
    Doubles w = blob("conv", 0), new_bias = bias;
    const size_t row = w.size() / 4;
    for (size_t o = 0; o < 4; ++o) {
      const double f = gamma[o] / std::sqrt(variance[o] / weight + 1e-5f);
      for (size_t i = 0; i < row; ++i) w[o * row + i] *= f;
      new_bias[o] = (bias[o] - mean[o] / weight) * f + beta[o];
    }
    const auto round_rows = [&](Doubles* weights, size_t rows) {
      const size_t length = weights->size() / rows;
      const double least = *std::min_element(weights->begin(), weights->end());
      const double most = *std::max_element(weights->begin(), weights->end());
      for (size_t o = 0; o < rows; ++o) {
        double* begin = weights->data() + o * length;
        const auto own = std::minmax_element(begin, begin + length);
        const bool one = HasOneWeightGrid(param);
        const auto grid = WeightGrid(param, one ? least : *own.first, one ? most : *own.second);
        kernels::FakeQuantize(length, grid, begin, begin);
      }
    };
    round_rows(&w, 4);
    Doubles v = blob("ip", 0);
    round_rows(&v, 3);
    SetValues(folded.layer_by_name("conv")->blobs()[0].get(), w);
    SetValues(folded.layer_by_name("conv")->blobs()[1].get(), new_bias);
    SetValues(folded.layer_by_name("ip")->blobs()[0].get(), v);
    SetValues(folded.layer_by_name("ip")->blobs()[1].get(), blob("ip", 1));

    const auto rounded = [&](const std::string& name, Doubles values) {
      double minimum, maximum;
      const auto& layer = dynamic_cast<const FakeQuantizationLayer<double>&>(
          *net->layer_by_name(name + "_quantization"));
      EXPECT_TRUE(layer.Range(&minimum, &maximum));
      kernels::FakeQuantize(values.size(), BlobGrid(param, minimum, maximum), values.data(),
                            values.data());
      return values;
    };
    const auto expect_near = [](const Blob<double>& actual, const Doubles& expected,
                                const char* what) {
      const Doubles values = Values(actual);
      ASSERT_EQ(values.size(), expected.size());
      for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-5) << what;
    };
    SetValues(folded.input_blobs()[0], rounded("data", Values(*net->blob_by_name("data"))));
    expect_near(*net->blob_by_name("data_quantized"), Values(*folded.blob_by_name("data")), "data");
    folded.Forward();
    expect_near(*net->blob_by_name("conv_before_quantization"),
                Values(*folded.blob_by_name("conv")), "conv");
    // From the rounded blob on, so that no value is next to the middle between two steps.
    SetValues(folded.blob_by_name("conv").get(), Values(*net->blob_by_name("conv")));
    expect_near(*net->blob_by_name("conv"),
                rounded("conv", Values(*net->blob_by_name("conv_before_quantization"))), "steps");
    folded.ForwardFrom(static_cast<int>(folded.layers().size()) - 2);
    expect_near(*net->blob_by_name("ip_before_quantization"), Values(*folded.blob_by_name("ip")),
                "ip");
  }
}

TEST(QuantizedTraining, MastersAreSeenBetweenPassesAndGetTheGradients) {
  const std::string net_text = "quantized_training { weight_bits: 2 } " + kInput + kLabel +
                               Convolution("conv", "data") + kInnerProduct + kLoss;
  const auto net = MakeNet<double>(net_text, TRAIN);
  const auto& blob = net->layer_by_name("ip")->blobs()[0];
  const Blob<double>* const place = blob.get();
  const Doubles masters = Values(*blob);
  FillBatch(net.get(), 1);
  net->ForwardBackward();
  EXPECT_EQ(blob.get(), place);
  EXPECT_EQ(Values(*blob), masters);
  // dL/dw = sum over the batch of dL/dy x: as though the weights were not rounded. dL/dx is by the
  // rounded ones.
  const Blob<double>& x = *net->blob_by_name("conv");
  const Blob<double>& y = *net->blob_by_name("ip_before_quantization");
  const int inputs = x.count(1);
  Doubles rounded = masters;
  for (int o = 0; o < 3; ++o) {
    double largest = 0;
    for (int i = 0; i < inputs; ++i) {
      largest = std::max(largest, std::abs(masters[o * inputs + i]));
    }
    for (int i = 0; i < inputs; ++i) {
      double& value = rounded[o * inputs + i];
      value = std::nearbyint(value / largest) * largest;
      const double expected =
          y.cpu_diff()[o] * x.cpu_data()[i] + y.cpu_diff()[3 + o] * x.cpu_data()[inputs + i];
      ASSERT_NEAR(blob->cpu_diff()[o * inputs + i], expected, 1e-9);
    }
  }
  for (int i = 0; i < inputs; ++i) {
    double expected = 0;
    for (int o = 0; o < 3; ++o) expected += y.cpu_diff()[o] * rounded[o * inputs + i];
    ASSERT_NEAR(x.cpu_diff()[i], expected, 1e-6);
  }
}

TEST(QuantizedTraining, MastersAreRestoredWhenALayerFails) {
  const auto net = MakeNet(SmallNet(""), TRAIN);
  FillBatch(net.get(), 1);
  net->Forward();
  const Blob<float>* const master = net->layer_by_name("conv")->blobs()[0].get();
  net->input_blobs()[0]->mutable_cpu_data()[0] = NAN;
  ExpectContains(ErrorOf([&] { net->Forward(); }), "blob 'data' has infinities or NaNs");
  EXPECT_EQ(net->layer_by_name("conv")->blobs()[0].get(), master);
}

// Deconvolution, groups and transposed weights: each output has its own steps.
TEST(QuantizedTraining, FindsTheOutputsOfAllKindsOfWeights) {
  const std::string fields =
      "num_output: 4 kernel_size: 2 group: 2 bias_term: false weight_filler { type: 'gaussian' "
      "std: "
      "1 }";
  const std::string layers =
      "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 4 dim: 3 "
      "dim: "
      "3 } } } layer { name: 'de' type: 'Deconvolution' bottom: 'data' top: 'de' convolution_param "
      "{ " +
      fields +
      " } } layer { name: 'conv' type: 'Convolution' bottom: 'de' top: 'conv' "
      "convolution_param { " +
      fields +
      " } } layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' "
      "inner_product_param { num_output: 3 transpose: true bias_term: false weight_filler { type: "
      "'gaussian' std: 1 } } }";
  const auto net =
      MakeNet<double>("quantized_training { weight_bits: 3 activation_delay: 9 } " + layers, TRAIN);
  const auto plain = MakeNet<double>(layers, TRAIN);
  FillBatch(net.get(), 2);
  FillBatch(plain.get(), 2);
  // The weights of output o of each layer, in the order of memory.
  const std::map<std::string, std::function<int(int)>> output = {
      {"de", [](int i) { return i / 16 * 2 + i / 4 % 2; }},  // (4, 2, 2, 2): two channels a group
      {"conv", [](int i) { return i / 8; }},                 // (4, 2, 2, 2)
      {"ip", [](int i) { return i % 3; }}};                  // (36, 3)
  for (const auto& layer : output) {
    Doubles w = Values(*net->layer_by_name(layer.first)->blobs()[0]);
    std::map<int, double> largest;
    for (size_t i = 0; i < w.size(); ++i) {
      double& most = largest[layer.second(i)];
      most = std::max(most, std::abs(w[i]));
    }
    for (size_t i = 0; i < w.size(); ++i) {
      const double step = static_cast<float>(largest[layer.second(i)] / 3);
      w[i] = std::nearbyint(w[i] / step) * step;
    }
    SetValues(plain->layer_by_name(layer.first)->blobs()[0].get(), w);
  }
  net->Forward();
  plain->Forward();
  const Doubles actual = Values(*net->blob_by_name("ip")),
                expected = Values(*plain->blob_by_name("ip"));
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-9);
}

std::string SolverText(const std::string& fields) {
  return Join("base_lr: 0.01 lr_policy: 'fixed' random_seed: ", TestSeed(),
              " max_iter: 100 snapshot_after_train: false ", fields);
}

/// A solver of a net that trains on random numbers.
std::string QuantizedNet(const std::string& quantized_training) {
  std::string net = SmallNet(quantized_training);
  const std::string data =
      "layer { name: 'in' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape { "
      "dim: 2 dim: 3 dim: 8 dim: 8 } shape { dim: 2 dim: 3 } data_filler { type: 'gaussian' } } } ";
  return net.replace(net.find(kInput), kInput.size() + kLabel.size(), data);
}

template <typename Dtype = float>
shared_ptr<Solver<Dtype>> MakeSolver(const std::string& fields, const std::string& net) {
  SolverParameter param;
  ParseProtoText(SolverText(fields), "test solver", &param);
  *param.mutable_net_param() = ParseNet(net);
  return shared_ptr<Solver<Dtype>>(SolverRegistry<Dtype>::CreateSolver(param));
}

TEST(QuantizedTraining, BeginsWithItsIterations) {
  using Range = FakeQuantizationLayer<float>;
  const auto solver = MakeSolver(
      "iter_size: 2", QuantizedNet("start_iter: 1 activation_delay: 2 freeze_batch_norm_iter: 4"));
  const auto& range =
      dynamic_cast<const Range&>(*solver->net()->layer_by_name("conv_quantization"));
  const auto batches = [&] {
    return Values(*solver->net()->layer_by_name("conv_quantization")->blobs()[1])[0];
  };
  const auto differs = [&] {
    return Values(*solver->net()->blob_by_name("conv")) !=
           Values(*solver->net()->blob_by_name("conv_before_quantization"));
  };
  const auto statistics = [&] { return Values(*solver->net()->layer_by_name("bn")->blobs()[0]); };
  solver->Step(1);
  EXPECT_EQ(range.stage(), Range::COPY);
  EXPECT_EQ(batches(), 0);
  solver->Step(1);
  EXPECT_EQ(range.stage(), Range::OBSERVE);
  EXPECT_EQ(batches(), 2) << "two batches an iteration";
  EXPECT_FALSE(differs());
  solver->Step(2);
  EXPECT_EQ(range.stage(), Range::ROUND);
  EXPECT_EQ(batches(), 6);
  EXPECT_TRUE(differs());
  const Doubles before = statistics();
  solver->Step(2);
  EXPECT_EQ(statistics(), before) << "frozen";
}

// In float until then: the same net without quantized_training.
TEST(QuantizedTraining, IsFloatBeforeItBegins) {
  const auto simulated = MakeSolver("", QuantizedNet("start_iter: 3"));
  NetParameter plain = ParseNet(QuantizedNet(""));
  plain.clear_quantized_training();
  SolverParameter param = simulated->param();
  *param.mutable_net_param() = plain;
  const shared_ptr<Solver<float>> in_float(SolverRegistry<float>::CreateSolver(param));
  const auto weights = [](Solver<float>* solver) {
    return Values(*solver->net()->layer_by_name("conv")->blobs()[0]);
  };
  const auto step = [&](int count) {
    for (Solver<float>* solver : {simulated.get(), in_float.get()}) {
      Caffe::set_random_seed(TestSeed());  // of the data
      solver->Step(count);
    }
  };
  step(3);
  EXPECT_EQ(weights(simulated.get()), weights(in_float.get()));
  step(1);
  EXPECT_NE(weights(simulated.get()), weights(in_float.get()));
}

// Training on frozen statistics computes what the TEST phase does.
TEST(QuantizedTraining, FrozenTrainingComputesWhatTheTestPhaseDoes) {
  const std::string text = SmallNet("freeze_batch_norm_iter: 1");
  const auto train = MakeNet<double>(text, TRAIN), test = MakeNet<double>(text, TEST);
  FillBatch(train.get(), 4);
  train->Forward();
  train->set_training_iteration(1);
  FillBatch(train.get(), 4);
  train->Forward();
  test->set_share_activations(false);
  test->ShareTrainedLayersWith(train.get());
  FillBatch(test.get(), 4);
  test->Forward();
  for (const char* blob : {"conv", "ip_before_quantization"}) {
    const Doubles expected = Values(*test->blob_by_name(blob));
    const Doubles actual = Values(*train->blob_by_name(blob));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << blob;
  }
}

TEST(QuantizedTraining, RunsWithEverySolverAndInFloat16) {
  for (const char* type : {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"}) {
    for (const std::string half :
         {"", "default_forward_type: FLOAT16 default_backward_type: FLOAT16 "}) {
      SCOPED_TRACE(Join(type, " ", half));
      const auto solver = MakeSolver(Join("type: '", type, "' test_iter: 1 test_interval: 2",
                                          std::string(type) == "RMSProp" ? " rms_decay: 0.9" : ""),
                                     half + QuantizedNet("weight_bits: 4"));
      const auto before = Values(*solver->net()->layer_by_name("conv")->blobs()[0]);
      solver->Step(3);
      EXPECT_NE(Values(*solver->net()->layer_by_name("conv")->blobs()[0]), before);
      EXPECT_EQ(solver->net()->layer_by_name("ip_quantization")->blobs()[0]->data_type(),
                ElementType::FLOAT);
      for (const double value : Values(*solver->net()->blob_by_name("ip"))) {
        EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

// Ranges and roundings on a GPU are the CPU's, but for the order of sums.
TEST(QuantizedTraining, LearnsOnAGpuWhatTheCpuLearns) {
  const auto learned = [] {
    const auto solver = MakeSolver("type: 'SGD'", QuantizedNet("activation_delay: 2"));
    solver->Step(4);
    Doubles values;
    for (const char* layer : {"conv", "ip", "conv_quantization", "ip_quantization"}) {
      const Doubles more = Values(*solver->net()->layer_by_name(layer)->blobs()[0]);
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  };
  const Doubles expected = learned();
  OnEachDevice([&] {
    const Doubles actual = learned();
    ASSERT_EQ(actual.size(), expected.size());
    // A value between two steps may go either way.
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-3) << i;
  });
}

TEST(QuantizedTraining, TakesUpWeightsThatWereTrainedInFloat) {
  NetParameter plain = ParseNet(SmallNet(""));
  plain.clear_quantized_training();
  plain.mutable_state()->set_phase(TRAIN);
  Net<float> in_float(plain);
  NetParameter weights;
  in_float.ToProto(&weights);
  const auto net = MakeNet(SmallNet(""), TRAIN);
  net->CopyTrainedLayersFrom(weights);
  EXPECT_EQ(Values(*net->layer_by_name("conv")->blobs()[0]),
            Values(*in_float.layer_by_name("conv")->blobs()[0]));
  // And the other way round.
  FillBatch(net.get(), 1);
  net->Forward();
  net->ToProto(&weights);
  in_float.CopyTrainedLayersFrom(weights);
}

struct TestedSolver : SGDSolver<float> {
  using SGDSolver<float>::SGDSolver;
  using Solver<float>::TestAll;
};

TEST(QuantizedTraining, RanksAgreeOnRanges) {
  std::vector<Doubles> ranges(2);
  const std::vector<std::string> errors = RunRanks(2, [&](Communicator* communicator) {
    SolverParameter param;
    ParseProtoText(SolverText("test_iter: 1 test_interval: 4 test_initialization: false"),
                   "test solver", &param);
    *param.mutable_net_param() = ParseNet(QuantizedNet(""));
    JoinRanks(communicator, BatchPer::RANK, &param);
    const shared_ptr<TestedSolver> solver(new TestedSolver(param));
    Ranks<float> ranks(solver, communicator);
    solver->Step(4);
    const auto range = [&] {
      return Values(*solver->net()->layer_by_name("conv_quantization")->blobs()[0]);
    };
    ranges[communicator->rank()] = range();
    communicator->Barrier();
    EXPECT_NE(ranges[0], ranges[1]) << "each has other data";
    Doubles mean(2);
    for (int i = 0; i < 2; ++i) mean[i] = (ranges[0][i] + ranges[1][i]) / 2;
    communicator->Barrier();
    solver->TestAll();
    for (int i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(range()[i], mean[i]);
    EXPECT_EQ(Values(*solver->net()->layer_by_name("conv_quantization")->blobs()[1])[0], 4);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST(QuantizedTraining, TakesLayersWithoutWeights) {
  for (const char* layer :
       {"type: 'Convolution' convolution_param { num_output: 4 }",
        "type: 'Deconvolution' convolution_param { num_output: 4 stride: 2 }"}) {
    SCOPED_TRACE(layer);
    const auto net = MakeNet(
        std::string("quantized_training { } layer { name: 'x' type: 'Input' top: 'x' "
                    "input_param { shape { dim: 2 dim: 0 } } } layer { name: 'y' bottom: 'x' "
                    "top: 'y' ") +
            layer + " }",
        TRAIN);
    EXPECT_EQ(net->Forward()[0]->count(0, 2), 8);
  }
}

TEST(QuantizedTraining, SaysWhereRangesAreMissing) {
  const auto net = MakeNet(SmallNet(""), TEST);
  const CapturedLog log;
  net->Forward();
  net->Forward();
  EXPECT_EQ(
      log.lines(),
      std::vector<std::string>{"Weights are rounded, but these blobs have no ranges and are not: "
                               "data, conv, ip. Were the weights trained with quantized_training?"})
      << "once";
}

std::string RefusalOf(const std::string& quantized_training) {
  return ErrorOf([&] { MakeNet(SmallNet(quantized_training), TRAIN); });
}

TEST(QuantizedTraining, RefusesWhatCannotBe) {
  ExpectContains(RefusalOf("weight_bits: 1"), "weight_bits must lie from 2 to 8, got 1");
  ExpectContains(RefusalOf("activation_bits: 9"), "activation_bits must lie from 2 to 8, got 9");
  ExpectContains(RefusalOf("start_iter: -1"), "start_iter is a number of iterations");
  ExpectContains(RefusalOf("activation_delay: -5"), "must not be negative, got -5");
  ExpectContains(RefusalOf("freeze_batch_norm_iter: -1"), "freeze_batch_norm_iter");
  for (const char* decay : {"1", "-0.1", "nan"}) {
    ExpectContains(RefusalOf(Join("ema_decay: ", decay)), "ema_decay must be at least 0 and less");
  }
  const std::string again = "layer { name: 'conv' type: 'ReLU' bottom: 'data' top: 'again' } ";
  ExpectContains(ErrorOf([&] { MakeNet(SmallNet("") + again, TRAIN); }),
                 "'conv': there are two layers of this name");
  const std::string twice = InPlace("conv_quantization", "ReLU", "conv");
  ExpectContains(ErrorOf([&] { MakeNet(SmallNet("") + twice, TRAIN); }), "'conv_quantization'");
}

NetParameter TrainedWeights(const std::string& net, int passes = 1) {
  const auto trained = MakeNet(net, TRAIN);
  for (int i = 0; i < passes; ++i) {
    FillBatch(trained.get(), i);
    trained->Forward();
  }
  NetParameter weights;
  trained->ToProto(&weights);
  return weights;
}

TEST(QuantizedTraining, SaysThatANetGoesOnInFloats) {
  const NetParameter weights = TrainedWeights(SmallNet(""));
  const std::string in_floats = SmallNet("").substr(SmallNet("").find("layer"));
  NetParameter renamed = weights;
  renamed.mutable_layer(1)->set_name("of_another_head_quantization");
  ASSERT_EQ(renamed.layer(1).type(), "FakeQuantization");
  const auto in_integers = MakeNet(SmallNet(""), TRAIN);
  const CapturedLog fine_tuning;
  in_integers->CopyTrainedLayersFrom(renamed);
  EXPECT_FALSE(fine_tuning.HasPrefix("The weights were trained for integers"));
  for (const Phase phase : {TRAIN, TEST}) {
    const auto net = MakeNet(in_floats, phase);
    const CapturedLog log;
    net->CopyTrainedLayersFrom(weights);
    EXPECT_EQ(log.Has("The weights were trained for integers, and this net trains them in floats: "
                      "-quantize, or quantized_training in the prototxt, goes on with that"),
              phase == TRAIN);
  }
}

TEST(TrainedRanges, AreThoseOfTheLayers) {
  const NetParameter weights = TrainedWeights(SmallNet("scheme: PAPER weight_bits: 4"));
  const std::optional<TrainedRanges> ranges = ReadTrainedRanges(weights);
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->numbers.scheme, inference::QuantizationScheme::PAPER);
  EXPECT_EQ(ranges->numbers.weight_bits, 4);
  EXPECT_EQ(ranges->numbers.activation_bits, 8);
  Names names;
  for (const auto& blob : ranges->blobs) names.insert(blob.first);
  EXPECT_EQ(names, (Names{"data", "conv", "ip"}));
  EXPECT_NEAR(ranges->blobs.at("data").maximum, 1, 0.02);
  EXPECT_EQ(ranges->blobs.at("conv").minimum, 0);
}

TEST(TrainedRanges, OfAGroupAreOne) {
  const std::string net = "quantized_training { } " + kInput + Convolution("a", "data") +
                          Convolution("b", "data") +
                          "layer { name: 'cat' type: 'Concat' bottom: 'a' bottom: 'b' top: 'cat' }";
  NetParameter weights = TrainedWeights(net);
  const auto ranges = ReadTrainedRanges(weights);
  ASSERT_TRUE(ranges);
  const auto a = ranges->blobs.at("a"), b = ranges->blobs.at("b");
  EXPECT_EQ(a.minimum, b.minimum);
  EXPECT_EQ(a.maximum, b.maximum);
}

TEST(TrainedRanges, AreRefusedWhereTheyAreNone) {
  NetParameter plain;
  EXPECT_FALSE(ReadTrainedRanges(plain));
  const NetParameter weights = TrainedWeights(SmallNet(""));
  const auto refusal = [&](const std::function<void(LayerParameter*)>& change) {
    NetParameter changed = weights;
    for (LayerParameter& layer : *changed.mutable_layer()) {
      if (layer.name() == "conv_quantization") change(&layer);
    }
    return ErrorOf([&] { ReadTrainedRanges(changed); });
  };
  const std::string other = refusal([](LayerParameter* layer) {
    layer->mutable_fake_quantization_param()->mutable_quantization()->set_weight_bits(4);
  });
  ExpectContains(other, "layer 'conv_quantization'");
  ExpectContains(other, "scheme affine, 4 and 8 bits, layer 'data_quantization'");
  ExpectContains(refusal([](LayerParameter* layer) { layer->mutable_blobs(0)->set_data(1, NAN); }),
                 "must be finite");
  ExpectContains(refusal([](LayerParameter* layer) { layer->mutable_blobs(0)->set_data(0, 0.5f); }),
                 "with 0 in it");
  ExpectContains(refusal([](LayerParameter* layer) { layer->mutable_blobs()->RemoveLast(); }),
                 "1 blob(s) instead of 2");
  ExpectContains(ErrorOf([] { ReadTrainedRanges(TrainedWeights(SmallNet("start_iter: 5"))); }),
                 "no blob's range has been observed");
}

}  // namespace
}  // namespace caffe
