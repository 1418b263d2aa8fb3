// Layers that do the work of those after them change nothing that a program can see.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "caffe/net.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

const char kFusedNet[] = R"(
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 7 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
          num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: 'gaussian' std: 0.3 } } }
  layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' }
  layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' scale_param { bias_term: true
          filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' std: 1 } } }
  layer { name: 'drop' type: 'Dropout' bottom: 'conv' top: 'conv' }
  layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' relu_param { negative_slope: 0.1 } }
  layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param {
          kernel_size: 3 stride: 2 } }
  layer { name: 'bn2' type: 'BatchNorm' bottom: 'pool' top: 'bn2' }
  layer { name: 'scale2' type: 'Scale' bottom: 'bn2' top: 'bn2' }
  layer { name: 'relu6' type: 'ReLU6' bottom: 'bn2' top: 'bn2' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'bn2' top: 'ip' inner_product_param {
          num_output: 4 weight_filler { type: 'gaussian' std: 0.1 } } })";

class NetFusion : public ::testing::Test {
 protected:
  NetFusion() {
    NetParameter param;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFusedNet, &param));
    param.mutable_state()->set_phase(TEST);
    Caffe::set_random_seed(TestSeed());
    net_.reset(new Net<float>(param));
    for (const char* name : {"bn", "bn2"}) {
      const auto& blobs = net_->layer_by_name(name)->blobs();
      Draw(blobs[0].get(), 0, 0.5);
      Draw(blobs[1].get(), 2, 0.2);
      blobs[2]->mutable_cpu_data()[0] = 1.5f;
      for (const auto& blob : blobs) blob->data_tensor().ForgetPointers();
    }
    Draw(net_->input_blobs()[0], 0, 1);
  }
  void Draw(Blob<float>* blob, float mean, float deviation) {
    std::normal_distribution<float> value(mean, deviation);
    float* data = blob->mutable_cpu_data();
    for (int i = 0; i < blob->count(); ++i) data[i] = value(random_);
  }

  using Values = std::vector<float>;
  Values Get(const string& blob) {
    const auto& found = net_->blob_by_name(blob);
    return Values(found->cpu_data(), found->cpu_data() + found->count());
  }
  /// What the whole net gives, and what its layers give one by one.
  void ExpectTheSame(const string& what) {
    SCOPED_TRACE(what);
    net_->Forward();
    const Values conv = Get("conv"), bn = Get("bn2"), ip = Get("ip");
    for (size_t i = 0; i < net_->layers().size(); ++i) net_->ForwardFromTo(i, i);
    ExpectNear(Get("conv"), conv);
    ExpectNear(Get("bn2"), bn);
    ExpectNear(Get("ip"), ip);
  }
  static void ExpectNear(const Values& expected, const Values& actual) {
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(expected[i], actual[i], 1e-4) << i;
    }
  }

  std::mt19937 random_{TestSeed()};
  std::unique_ptr<Net<float>> net_;
};

TEST_F(NetFusion, ComputesWhatTheLayersComputeOneByOne) { ExpectTheSame("as made"); }

// As many outputs as there are channels, but along another axis.
TEST_F(NetFusion, AScaleOfAnotherAxisIsNotTheConvolutions) {
  for (const char* type : {"", "default_forward_type: FLOAT16"}) {
    NetParameter param;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(Join(type, R"(
        layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 1 dim: 3 } } }
        layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
                axis: 3 num_output: 2 weight_filler { type: 'constant' value: 1 } } }
        layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' }
        layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' })"),
                                                              &param));
    param.mutable_state()->set_phase(TEST);
    Net<float> net(param);
    float* scale = net.layer_by_name("scale")->blobs()[0]->mutable_cpu_data();
    scale[0] = 10;
    scale[1] = 100;
    for (int i = 0; i < 6; ++i) net.input_blobs()[0]->mutable_cpu_data()[i] = 1.f + i;
    const float* result = net.Forward()[0]->cpu_data();
    EXPECT_EQ(Values(result, result + 4), (Values{60, 60, 1500, 1500})) << type;
  }
}

TEST_F(NetFusion, SeesParametersThatAreWritten) {
  ExpectTheSame("before");
  const Values before = Get("ip");
  Draw(net_->layer_by_name("scale")->blobs()[0].get(), 1, 1);
  ExpectTheSame("scale written");
  EXPECT_NE(Get("ip"), before);
  float* weights = net_->layer_by_name("conv")->blobs()[0]->mutable_cpu_data();
  ExpectTheSame("pointer taken");
  weights[0] += 10;  // no stamp says so
  ExpectTheSame("written through the pointer");
}

TEST_F(NetFusion, StopsWhereAPartialForwardStops) {
  // Up to the batch normalization: the blob holds what that layer wrote.
  net_->ForwardTo(2);
  const Values normalized = Get("conv");
  net_->ForwardFromTo(0, 1);
  net_->ForwardFromTo(2, 2);
  ExpectNear(Get("conv"), normalized);
  net_->Forward();
  EXPECT_NE(Get("conv"), normalized);
}

/// True if a value before the activation is so near 0 or 6 that the roundings of another order of
/// operations could put it on the other side, where the gradient is another.
bool IsNearAKink(Net<float>* net, const char* activation, float margin) {
  const vector<string>& names = net->layer_names();
  const int at =
      static_cast<int>(std::find(names.begin(), names.end(), activation) - names.begin());
  net->ForwardTo(at - 1);
  const Blob<float>& x = *net->bottom_vecs()[at][0];
  return std::any_of(x.cpu_data(), x.cpu_data() + x.count(), [&](float value) {
    return std::min(std::abs(value), std::abs(value - 6)) < margin;
  });
}

/// Counts the layers that run.
class Counter : public Net<float>::Callback {
 public:
  int layers = 0;

 protected:
  void run(int) override { ++layers; }
};

TEST_F(NetFusion, CallbacksSeeEveryLayer) {
  net_->Forward();
  const Values joined = Get("ip");
  Counter counter;
  net_->add_after_forward(&counter);
  net_->Forward();
  EXPECT_EQ(counter.layers, 11);
  ExpectNear(Get("ip"), joined);
}

TEST_F(NetFusion, FollowsTheShapeOfTheInput) {
  net_->Forward();
  net_->input_blobs()[0]->Reshape({3, 3, 12, 5});
  Draw(net_->input_blobs()[0], 0, 1);
  net_->Reshape();
  // The inner product's weights are for the old shape.
  net_->ForwardTo(9);
  const Values bn = Get("bn2");
  for (int i = 0; i <= 9; ++i) net_->ForwardFromTo(i, i);
  ExpectNear(Get("bn2"), bn);
}

TEST_F(NetFusion, RefreshesBlobsThatSomebodyReads) {
  net_->Forward();
  const float* conv = net_->blob_by_name("conv")->cpu_data();
  const float before = conv[5];
  Draw(net_->input_blobs()[0], 3, 2);
  net_->Forward();
  EXPECT_NE(conv[5], before) << "a pointer from before shows the blob of now";
  EXPECT_EQ(conv, net_->blob_by_name("conv")->cpu_data());
}

// As people who look at what a net sees do it.
TEST_F(NetFusion, ANetWithForcedGradientsHasThemInTest) {
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      force_backward: true
      layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 7 } } }
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
              num_output: 20 kernel_size: 3 weight_filler { type: 'gaussian' std: 0.3 } } }
      layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv'
              batch_norm_param { use_global_stats: true } }
      layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv'
              scale_param { filler { type: 'gaussian' std: 1 } bias_term: true } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' })",
                                                            &param));
  param.mutable_state()->set_phase(TRAIN);
  Net<float> train(param);
  Draw(train.layer_by_name("bn")->blobs()[0].get(), 0, 0.5);
  Draw(train.layer_by_name("bn")->blobs()[1].get(), 2, 0.2);
  train.layer_by_name("bn")->blobs()[2]->mutable_cpu_data()[0] = 1;
  param.mutable_state()->set_phase(TEST);
  Net<float> test(param);
  test.ShareTrainedLayersWith(&train);
  do {
    Draw(train.input_blobs()[0], 0, 1);
  } while (IsNearAKink(&train, "relu", 1e-5));
  Draw(train.output_blobs()[0], 0, 1);
  const Values top_diff(train.output_blobs()[0]->cpu_data(),
                        train.output_blobs()[0]->cpu_data() + train.output_blobs()[0]->count());
  test.input_blobs()[0]->CopyFrom(*train.input_blobs()[0]);
  for (Net<float>* net : {&train, &test}) {
    net->Forward();
    std::copy(top_diff.begin(), top_diff.end(), net->output_blobs()[0]->mutable_cpu_diff());
    net->Backward();
  }
  const auto gradient = [](Net<float>& net) {
    const Blob<float>& data = *net.input_blobs()[0];
    return Values(data.cpu_diff(), data.cpu_diff() + data.count());
  };
  ExpectNear(gradient(train), gradient(test));
}

// The layers whose work another one did compute their gradients by themselves, for the shape of the
// latest pass.
TEST_F(NetFusion, GradientsInTestAreThoseOfLayersOneByOne) {
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 7 } } }
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
              num_output: 20 kernel_size: 3 weight_filler { type: 'gaussian' std: 0.3 } } }
      layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' }
      layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv'
              scale_param { filler { type: 'gaussian' std: 1 } bias_term: true } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param {
              global_pooling: true pool: AVE } }
      layer { name: 'bn2' type: 'BatchNorm' bottom: 'pool' top: 'pool' }
      layer { name: 'clip' type: 'ReLU6' bottom: 'pool' top: 'pool' }
      layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 2 } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'pool' bottom: 'label' })",
                                                            &param));
  param.mutable_state()->set_phase(TEST);
  Net<float> joined(param), apart(param);
  for (const char* name : {"bn", "bn2"}) {
    Draw(joined.layer_by_name(name)->blobs()[0].get(), 0, 0.5);
    Draw(joined.layer_by_name(name)->blobs()[1].get(), 2, 0.2);
    joined.layer_by_name(name)->blobs()[2]->mutable_cpu_data()[0] = 1;
  }
  apart.ShareTrainedLayersWith(&joined);
  Counter counter;
  apart.add_after_forward(&counter);
  for (const std::vector<int>& shape : {std::vector<int>{2, 3, 9, 7}, std::vector<int>{5, 3, 6, 11},
                                        std::vector<int>{1, 3, 4, 5}}) {
    SCOPED_TRACE(shape[0]);
    for (Net<float>* net : {&joined, &apart}) {
      net->input_blobs()[0]->Reshape(shape);
      net->input_blobs()[1]->Reshape({shape[0]});
    }
    do {
      Draw(joined.input_blobs()[0], 0, 1);
    } while (IsNearAKink(&joined, "relu", 1e-5) || IsNearAKink(&joined, "clip", 1e-5));
    apart.input_blobs()[0]->CopyFrom(*joined.input_blobs()[0]);
    std::vector<Values> gradients;
    for (Net<float>* net : {&joined, &apart}) {
      std::fill_n(net->input_blobs()[1]->mutable_cpu_data(), shape[0], 3.f);
      net->Forward();
      net->ClearParamDiffs();
      net->Backward();
      gradients.emplace_back();
      for (const char* name : {"conv", "scale"}) {
        for (const auto& blob : net->layer_by_name(name)->blobs()) {
          gradients.back().insert(gradients.back().end(), blob->cpu_diff(),
                                  blob->cpu_diff() + blob->count());
        }
      }
    }
    ExpectNear(gradients[1], gradients[0]);
  }
}

// A blob without a channel axis has one channel, in layers that are computed together, too.
TEST_F(NetFusion, OneChannelNeedsNoAxis) {
  for (const char* shape : {"", "dim: 3"}) {
    const auto net = MakeNet(std::string("layer { name: 'x' type: 'Input' top: 'x' input_param { "
                                         "shape { ") +
                                 shape +
                                 "} } }"
                                 "layer { name: 'a' type: 'BatchNorm' bottom: 'x' top: 'x' }"
                                 "layer { name: 'b' type: 'BatchNorm' bottom: 'x' top: 'x' }",
                             TEST);
    for (const char* name : {"a", "b"}) {
      const auto& blobs = net->layer_by_name(name)->blobs();
      const float statistics[] = {1, 4, 1};
      for (int i = 0; i < 3; ++i) blobs[i]->mutable_cpu_data()[0] = statistics[i];
    }
    Blob<float>* x = net->input_blobs()[0];
    std::fill_n(x->mutable_cpu_data(), x->count(), 11.f);
    net->Forward();
    for (int i = 0; i < x->count(); ++i)
      EXPECT_NEAR(net->output_blobs()[0]->cpu_data()[i], 2, 1e-5);
  }
}

TEST_F(NetFusion, KeepsItsResultsWithoutOneDnn) {
  net_->Forward();
  const Values with = Get("ip");
  const bool enabled = onednn::Enabled();
  onednn::SetEnabled(false);
  ExpectTheSame("without oneDNN");
  ExpectNear(Get("ip"), with);
  onednn::SetEnabled(enabled);
}

// ---- Training: BatchNorm does the work of a Scale in place behind it.

class TrainingFusion : public ::testing::TestWithParam<const char*> {
 protected:
  /// Gradients that are more than rounding errors: the ReLU leaves values of each channel, and a
  /// loss of its own gives 'scale' a gradient, which bn2 hardly does as it undoes what scales do.
  static std::unique_ptr<Net<float>> MakeNet() {
    NetParameter param;
    const string text = Join(GetParam(), R"(
      layer { name: 'data' type: 'Input' top: 'data' input_param { shape {
              dim: 4 dim: 3 dim: 6 dim: 5 } } }
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
              num_output: 10 kernel_size: 3 bias_term: false weight_filler { type: 'gaussian' std: 0.3 } } }
      layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' }
      layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' scale_param { bias_term: true
              filler { type: 'uniform' min: 0.5 max: 1.5 }
              bias_filler { type: 'uniform' min: -0.5 max: 0.5 } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'bn2' type: 'BatchNorm' bottom: 'conv' top: 'bn2' }
      layer { name: 'scale2' type: 'Scale' bottom: 'bn2' top: 'bn2' param { lr_mult: 0 }
              scale_param { filler { type: 'gaussian' std: 1 } } }
      layer { name: 'loss' type: 'EuclideanLoss' bottom: 'bn2' bottom: 'target' top: 'loss' }
      layer { name: 'loss2' type: 'EuclideanLoss' bottom: 'conv' bottom: 'target' top: 'loss2' }
      layer { name: 'target' type: 'Input' top: 'target' input_param { shape {
              dim: 4 dim: 10 dim: 4 dim: 3 } } })");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param));
    // The losses last.
    param.mutable_layer()->SwapElements(param.layer_size() - 3, param.layer_size() - 1);
    param.mutable_state()->set_phase(TRAIN);
    Caffe::set_random_seed(TestSeed());
    std::unique_ptr<Net<float>> net(new Net<float>(param));
    std::mt19937 random(TestSeed());
    do {
      for (Blob<float>* input : net->input_blobs()) {
        std::normal_distribution<float> value(0, 1);
        for (int i = 0; i < input->count(); ++i) input->mutable_cpu_data()[i] = value(random);
      }
    } while (IsNearAKink(net.get(), "relu", string(GetParam()) == "" ? 1e-5 : 1e-3));
    return net;
  }
  static void ExpectNear(const Blob<float>& expected, const Blob<float>& actual, bool diffs,
                         const string& what) {
    ASSERT_EQ(expected.count(), actual.count());
    const float* a = diffs ? expected.cpu_diff() : expected.cpu_data();
    const float* b = diffs ? actual.cpu_diff() : actual.cpu_data();
    const bool half = string(GetParam()) != "";
    float largest = 0;
    for (int i = 0; i < expected.count(); ++i) largest = std::max(largest, std::abs(a[i]));
    for (int i = 0; i < expected.count(); ++i) {
      ASSERT_NEAR(a[i], b[i], (half ? 1e-2 : 1e-5) * largest + 1e-6) << what << " " << i;
    }
  }
};

/// An observer: then every layer runs by itself.
class Watcher : public Net<float>::Callback {
 protected:
  void run(int) override {}
};

TEST_P(TrainingFusion, GivesTheSameValuesGradientsAndStatistics) {
  const auto apart = MakeNet(), fused = MakeNet();
  Watcher watcher;
  apart->add_after_backward(&watcher);
  for (int step = 0; step < 2; ++step) {
    for (Net<float>* net : {apart.get(), fused.get()}) {
      net->ClearParamDiffs();
      net->ForwardBackward();
    }
    ExpectNear(*apart->output_blobs()[0], *fused->output_blobs()[0], false, "loss");
    for (size_t i = 0; i < apart->params().size(); ++i) {
      const string name = Join("parameter ", apart->param_display_names()[i], " ", i);
      ExpectNear(*apart->params()[i], *fused->params()[i], false, name);
      ExpectNear(*apart->params()[i], *fused->params()[i], true, name + " gradient");
    }
  }
}

TEST_P(TrainingFusion, PartsOfTheBackwardPassGiveTheWhole) {
  const auto whole = MakeNet(), parts = MakeNet();
  whole->ClearParamDiffs();
  whole->ForwardBackward();
  parts->ClearParamDiffs();
  parts->Forward();
  for (int i = static_cast<int>(parts->layers().size()) - 1; i >= 0; --i) {
    parts->BackwardFromTo(i, i);
  }
  for (size_t i = 0; i < whole->params().size(); ++i) {
    ExpectNear(*whole->params()[i], *parts->params()[i], true, Join("gradient ", i));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TrainingFusion,
                         ::testing::Values("",
                                           "default_forward_type: FLOAT16 "
                                           "default_backward_type: FLOAT16 "));

/// Returns the loss of the whole net, which is expected to be that of its layers one by one.
float ExpectSameLosses(const string& text, Phase phase) {
  struct EachByItself : Net<float>::Callback {
    void run(int) override {}
  } callback;
  NetParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "force_backward: true layer { name: 'data' type: 'Input' top: 'data' input_param { shape { "
      "dim: 2 dim: 3 dim: 5 dim: 4 } } } " +
          text,
      &param));
  param.mutable_state()->set_phase(phase);
  Caffe::set_random_seed(TestSeed());
  Net<float> net(param);
  Blob<float>& data = *net.input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = i * 37 % 101 / 50.f - 0.9f;
  float whole = 0, one_by_one = 0;
  net.Forward(&whole);
  net.add_before_forward(&callback);
  net.Forward(&one_by_one);
  EXPECT_NEAR(whole, one_by_one, 1e-4f * std::fabs(one_by_one));
  return whole;
}

TEST(NetFusionOfLosses, AddsWhatALayerInPlaceAddsByItself) {
  const float in_test = ExpectSameLosses(
      "layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'y' convolution_param { "
      "num_output: 4 kernel_size: 3 weight_filler { type: 'gaussian' std: 0.5 } } } "
      "layer { name: 'b' type: 'ReLU' bottom: 'y' top: 'y' loss_weight: 2 }",
      TEST);
  EXPECT_GT(in_test, 1);
  const float in_training = ExpectSameLosses(
      "layer { name: 'a' type: 'BatchNorm' bottom: 'data' top: 'y' } layer { name: 'b' type: "
      "'Scale' bottom: 'y' top: 'y' loss_weight: 3 scale_param { bias_term: true bias_filler { "
      "value: 1 } } }",
      TRAIN);
  EXPECT_NEAR(in_training, 3 * 2 * 3 * 5 * 4, 0.1);  // normalized values have the sum 0
}

// ---- Weights are held once: as oneDNN orders them, unless a program reads them.

constexpr char kPacking[] = R"(
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape {
            dim: 1 dim: 16 dim: 6 dim: 5 } } }
    layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
            num_output: 24 kernel_size: 3 weight_filler { type: 'gaussian' std: 0.3 } } })";

std::unique_ptr<Net<float>> PackingNet(const string& types = "") {
  NetParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(types + kPacking, &param));
  param.mutable_state()->set_phase(TEST);
  return std::make_unique<Net<float>>(param);
}

/// A net for training whose normalization goes by what it has learned before, with its ReLU in
/// place or not.
std::vector<float> GradientOfFrozenNet(bool in_place) {
  NetParameter param;
  const string relu = in_place ? "bn" : "relu";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "force_backward: true "
      "layer { name: 'data' type: 'DummyData' top: 'data' dummy_data_param { shape { dim: 2 dim: "
      "20 "
      "  dim: 3 dim: 3 } data_filler { type: 'gaussian' } } } "
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' phase: TEST "
      "  batch_norm_param { scale_bias: true } } "
      "layer { name: 'relu' type: 'ReLU' bottom: 'bn' top: '" +
          relu + "' } layer { name: 'loss' type: 'Reduction' bottom: '" + relu +
          "' top: 'loss' loss_weight: 1 reduction_param { operation: SUMSQ } }",
      &param));
  param.mutable_state()->set_phase(TRAIN);
  Caffe::set_random_seed(TestSeed());
  Net<float> net(param);
  net.layer_by_name("bn")->blobs()[1]->mutable_cpu_data()[3] = 2;
  net.ForwardBackward();
  const Blob<float>& data = *net.blob_by_name("data");
  return {data.cpu_diff(), data.cpu_diff() + data.count()};
}

TEST(TrainingFusion, LeavesLayersOfAnotherPhaseAlone) {
  EXPECT_EQ(GradientOfFrozenNet(false), GradientOfFrozenNet(true));
}

TEST(PackedWeights, AreTheOnlyCopyUntilTheyAreRead) {
  if (!onednn::Enabled()) GTEST_SKIP() << "without oneDNN there is one order";
  const auto net = PackingNet();
  Blob<float>& weights = *net->layers()[1]->blobs()[0];
  const auto values = [&weights] {
    const float* data = weights.cpu_data_as<float>();  // not kept
    return std::vector<float>(data, data + weights.count());
  };
  const std::vector<float> before = values();
  net->Forward();
  EXPECT_EQ(weights.data_tensor().allocated_bytes(), 0u);
  EXPECT_EQ(before, values());
  // Another batch, another order, the same weights.
  net->input_blobs()[0]->Reshape({3, 16, 6, 5});
  std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), net->input_blobs()[0]->count(), 1.f);
  net->Forward();
  const std::vector<float> top(net->output_blobs()[0]->cpu_data(),
                               net->output_blobs()[0]->cpu_data() + 24);
  double sum = 0;
  for (int i = 0; i < 16 * 9; ++i) sum += before[i];
  EXPECT_NEAR(top[0], sum, 1e-4);
}

// As in Caffe: programs take the pointer of weights once and read it after any pass.
TEST(PackedWeights, PointersThatAProgramTookStayGood) {
  for (const char* types : {"", "default_forward_type: FLOAT16 "}) {
    SCOPED_TRACE(types);
    for (const bool after_a_pass : {false, true}) {
      const auto net = PackingNet(types);
      if (after_a_pass) net->Forward();
      Blob<float>& weights = *net->layers()[1]->blobs()[0];
      const float* pointer = weights.cpu_data();
      const std::vector<float> before(pointer, pointer + weights.count());
      for (const int num : {1, 3}) {
        net->input_blobs()[0]->Reshape({num, 16, 6, 5});
        net->Forward();
        ASSERT_TRUE(weights.data_tensor().is_held(ElementType::FLOAT));
        ASSERT_EQ(weights.cpu_data(), pointer);
        EXPECT_EQ(std::vector<float>(pointer, pointer + weights.count()), before);
      }
      // Weights that are loaded are seen through it at once.
      NetParameter loaded;
      net->ToProto(&loaded);
      loaded.mutable_layer(1)->mutable_blobs(0)->set_data(5, 7.5f);
      net->CopyTrainedLayersFrom(loaded);
      EXPECT_EQ(pointer[5], 7.5f);
      ASSERT_EQ(weights.cpu_data(), pointer);
      net->Forward();
      EXPECT_EQ(pointer[5], 7.5f);
      EXPECT_EQ(pointer[6], before[6]);
      ASSERT_EQ(weights.cpu_data(), pointer);
    }
  }
}

}  // namespace
}  // namespace caffe
