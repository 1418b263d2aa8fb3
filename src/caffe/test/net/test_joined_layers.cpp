// Layers that a net in the TEST phase computes as one: their blobs and outputs are those of layers
// that run one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "caffe/net.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

using LayerNames = std::vector<std::string>;

std::string BlockInputText(const std::string& shape) {
  return "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { " + shape + " } } }";
}
/// `more`: other fields of the layer.
std::string BlockConvolutionText(const std::string& name, const std::string& bottom,
                                 const std::string& parameters,
                                 const std::string& type = "Convolution",
                                 const std::string& more = "") {
  return "layer { name: '" + name + "' type: '" + type + "' bottom: '" + bottom + "' top: '" +
         name + "' " + more + " convolution_param { " + parameters +
         " weight_filler { type: 'msra' } bias_filler { type: 'uniform' } } }";
}
std::string InPlaceText(const std::string& blob, const std::string& type,
                        const std::string& more = "") {
  return "layer { name: '" + blob + "/" + type + "' type: '" + type + "' bottom: '" + blob +
         "' top: '" + blob + "' " + more + " }";
}

/// Inverted residuals with batch normalization, with a residual, with a stride.
std::string JoinableNet() {
  const auto behind = [](const char* blob) {
    return InPlaceText(blob, "BatchNorm") +
           InPlaceText(blob, "Scale",
                       "scale_param { bias_term: true filler { type: 'uniform' min: 0.5 max: 2 } "
                       "bias_filler { type: 'uniform' } }") +
           InPlaceText(blob, "ReLU6");
  };
  return BlockInputText("dim: 2 dim: 3 dim: 21 dim: 18") +
         BlockConvolutionText("first", "data", "num_output: 24 kernel_size: 3 stride: 2") +
         BlockConvolutionText("expand", "first", "num_output: 64 kernel_size: 1") +
         behind("expand") +
         BlockConvolutionText("dw", "expand", "num_output: 64 group: 64 kernel_size: 3 pad: 1") +
         behind("dw") + BlockConvolutionText("linear", "dw", "num_output: 24 kernel_size: 1") +
         "layer { name: 'sum' type: 'Eltwise' bottom: 'linear' bottom: 'first' top: 'sum' }" +
         BlockConvolutionText("expand2", "sum", "num_output: 48 kernel_size: 1") +
         behind("expand2") +
         BlockConvolutionText("dw2", "expand2",
                              "num_output: 48 group: 48 kernel_size: 5 pad: 2 stride: 2") +
         BlockConvolutionText("out", "dw2", "num_output: 24 kernel_size: 1");
}
const LayerNames kJoinableLayers = {"expand", "dw", "linear", "expand2", "dw2", "out"};

/// One inverted residual, "expand", "dw", "linear", without batch normalization, with so many
/// channels between.
std::string OneBlock(const std::string& middle = "48",
                     const std::string& shape = "dim: 2 dim: 24 dim: 12 dim: 10") {
  return BlockInputText(shape) +
         BlockConvolutionText("expand", "data", "num_output: " + middle + " kernel_size: 1") +
         InPlaceText("expand", "ReLU6") +
         BlockConvolutionText(
             "dw", "expand",
             "num_output: " + middle + " group: " + middle + " kernel_size: 3 pad: 1") +
         InPlaceText("dw", "ReLU6") +
         BlockConvolutionText("linear", "dw", "num_output: 24 kernel_size: 1");
}
const LayerNames kBlockLayers = {"expand", "dw", "linear"};

std::string WithText(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

/// The layers whose last pass was a joined one.
LayerNames JoinedLayersOf(const Net<float>& net) {
  LayerNames names;
  for (const auto& layer : net.layers()) {
    if (std::string(layer->forward_engine()) == "native, joined") {
      names.push_back(layer->layer_param().name());
    }
  }
  return names;
}

std::unique_ptr<Net<float>> SeededNet(const std::string& text) {
  Caffe::set_random_seed(TestSeed());
  return MakeNet(text);
}

void FillInput(Net<float>* net, float seed = 0) {
  Blob<float>& data = *net->input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(0.3f * i + seed);
}

void ExpectSameValues(const Blob<float>& a, const Blob<float>& b) {
  ASSERT_EQ(a.shape(), b.shape());
  float largest = 0.1f;
  for (int i = 0; i < b.count(); ++i) largest = std::max(largest, std::fabs(b.cpu_data()[i]));
  for (int i = 0; i < b.count(); ++i) {
    ASSERT_NEAR(a.cpu_data()[i], b.cpu_data()[i], 1e-5f * largest) << i;
  }
}

/// Two threads, for two images or one, join all that may be: how many share an image decides.
class WithThreads {
 public:
  explicit WithThreads(int threads) { Caffe::set_threads(threads); }
  ~WithThreads() { Caffe::set_threads(before_); }

 private:
  const int before_ = Caffe::threads();
};

struct NetPair {
  explicit NetPair(const std::string& text) : joined(SeededNet(text)), apart(SeededNet(text)) {
    // Statistics that are none would let BatchNorm divide by 0.
    for (const auto& layer : joined->layers()) {
      if (std::string(layer->type()) != "BatchNorm") continue;
      std::fill_n(layer->blobs()[1]->mutable_cpu_data(), layer->blobs()[1]->count(), 1.5f);
      layer->blobs()[2]->mutable_cpu_data()[0] = 1;
    }
    NetParameter weights;
    joined->ToProto(&weights);
    joined->CopyTrainedLayersFrom(weights);
    apart->CopyTrainedLayersFrom(weights);
    apart->set_share_activations(false);  // all blobs are kept, so that no layers are joined
    Fill();
  }
  void Fill() {
    for (const auto& net : {joined.get(), apart.get()}) FillInput(net, seed);
  }
  void ExpectSameOutput(const LayerNames& layers) {
    joined->Forward();
    apart->Forward();
    EXPECT_EQ(JoinedLayersOf(*joined), layers);
    EXPECT_EQ(JoinedLayersOf(*apart), LayerNames());
    ExpectSameValues(*joined->output_blobs()[0], *apart->output_blobs()[0]);
  }
  void ExpectSameBlob(const std::string& name) {
    SCOPED_TRACE(name);
    ExpectSameValues(*joined->blob_by_name(name), *apart->blob_by_name(name));
  }

  const WithThreads two{2};
  std::unique_ptr<Net<float>> joined, apart;
  float seed = 0;
};

TEST(JoinedLayers, GiveTheNetsOutput) {
  NetPair nets(JoinableNet());
  for (int pass = 0; pass < 3; ++pass) {
    nets.seed = pass;
    nets.Fill();
    nets.ExpectSameOutput(kJoinableLayers);
  }
}

TEST(JoinedLayers, AreComputedOneByOneWhereABlobBetweenIsAskedFor) {
  NetPair nets(JoinableNet());
  nets.ExpectSameOutput(kJoinableLayers);
  for (const char* const blob : {"dw", "expand", "linear", "expand2", "dw2", "sum"}) {
    nets.ExpectSameBlob(blob);
  }
  nets.seed = 5;
  nets.Fill();
  nets.ExpectSameOutput({});
  nets.ExpectSameBlob("dw");
  // Until the program says again that it reads none.
  nets.joined->set_share_activations(true);
  nets.ExpectSameOutput(kJoinableLayers);
}

TEST(JoinedLayers, FollowParametersAndShapes) {
  NetPair nets(JoinableNet());
  nets.ExpectSameOutput(kJoinableLayers);
  for (const char* const layer : {"expand", "dw", "linear", "dw/Scale", "expand2/BatchNorm"}) {
    SCOPED_TRACE(layer);
    for (const auto& net : {nets.joined.get(), nets.apart.get()}) {
      Blob<float>& blob = *net->layer_by_name(layer)->blobs()[0];
      for (int i = 0; i < blob.count(); ++i) blob.mutable_cpu_data()[i] *= 1.25f;
    }
    nets.ExpectSameOutput(kJoinableLayers);
  }
  for (const auto& shape : {vector<int>{2, 3, 32, 40}, vector<int>{4, 3, 9, 7}}) {
    for (const auto& net : {nets.joined.get(), nets.apart.get()}) {
      net->input_blobs()[0]->Reshape(shape);
      net->Reshape();
    }
    nets.Fill();
    nets.ExpectSameOutput(kJoinableLayers);
  }
}

TEST(JoinedLayers, LeaveBlobsThatOthersRead) {
  NetPair nets(JoinableNet() +
               "layer { name: 'also' type: 'Pooling' bottom: 'dw' top: 'also' "
               "pooling_param { kernel_size: 2 } }");
  nets.ExpectSameOutput({"expand2", "dw2", "out"});
  for (const char* const blob : {"also", "out"}) nets.ExpectSameBlob(blob);
}

TEST(JoinedLayers, AddTheLossOfTheirTops) {
  NetPair nets(WithText(JoinableNet(), "top: 'out'", "top: 'out' loss_weight: 2"));
  float joined = 0, apart = 0;
  nets.joined->Forward(&joined);
  nets.apart->Forward(&apart);
  EXPECT_NE(apart, 0);
  EXPECT_NEAR(joined, apart, 1e-4f * std::fabs(apart));
}

TEST(JoinedLayers, StayApartInPartsOfAPass) {
  NetPair nets(JoinableNet());
  const int layers = static_cast<int>(nets.joined->layers().size());
  for (const auto& net : {nets.joined.get(), nets.apart.get()}) net->ForwardTo(layers - 2);
  nets.ExpectSameBlob("dw2");
}

TEST(JoinedLayers, AreThoseOfOneInvertedResidual) {
  const std::string dw = "num_output: 48 group: 48 kernel_size: 3 pad: 1";
  const std::string block = OneBlock(), expand = "bottom: 'data' top: 'expand'";
  struct {
    const char* what;
    std::string text;
    LayerNames joined;
  } const cases[] = {
      {"as it is", block, kBlockLayers},
      {"by the name of forks",
       WithText(block, "'dw' type: 'Convolution'", "'dw' type: 'DepthwiseConvolution'"),
       kBlockLayers},
      {"the engine that is DEFAULT on a CPU", WithText(block, dw, dw + " engine: CAFFE"),
       kBlockLayers},
      {"another engine", WithText(block, dw, dw + " engine: ONEDNN"), {}},
      {"another type", WithText(block, expand, expand + " forward_type: FLOAT16"), {}},
      {"math of another type", WithText(block, expand, expand + " forward_math: BFLOAT16"), {}},
      {"another phase's", WithText(block, expand, expand + " phase: TRAIN"), {}},
      {"a loss between", WithText(block, "type: 'ReLU6'", "type: 'ReLU6' loss_weight: 1"), {}},
      {"no loss", WithText(block, expand, expand + " loss_weight: 0"), kBlockLayers},
      {"groups of two", WithText(block, dw, "num_output: 48 group: 24 kernel_size: 3 pad: 1"), {}},
      {"less than twice the channels", OneBlock("47"), {}},
      {"less than six times of 16", OneBlock("95", "dim: 2 dim: 16 dim: 12 dim: 10"), {}},
      {"six times of 16", OneBlock("96", "dim: 2 dim: 16 dim: 12 dim: 10"), kBlockLayers},
      {"a depthwise Deconvolution",
       WithText(block, "'dw' type: 'Convolution'", "'dw' type: 'Deconvolution'"),
       {}},
      {"a 1x1 Deconvolution at the end",
       WithText(WithText(block, "'linear' type: 'Convolution'", "'linear' type: 'Deconvolution'"),
                "num_output: 24 kernel_size: 1", "num_output: 48 kernel_size: 1"),
       {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    NetPair nets(c.text);
    nets.ExpectSameOutput(c.joined);
  }
}

// Threads share images, rows or channels (block_split.hpp), or else the layers.
TEST(JoinedLayers, FollowTheNumberOfThreads) {
  const struct {
    int threads, images;
    LayerNames joined;
  } cases[] = {{1, 1, kBlockLayers},   {2, 1, kBlockLayers}, {12, 1, {}},
               {12, 12, kBlockLayers}, {12, 5, {}},          {1, 5, kBlockLayers}};
  NetPair nets(OneBlock("384", "dim: 1 dim: 64 dim: 14 dim: 14"));
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.threads << " threads, " << c.images << " images");
    Caffe::set_threads(c.threads);
    for (const auto& net : {nets.joined.get(), nets.apart.get()}) {
      net->input_blobs()[0]->Reshape({c.images, 64, 14, 14});
    }
    nets.Fill();
    nets.ExpectSameOutput(c.joined);
  }
}

TEST(JoinedLayers, ShareTheChannelsOfSmallImages) {
  NetPair(OneBlock("256", "dim: 1 dim: 16 dim: 7 dim: 7")).ExpectSameOutput(kBlockLayers);
}

// What ends an inverted residual is also what begins the next.
TEST(JoinedLayers, BelongToOneGroup) {
  NetPair nets(
      WithText(OneBlock(), "num_output: 24 kernel_size: 1", "num_output: 96 kernel_size: 1") +
      BlockConvolutionText("dw2", "linear", "num_output: 96 group: 96 kernel_size: 3 pad: 1") +
      BlockConvolutionText("linear2", "dw2", "num_output: 16 kernel_size: 1"));
  nets.ExpectSameOutput(kBlockLayers);
  for (const char* const blob : {"linear2", "dw2", "linear", "dw"}) nets.ExpectSameBlob(blob);
}

TEST(JoinedLayers, ALayerThatJoinsNothingLeavesThePassToTheNet) {
  const auto net = SeededNet(OneBlock());
  Blob<float> bottom(vector<int>{2, 48, 12, 10}), top;
  Layer<float>& dw = *net->layer_by_name("dw");
  EXPECT_FALSE(dw.ForwardJoined({&bottom}, {&top}));
  EXPECT_FALSE(dw.JoinLayers({}));
  EXPECT_FALSE(dw.JoinLayers({net->layer_by_name("linear").get(), &dw}));
  EXPECT_FALSE(dw.ForwardJoined({&bottom}, {&top}));
}

/// Copies its bottom, and calls what the test wants to do meanwhile.
std::function<void()> during_pass;

class Interrupting : public Layer<float> {
 public:
  using Layer<float>::Layer;
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->CopyFrom(*bottom[0]);
    if (during_pass) during_pass();
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

/// The block, and such a layer that has its turn between the first and the second.
std::string InterruptedBlock() {
  static const bool registered = [] {
    LayerRegistry<float>::AddCreator("Interrupting", [](const LayerParameter& param) {
      return shared_ptr<Layer<float>>(new Interrupting(param));
    });
    return true;
  }();
  (void)registered;
  const std::string dw = "layer { name: 'dw' ";
  return WithText(OneBlock(), dw,
                  "layer { name: 'meanwhile' type: 'Interrupting' bottom: 'data' "
                  "top: 'meanwhile' } " +
                      dw);
}

/// In the first pass, and in one of those after it.
class InterruptedLayers : public ::testing::TestWithParam<int> {
 protected:
  InterruptedLayers() : nets_(InterruptedBlock()) {
    nets_.apart->Forward();
    for (int pass = 0; pass < GetParam(); ++pass) nets_.joined->Forward();
  }
  ~InterruptedLayers() override { during_pass = nullptr; }

  NetPair nets_;
};

TEST_P(InterruptedLayers, AreComputedForWhoeverAsksMeanwhile) {
  int calls = 0;
  during_pass = [&] {
    ++calls;
    nets_.ExpectSameBlob("expand");
  };
  nets_.joined->Forward();
  EXPECT_EQ(calls, 1);
  for (const char* const blob : {"expand", "dw", "linear"}) nets_.ExpectSameBlob(blob);
}

TEST_P(InterruptedLayers, SayWhatIsNotComputedYet) {
  std::string message;
  during_pass = [&] {
    try {
      nets_.joined->blob_by_name("dw")->cpu_data();
    } catch (const Error& error) {
      message = error.what();
    }
  };
  nets_.joined->Forward();
  EXPECT_NE(message.find("blob 'dw' was freed"), std::string::npos) << message;
  nets_.ExpectSameBlob("dw");
}

TEST_P(InterruptedLayers, AreComputedAfterAPassThatFailed) {
  during_pass = [] { throw Error("interrupted"); };
  EXPECT_THROW(nets_.joined->Forward(), Error);
  during_pass = nullptr;
  for (const char* const blob : {"dw", "expand", "linear"}) nets_.ExpectSameBlob(blob);
}

TEST_P(InterruptedLayers, AreFreedAtOnceWhereTheProgramReadsNone) {
  nets_.joined->set_share_activations(true);
  during_pass = [&] { EXPECT_THROW(nets_.joined->blob_by_name("expand")->cpu_data(), Error); };
  nets_.ExpectSameOutput(kBlockLayers);
}

INSTANTIATE_TEST_SUITE_P(Passes, InterruptedLayers, ::testing::Values(0, 2));

/// The values of a layer's weights, of which no pointer is kept.
std::vector<float> WeightsOf(const Net<float>& net, const std::string& layer) {
  const Blob<float>& weights = *net.layer_by_name(layer)->blobs()[0];
  const float* const data = weights.cpu_data_as<float>();
  return std::vector<float>(data, data + weights.count());
}

TEST(JoinedLayers, HoldTheWeightsOnce) {
  NetPair nets(OneBlock());
  std::vector<std::vector<float>> before;
  for (const std::string& layer : kBlockLayers) before.push_back(WeightsOf(*nets.joined, layer));
  for (int pass = 0; pass < 2; ++pass) {
    nets.ExpectSameOutput(kBlockLayers);
    for (size_t i = 0; i < kBlockLayers.size(); ++i) {
      SCOPED_TRACE(kBlockLayers[i]);
      const Blob<float>& weights = *nets.joined->layer_by_name(kBlockLayers[i])->blobs()[0];
      EXPECT_EQ(weights.data_tensor().allocated_bytes(), pass == 0 ? 0 : weights.count() * 4u)
          << "once they are read, too";
      EXPECT_EQ(WeightsOf(*nets.joined, kBlockLayers[i]), before[i]);
    }
  }
  nets.ExpectSameBlob("dw");
  nets.ExpectSameOutput({});
  for (size_t i = 0; i < kBlockLayers.size(); ++i) {
    EXPECT_EQ(WeightsOf(*nets.joined, kBlockLayers[i]), before[i]) << kBlockLayers[i];
  }
}

// As a server's: a net for each thread, of the same weights, which none of them may repack alone.
TEST(JoinedLayers, NetsOfSeveralThreadsShareWeights) {
  NetPair nets(OneBlock());
  std::vector<std::unique_ptr<Net<float>>> sharing;
  for (int i = 0; i < 3; ++i) {
    sharing.push_back(SeededNet(OneBlock()));
    sharing[i]->ShareTrainedLayersWith(nets.apart.get());
    FillInput(sharing[i].get());
  }
  std::vector<std::thread> threads;
  for (const auto& net : sharing) {
    threads.emplace_back([&net] {
      for (int pass = 0; pass < 20; ++pass) net->Forward();
    });
  }
  for (std::thread& thread : threads) thread.join();
  nets.apart->Forward();
  for (const auto& net : sharing) {
    EXPECT_EQ(JoinedLayersOf(*net), kBlockLayers);
    ExpectSameValues(*net->output_blobs()[0], *nets.apart->output_blobs()[0]);
  }
}

TEST(JoinedLayers, OfASolversTestNetFollowItsSteps) {
  const WithThreads two(2);
  SolverParameter param;
  ParseProtoText(
      "base_lr: 0.01 lr_policy: 'fixed' max_iter: 10 test_iter: 1 test_interval: 100 "
      "test_initialization: false snapshot_after_train: false solver_mode: CPU",
      "test solver", &param);
  *param.mutable_net_param() =
      ParseNet(OneBlock() +
               "layer { name: 'loss' type: 'Reduction' bottom: 'linear' top: 'loss' "
               "loss_weight: 1 reduction_param { operation: SUMSQ coeff: 0.01 } }");
  Caffe::set_random_seed(TestSeed());
  SGDSolver<float> solver(param);
  Net<float>& tested = *solver.test_nets()[0];
  const auto apart = [&] {
    NetParameter net = param.net_param();
    net.mutable_state()->set_phase(TEST);
    return std::make_unique<Net<float>>(net);
  }();
  apart->set_share_activations(false);
  for (Net<float>* net : {solver.net().get(), &tested, apart.get()}) FillInput(net);
  float last = 0;
  for (int step = 0; step < 3; ++step) {
    solver.Step(1);
    float of_joined = 0, of_apart = 0;
    for (Net<float>* net : {&tested, apart.get()}) net->ShareTrainedLayersWith(solver.net().get());
    tested.Forward(&of_joined);
    apart->Forward(&of_apart);
    EXPECT_EQ(JoinedLayersOf(tested), kBlockLayers);
    EXPECT_NEAR(of_joined, of_apart, 1e-4f * std::fabs(of_apart));
    EXPECT_NE(of_joined, last) << "the step has changed weights";
    last = of_joined;
  }
}

}  // namespace
}  // namespace caffe
