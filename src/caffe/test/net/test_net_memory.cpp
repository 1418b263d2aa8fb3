// Where parameters and activations lie, and in which types.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "caffe/allocator.hpp"
#include "caffe/context.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

constexpr size_t kElements = 1 << 16;

/// A chain of layers over one row of kElements numbers; every third works in place.
string Chain(int layers) {
  string text = Join(
      "layer { name: 'data' type: 'Input' top: 'x0' input_param { shape { dim: 1 dim: ", kElements,
      " } } } ");
  for (int i = 0; i < layers; ++i) {
    text +=
        Join("layer { name: 'relu", i, "' type: 'ReLU' bottom: 'x", i, "' top: 'x", i + 1, "' } ");
    if (i % 3 == 0) {
      text += Join("layer { name: 'inplace", i, "' type: 'ReLU' bottom: 'x", i + 1, "' top: 'x",
                   i + 1, "' } ");
    }
  }
  return text;
}

NetOptions Sharing() {
  NetOptions options;
  options.share_activations = true;
  return options;
}

/// The largest number of bytes that a forward pass of `net` has at once beyond those before it.
template <typename Dtype>
size_t PeakOfForward(Net<Dtype>* net) {
  net->input_blobs()[0]->mutable_cpu_data();
  const size_t before = Allocator::bytes_in_use();
  Allocator::ResetPeak();
  net->Forward();
  return Allocator::peak_bytes() - before;
}

TEST(ShareActivations, HoldsWhatLivesAtOnce) {
  const auto apart = MakeNet(Chain(10));
  apart->set_share_activations(false);
  EXPECT_EQ(PeakOfForward(apart.get()), 10 * kElements * sizeof(float));
  const auto shared = MakeNet(Chain(10), TEST, Sharing());
  // Two that live at once and the output, which stays.
  EXPECT_EQ(PeakOfForward(shared.get()), 3 * kElements * sizeof(float));
}

TEST(ShareActivations, GivesTheSameResults) {
  const string kBranches = R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
      layer { name: "a" type: "ReLU" bottom: "data" top: "a" }
      layer { name: "flat" type: "Flatten" bottom: "a" top: "flat" }
      layer { name: "b" type: "ReLU" bottom: "a" top: "b" }
      layer { name: "sum" type: "Eltwise" bottom: "flat" bottom: "b" top: "sum" }
      layer { name: "late" type: "Eltwise" bottom: "a" bottom: "sum" top: "late" })";
  const auto net = MakeNet(kBranches, TEST, Sharing());
  for (int pass = 1; pass < 4; ++pass) {
    SetValues(net->input_blobs()[0], {1. * pass, -2, 3, -4});
    EXPECT_EQ(Values(*net->Forward()[0]), (std::vector<double>{3. * pass, 0, 9, 0}));
  }
}

TEST(ShareActivations, ReadingAFreedBlobNamesIt) {
  const auto net = MakeNet(Chain(3), TEST, Sharing());
  net->Forward();
  const string message = ErrorOf([&] { net->blob_by_name("x1")->cpu_data(); });
  ExpectContains(message, "blob 'x1' was freed after layer 'relu1'");
  ExpectContains(message, "set_share_activations(false)");
  ExpectContains(ErrorOf([&] { net->ForwardFrom(3); }), "blob 'x1' was freed");
  EXPECT_EQ(ErrorOf([&] { net->blob_by_name("x0")->cpu_data(); }), "");
  EXPECT_EQ(ErrorOf([&] { net->blob_by_name("x3")->cpu_data(); }), "");
}

TEST(ShareActivations, CanBeSwitchedOff) {
  const auto net = MakeNet(Chain(3), TEST, Sharing());
  net->Forward();
  net->set_share_activations(false);
  net->Forward();
  EXPECT_EQ(ErrorOf([&] { net->blob_by_name("x1")->cpu_data(); }), "");
}

TEST(ShareActivations, IsForTheTestPhase) {
  ExpectContains(ErrorOf([] { MakeNet(Chain(1), TRAIN, Sharing()); }),
                 "share_activations is for the TEST phase");
}

// By default a net frees blobs that no program has read.
TEST(ShareActivations, IsTheDefaultUntilABlobIsAskedFor) {
  const auto net = MakeNet(Chain(10));
  EXPECT_EQ(PeakOfForward(net.get()), 3 * kElements * sizeof(float));
  net->blob_by_name("x10");  // an output
  EXPECT_EQ(PeakOfForward(net.get()), 0u) << "memory of the first pass serves the second";
  const size_t before = Allocator::bytes_in_use();
  net->blob_by_name("x5");
  EXPECT_GE(Allocator::bytes_in_use() - before, 7 * kElements * sizeof(float));
}

TEST(ShareActivations, ABlobAskedForLateIsComputedAgain) {
  const string kBranches = R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
      layer { name: "a" type: "Power" bottom: "data" top: "a" power_param { shift: 1 } }
      layer { name: "a2" type: "Power" bottom: "a" top: "a" power_param { scale: 2 } }
      layer { name: "flat" type: "Flatten" bottom: "a" top: "flat" }
      layer { name: "b" type: "ReLU" bottom: "a" top: "b" }
      layer { name: "sum" type: "Eltwise" bottom: "flat" bottom: "b" top: "sum" }
      layer { name: "late" type: "Eltwise" bottom: "a" bottom: "sum" top: "late" })";
  const auto net = MakeNet(kBranches);
  SetValues(net->input_blobs()[0], {1, -2, 3, -4});
  EXPECT_EQ(Values(*net->Forward()[0]), (std::vector<double>{12, -4, 24, -12}));
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{4, -2, 8, -6}));
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{4, 0, 8, 0}));
  EXPECT_EQ(Values(*net->blob_by_name("flat")), (std::vector<double>{4, -2, 8, -6}));
  EXPECT_EQ(Values(*net->blob_by_name("sum")), (std::vector<double>{8, -2, 16, -6}));
  // From now on it stays, and so do pointers.
  const float* a = net->blob_by_name("a")->cpu_data();
  SetValues(net->input_blobs()[0], {0, 0, 0, 0});
  net->Forward();
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(a, net->blob_by_name("a")->cpu_data());
}

TEST(ShareActivations, GettersOfAConstNetComputeWhatWasFreed) {
  const auto net = MakeNet(Chain(6));
  float* input = net->input_blobs()[0]->mutable_cpu_data();
  std::fill_n(input, kElements, 1.f);
  net->Forward();
  const Net<float>& seen = *net;
  const auto blob = seen.blob_by_name("x2");
  EXPECT_EQ(seen.blobs().size(), 7u);
  EXPECT_EQ(seen.top_vecs().size(), seen.layers().size());
  EXPECT_EQ(blob->cpu_data()[5], 1.f);
  std::fill_n(input, kElements, 2.f);
  net->Forward();
  EXPECT_EQ(blob->cpu_data()[5], 2.f);
}

TEST(ShareActivations, ThreadsMayReadAConstNet) {
  for (int round = 0; round < 20; ++round) {
    const auto net = MakeNet(Chain(6));
    std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), kElements, 3.f);
    net->Forward();
    const Net<float>& seen = *net;
    std::vector<std::thread> threads;
    std::vector<float> read(4);
    for (size_t i = 0; i < read.size(); ++i) {
      threads.emplace_back(
          [&, i] { read[i] = seen.blob_by_name(Join("x", i + 1))->cpu_data()[kElements - 1]; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read, std::vector<float>(4, 3.f));
  }
}

TEST(ShareActivations, ABlobMayOutliveItsNet) {
  auto net = MakeNet(Chain(3));
  std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), kElements, 5.f);
  net->Forward();
  const auto blob = std::as_const(*net).blobs()[1];
  net.reset();
  EXPECT_EQ(blob->cpu_data()[7], 5.f);
}

// As programs do that write the next image while they evaluate the last.
TEST(ShareActivations, AFreedBlobIsThatOfTheLastPassWhateverTheInputIsNow) {
  const auto net = MakeNet(Chain(3));
  float* input = net->input_blobs()[0]->mutable_cpu_data();
  std::fill_n(input, kElements, 1.f);
  net->Forward();
  std::fill_n(input, kElements, 2.f);
  EXPECT_EQ(net->blob_by_name("x1")->cpu_data()[7], 1.f);
  EXPECT_EQ(net->blob_by_name("x3")->cpu_data()[7], 1.f);
  EXPECT_EQ(input[7], 2.f) << "the input stays";
  net->Forward();
  EXPECT_EQ(net->blob_by_name("x1")->cpu_data()[7], 2.f);
}

// "b" reads what the ReLU changes afterwards, by the name of a view of it.
TEST(ShareActivations, ABlobOfAViewThatIsChangedInPlaceStays) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
      layer { name: "a" type: "Power" bottom: "data" top: "a" power_param { scale: 2 } }
      layer { name: "b" type: "Power" bottom: "a" top: "b" power_param { shift: 1 } }
      layer { name: "c" type: "Power" bottom: "b" top: "c" }
      layer { name: "flat" type: "Flatten" bottom: "a" top: "flat" }
      layer { name: "relu" type: "ReLU" bottom: "flat" top: "flat" })");
  SetValues(net->input_blobs()[0], {1, -2, 3, -4});
  net->Forward();
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{3, -3, 7, -7}));
}

// An output, or an input, is changed by the name of a copy after "b" has read it.
TEST(ShareActivations, CopiesThatAreChangedInPlaceStay) {
  const char kLater[] = R"(
      layer { name: "copies" type: "Split" bottom: "a" top: "a1" top: "a2" }
      layer { name: "b" type: "Power" bottom: "a1" top: "b" power_param { shift: 1 } }
      layer { name: "c" type: "Power" bottom: "b" top: "c" }
      layer { name: "again" type: "Power" bottom: "a2" top: "a2" power_param { scale: 2 } } )";
  const auto input = [](const string& name) {
    return Join("layer { name: 'data' type: 'Input' top: '", name,
                "' input_param { shape { dim: 1 dim: 4 } } } ");
  };
  const string double_it =
      "layer { name: 'a' type: 'Power' bottom: 'x' top: 'a' power_param { scale: 2 } } ";
  for (const bool of_input : {false, true}) {
    const auto net = MakeNet((of_input ? input("a") : input("x") + double_it) + kLater);
    SetValues(net->input_blobs()[0], {1, -2, 3, -4});
    net->Forward();
    const double scale = of_input ? 1 : 2;
    EXPECT_EQ(Values(*net->blob_by_name("b")),
              (std::vector<double>{1 * scale + 1, -2 * scale + 1, 3 * scale + 1, -4 * scale + 1}));
  }
}

// A view that no layer reads before the change is no reason to keep all blobs.
TEST(ShareActivations, ABlobThatIsChangedBeforeItIsViewedIsFreedLikeOthers) {
  string text = Chain(9);
  text +=
      "layer { name: 'flat' type: 'Flatten' bottom: 'x9' top: 'flat' } layer { name: 'relu' "
      "type: 'ReLU' bottom: 'flat' top: 'flat' }";
  const auto net = MakeNet(text);
  EXPECT_LE(PeakOfForward(net.get()), 3 * kElements * sizeof(float));
}

/// Two inner products of one weight each; "c" is the output.
const char kWeighted[] = R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 } } }
    layer { name: "a" type: "Power" bottom: "data" top: "a" power_param { shift: 1 } }
    layer { name: "ip" type: "InnerProduct" bottom: "a" top: "ip" inner_product_param {
            num_output: 1 bias_term: false weight_filler { type: "constant" value: 2 } } }
    layer { name: "b" type: "Power" bottom: "ip" top: "b" power_param { shift: 1 } }
    layer { name: "c" type: "Power" bottom: "b" top: "c" })";

// Caffe has the values of the last pass; there is no computing them with other weights.
TEST(ShareActivations, WhatDependsOnReplacedParametersCannotBeReadUntilTheNextPass) {
  NetParameter loaded;
  const auto other = MakeNet(kWeighted);
  SetValues(other->params()[0].get(), {10});
  other->ToProto(&loaded);
  const string file = NewFileName();
  other->ToHDF5(file);
  const std::function<void(Net<float>*)> ways[] = {
      [&](Net<float>* net) { net->CopyTrainedLayersFrom(loaded); },
      [&](Net<float>* net) { net->CopyTrainedLayersFrom(file); },
      [&](Net<float>* net) { net->ShareTrainedLayersWith(other.get()); }};
  for (const auto& replace : ways) {
    const auto net = MakeNet(kWeighted);
    SetValues(net->input_blobs()[0], {3});
    net->Forward();
    replace(net.get());
    const auto b = net->blob_by_name("b");
    const string message = ErrorOf([&] { b->cpu_data(); });
    ExpectContains(message, "blob 'b' was freed");
    ExpectContains(message, "other parameters of layer 'ip'");
    ExpectContains(message, "set_share_activations(false)");
    EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{4})) << "needs none";
    EXPECT_EQ(Values(*net->output_blobs()[0]), (std::vector<double>{9}));
    net->Forward();
    EXPECT_EQ(Values(*b), (std::vector<double>{41}));

    const auto seen = MakeNet(kWeighted);
    SetValues(seen->input_blobs()[0], {3});
    seen->blob_by_name("b");
    seen->Forward();
    replace(seen.get());
    EXPECT_EQ(Values(*seen->blob_by_name("b")), (std::vector<double>{9}));
  }
}

TEST(ShareActivations, WhatDependsOnOtherParametersIsComputedAgain) {
  const auto branch = [](const string& name) {
    return Join("layer { name: '", name, "' type: 'InnerProduct' bottom: 'data' top: '", name,
                "' inner_product_param { num_output: 1 bias_term: false weight_filler { type: "
                "'constant' value: 2 } } } layer { name: '",
                name, "1' type: 'Power' bottom: '", name, "' top: '", name,
                "1' power_param { shift: 1 } } ");
  };
  const string input =
      "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 1 } } } ";
  const auto net = MakeNet(input + branch("a") + branch("b") +
                           "layer { name: 'sum' type: 'Eltwise' bottom: 'a1' bottom: 'b1' top: "
                           "'sum' } layer { name: 'end' type: 'Power' bottom: 'sum' top: 'end' }");
  SetValues(net->input_blobs()[0], {3});
  net->Forward();
  NetParameter all, of_a;
  net->ToProto(&all);
  for (const LayerParameter& layer : all.layer()) {
    if (layer.name() == "a") *of_a.add_layer() = layer;
  }
  net->CopyTrainedLayersFrom(of_a);
  EXPECT_EQ(Values(*net->blob_by_name("b1")), (std::vector<double>{7}));
  for (const char* name : {"a", "a1", "sum"}) {
    const auto blob = net->blob_by_name(name);
    ExpectContains(ErrorOf([&] { blob->cpu_data(); }), "other parameters of layer 'a'");
  }
  EXPECT_EQ(Values(*net->blob_by_name("end")), (std::vector<double>{14}));
}

TEST(ShareActivations, ParametersThatAProgramWritesCountAsTheyAreNow) {
  const auto net = MakeNet(kWeighted);
  SetValues(net->input_blobs()[0], {3});
  net->Forward();
  SetValues(net->params()[0].get(), {10});
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{41}));
}

// A layer of a program's own may keep its bottom and read it when a later one runs, or after the
// pass.
template <typename Dtype>
class KeepingLayer : public Layer<Dtype> {
 public:
  explicit KeepingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
    kept_.ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "Keeping"; }
  const Blob<Dtype>& kept() const { return kept_; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    kept_.ShareData(*bottom[0]);
    top[0]->CopyFrom(*bottom[0]);
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

 private:
  Blob<Dtype> kept_;
};
REGISTER_LAYER_CLASS(Keeping);

TEST(ShareActivations, ALayerMayKeepItsBottom) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
      layer { name: "a" type: "Power" bottom: "data" top: "a" power_param { scale: 2 } }
      layer { name: "keeps" type: "Keeping" bottom: "a" top: "b" }
      layer { name: "c" type: "Power" bottom: "b" top: "c" })");
  SetValues(net->input_blobs()[0], {3, 4});
  for (int pass = 0; pass < 2; ++pass) {
    net->Forward();
    const auto keeps =
        boost::dynamic_pointer_cast<KeepingLayer<float>>(net->layer_by_name("keeps"));
    EXPECT_EQ(Values(keeps->kept()), (std::vector<double>{6, 8}));
  }
}

TEST(ShareActivations, APassThatFailsLeavesBlobsReadable) {
  const auto net = MakeNet(Chain(3));
  std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), kElements, 1.f);
  net->Forward();
  struct Stop : Net<float>::Callback {
    void run(int) override { throw Error("stop"); }
  } stop;
  net->add_before_forward(&stop);
  EXPECT_THROW(net->Forward(), Error);
  EXPECT_EQ(net->blob_by_name("x1")->cpu_data()[7], 1.f);
}

TEST(ShareActivations, SwitchingItOffLateRestoresWhatWasFreed) {
  const auto net = MakeNet(Chain(3));
  SetValues(net->input_blobs()[0], std::vector<double>(kElements, 3));
  net->Forward();
  net->set_share_activations(false);
  EXPECT_EQ(net->blob_by_name("x1")->cpu_data()[0], 3);
}

// One top of the Slice is gone, the other an output that a layer has changed in place: computing
// the first again must not undo that.
TEST(ShareActivations, WhatWasChangedInPlaceStaysSo) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
      layer { name: "cut" type: "Slice" bottom: "data" top: "a" top: "b" }
      layer { name: "double" type: "Power" bottom: "a" top: "a" power_param { scale: 2 } }
      layer { name: "c" type: "ReLU" bottom: "b" top: "c" })");
  SetValues(net->input_blobs()[0], {1, -2, 3, -4});
  net->Forward();
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{3, -4}));
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{2, -4}));
}

TEST(ShareActivations, PartsOfAPassFindWhatTheyRead) {
  const auto net = MakeNet(Chain(4));
  SetValues(net->input_blobs()[0], std::vector<double>(kElements, 3));
  net->Forward();
  net->ForwardFrom(3);
  EXPECT_EQ(net->output_blobs()[0]->cpu_data()[0], 3);
  EXPECT_EQ(net->blobs()[2]->cpu_data()[0], 3);
}

// A second pass of such a layer is not the first one's: its top is never freed.
TEST(ShareActivations, WhatCannotBeRepeatedStays) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 1 dim: 1 } } }
      layer { name: "cont" type: "Input" top: "cont" input_param { shape { dim: 2 dim: 1 } } }
      layer { name: "rnn" type: "LSTM" bottom: "data" bottom: "cont" top: "rnn" recurrent_param {
              num_output: 1 weight_filler { type: "constant" value: 1 } } }
      layer { name: "twice" type: "Power" bottom: "rnn" top: "twice" power_param { scale: 2 } }
      layer { name: "end" type: "Power" bottom: "twice" top: "end" })");
  SetValues(net->input_blobs()[0], {1, 1});
  SetValues(net->input_blobs()[1], {1, 1});  // goes on where the last pass ended
  net->Forward();
  net->Forward();
  const double end = Values(*net->output_blobs()[0])[0];
  EXPECT_EQ(Values(*net->blob_by_name("twice"))[0], end);
  EXPECT_EQ(2 * Values(*net->blob_by_name("rnn"))[0], end);
}

TEST(ShareActivations, StatisticsOfATestBatchCountOnce) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 1 } } }
      layer { name: "norm" type: "BatchNorm" bottom: "data" top: "norm"
              batch_norm_param { use_global_stats: false moving_average_fraction: 0.5 } }
      layer { name: "twice" type: "Power" bottom: "norm" top: "twice" power_param { scale: 2 } }
      layer { name: "end" type: "Power" bottom: "twice" top: "end" })");
  SetValues(net->input_blobs()[0], {3, 5});
  net->Forward();
  const double end = Values(*net->output_blobs()[0])[1];
  EXPECT_EQ(Values(*net->blob_by_name("twice"))[1], end);
  EXPECT_EQ(Values(*net->layer_by_name("norm")->blobs()[0]), (std::vector<double>{4}));
  EXPECT_EQ(Values(*net->layer_by_name("norm")->blobs()[2]), (std::vector<double>{1}));
}

// A layer written for Caffe takes its top with mutable_cpu_data.
template <typename Dtype>
class OldFashionedLayer : public Layer<Dtype> {
 public:
  explicit OldFashionedLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "OldFashioned"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    const Dtype* x = bottom[0]->cpu_data();
    Dtype* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) y[i] = x[i] + 1;
  }
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>&,
                    const vector<Blob<Dtype>*>& bottom) override {
    std::copy(top[0]->cpu_diff(), top[0]->cpu_diff() + top[0]->count(),
              bottom[0]->mutable_cpu_diff());
  }
};
REGISTER_LAYER_CLASS(OldFashioned);

TEST(ShareActivations, APartOfAPassDoesNotTakeFreedBlobsForZeros) {
  const auto net = MakeNet(Chain(3), TEST, Sharing());
  net->Forward();
  ExpectContains(ErrorOf([&] { net->ForwardFromTo(2, 2); }), "blob 'x1' was freed");  // in place
}

TEST(ShareActivations, WorksWithLayersWrittenForCaffe) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "x" input_param { shape { dim: 2 } } }
      layer { name: "a" type: "OldFashioned" bottom: "x" top: "y" }
      layer { name: "b" type: "OldFashioned" bottom: "y" top: "y" }
      layer { name: "c" type: "OldFashioned" bottom: "y" top: "z" })",
                           TEST, Sharing());
  SetValues(net->input_blobs()[0], {1, 2});
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Values(*net->Forward()[0]), (std::vector<double>{4, 5}));
  }
}

// --- types --------------------------------------------------------------------------------------

const char kHalf[] = R"(
    default_forward_type: FLOAT16 default_backward_type: FLOAT16
    layer { name: "data" type: "Input" top: "data" top: "label"
            input_param { shape { dim: 3 dim: 2 } shape { dim: 3 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1" param { lr_mult: %1 }
            inner_product_param { num_output: 4 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" %2 }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";

string Half(const string& lr_mult = "1", const string& relu = "") {
  string text = kHalf;
  text.replace(text.find("%1"), 2, lr_mult);
  text.replace(text.find("%2"), 2, relu);
  return text;
}

void FillNetInputs(Net<float>* net) {
  SetValues(net->input_blobs()[0], {1, 2, -3, 4, 0.5, -1});
  SetValues(net->input_blobs()[1], {0, 1, 1});
}

TEST(NetTypes, AFloat16NetIsNeverInMemoryAsFloat) {
  constexpr size_t kSide = 256, kLayers = 8;
  string text = Join("default_forward_type: FLOAT16 layer { name: 'd' type: 'Input' top: 'x0' ",
                     "input_param { shape { dim: 1 dim: ", kSide, " } } } ");
  for (size_t i = 0; i < kLayers; ++i) {
    text += Join("layer { name: 'ip", i, "' type: 'InnerProduct' bottom: 'x", i, "' top: 'x", i + 1,
                 "' inner_product_param { bias_term: false num_output: ", kSide,
                 " weight_filler { type: 'xavier' } } } ");
  }
  const size_t before = Allocator::bytes_in_use();
  Allocator::ResetPeak();
  const auto net = MakeNet(text);
  constexpr size_t kHalves = kLayers * kSide * kSide * sizeof(float16);
  EXPECT_LT(Allocator::bytes_in_use() - before, 1.01 * kHalves);
  EXPECT_LT(Allocator::peak_bytes() - before, 1.3 * kHalves) << "one layer at a time is float";
}

/// What a net takes once it has run.
struct Taken {
  size_t weights, activations;  // with packed copies; with scratch
  size_t blobs;                 // of the layer whose bottoms and tops are the most
};

/// A layer's bottoms and tops are all there while it computes.
size_t MostBlobsOfALayer(const Net<float>& net) {
  size_t most = 0;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    std::set<const Tensor*> tensors;
    for (const auto* blobs : {&net.bottom_vecs()[i], &net.top_vecs()[i]}) {
      for (const Blob<float>* blob : *blobs) tensors.insert(&blob->data_tensor());
    }
    size_t bytes = 0;
    for (const Tensor* tensor : tensors) bytes += tensor->count() * SizeOf(tensor->storage_type());
    most = std::max(most, bytes);
  }
  return most;
}

Taken TakenBy(const char* type, const string& layers) {
  const size_t before = Allocator::bytes_in_use();
  const size_t scratch = Context::Current().workspace().capacity();
  auto net = MakeNet(Join("default_forward_type: ", type, " ", layers));
  Blob<float>* input = net->input_blobs()[0];
  Dispatch(input->data_type(), [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(input->template overwrite_cpu_data_as<T>(), input->count(), T(0.5f));
  });
  for (int pass = 0; pass < 4; ++pass) net->Forward();
  Allocator::ResetPeak();
  net->Forward();
  const size_t all = Allocator::peak_bytes() - before;
  const size_t blobs = MostBlobsOfALayer(*net);
  const auto kept = net->layers();
  net.reset();
  const size_t weights =
      Allocator::bytes_in_use() - before - (Context::Current().workspace().capacity() - scratch);
  return {weights, all - weights, blobs};
}

string ConvolutionText(const string& bottom, const string& top, int outputs, int kernel,
                       const string& more = "") {
  return Join("layer { name: '", top, "' type: 'Convolution' bottom: '", bottom, "' top: '", top,
              "' convolution_param { num_output: ", outputs, " kernel_size: ", kernel,
              " pad: ", kernel / 2, " ", more,
              " weight_filler { type: 'msra' } } } layer { name: '", top,
              "_relu' type: 'ReLU' bottom: '", top, "' top: '", top, "' } ");
}
string PoolingText(const string& bottom, const string& top, int stride) {
  return Join("layer { name: '", top, "' type: 'Pooling' bottom: '", bottom, "' top: '", top,
              "' pooling_param { kernel_size: 3 stride: ", stride, " pad: ", stride == 1, " } } ");
}
string InputText(int num) {
  return Join("layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: ", num,
              " dim: 3 dim: 113 dim: 113 } } } ");
}

/// As GoogLeNet begins, with the classifier behind the first inception.
string InceptionNet() {
  const auto norm = [](const string& bottom, const string& top) {
    return Join("layer { name: '", top, "' type: 'LRN' bottom: '", bottom, "' top: '", top, "' } ");
  };
  return InputText(8) + ConvolutionText("data", "conv1", 64, 7, "stride: 2") +
         PoolingText("conv1", "pool1", 2) + norm("pool1", "norm1") +
         ConvolutionText("norm1", "reduce", 64, 1) + ConvolutionText("reduce", "conv2", 192, 3) +
         norm("conv2", "norm2") + PoolingText("norm2", "pool2", 2) +
         ConvolutionText("pool2", "one", 64, 1) + ConvolutionText("pool2", "three_in", 96, 1) +
         ConvolutionText("three_in", "three", 128, 3) + ConvolutionText("pool2", "five_in", 16, 1) +
         ConvolutionText("five_in", "five", 32, 5) + PoolingText("pool2", "pool", 1) +
         ConvolutionText("pool", "projected", 32, 1) +
         "layer { name: 'all' type: 'Concat' bottom: 'one' bottom: 'three' bottom: 'five' bottom: "
         "'projected' top: 'all' } layer { name: 'ip' type: 'InnerProduct' bottom: 'all' top: 'ip' "
         "inner_product_param { num_output: 16 } } layer { name: 'p' type: 'Softmax' bottom: 'ip' "
         "top: 'p' } ";
}

/// SqueezeNet's first layers and two fire modules.
string FireNet() {
  string text = InputText(8) + ConvolutionText("data", "conv1", 64, 3, "stride: 2") +
                PoolingText("conv1", "fire0", 2);
  for (const int i : {1, 2}) {
    const string fire = Join("fire", i);
    text += ConvolutionText(Join("fire", i - 1), fire + "s", 16, 1) +
            ConvolutionText(fire + "s", fire + "a", 64, 1) +
            ConvolutionText(fire + "s", fire + "b", 64, 3) + "layer { name: '" + fire +
            "' type: 'Concat' bottom: '" + fire + "a' bottom: '" + fire + "b' top: '" + fire +
            "' } ";
  }
  return text + ConvolutionText("fire2", "conv10", 16, 1) +
         "layer { name: 'pool10' type: 'Pooling' bottom: 'conv10' top: 'pool10' pooling_param { "
         "pool: AVE global_pooling: true } } ";
}

// Scratch grows with the threads, and Winograd's is as large for both types. In AMX's tiles an
// image's three channels have the weights of four, and each thread a part of the image in two parts
// of 16 bits.
TEST(NetMemory, OfHalvesIsLittleMoreThanHalf) {
  const kernels::TeamSize team(2);
  const bool in_tiles = kernels::CpuInstructionSet().has_tiles();
  const std::pair<const char*, string> nets[] = {{"inception", InceptionNet()},
                                                 {"fire modules", FireNet()}};
  for (const auto& [name, layers] : nets) {
    const Taken wide = TakenBy("FLOAT", layers), half = TakenBy("FLOAT16", layers);
    EXPECT_LE(half.weights, (in_tiles ? 0.52 : 0.51) * wide.weights)
        << name << ": " << wide.weights;
    EXPECT_LE(half.activations, 0.58 * wide.activations) << name << ": " << wide.activations;
    EXPECT_GE(half.activations, half.blobs) << name << ": is all counted?";
  }
}

TEST(NetTypes, DeclaresActivationsAndKeepsLossesAndLabelsFloat) {
  const auto net = MakeNet(Half(), TRAIN);
  EXPECT_EQ(net->blob_by_name("ip1")->data_type(), ElementType::FLOAT16);
  EXPECT_EQ(net->blob_by_name("ip1")->diff_type(), ElementType::FLOAT16);
  EXPECT_EQ(net->blob_by_name("loss")->data_type(), ElementType::FLOAT);
  EXPECT_EQ(net->blob_by_name("loss")->diff_type(), ElementType::FLOAT);
  FillNetInputs(net.get());
  net->blob_by_name("label")->mutable_cpu_data()[0] = 1;
  net->ForwardBackward();
  EXPECT_FALSE(net->blob_by_name("ip1")->data_tensor().has_slot(ElementType::FLOAT));
  EXPECT_FALSE(net->blob_by_name("ip1")->diff_tensor().has_slot(ElementType::FLOAT));
  EXPECT_FALSE(net->blob_by_name("label")->data_tensor().has_slot(ElementType::FLOAT16));
}

TEST(NetTypes, TrainingNearsFloat) {
  NetParameter param = ParseNet(Half());
  param.mutable_state()->set_phase(TRAIN);
  Caffe::set_random_seed(TestSeed());
  Net<float> half(param);
  param.clear_default_forward_type();
  param.clear_default_backward_type();
  Caffe::set_random_seed(TestSeed());
  Net<float> full(param);
  for (Net<float>* net : {&half, &full}) {
    FillNetInputs(net);
    net->ForwardBackward();
  }
  for (size_t i = 0; i < full.learnable_params().size(); ++i) {
    const std::vector<double> expected = Gradients(*full.learnable_params()[i]);
    const std::vector<double> actual = Gradients(*half.learnable_params()[i]);
    for (size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(actual[j], expected[j], 5e-3);
  }
}

// The master takes a step that float16 could not hold.
TEST(NetTypes, TrainedParametersKeepAFloatMaster) {
  const auto net = MakeNet(Half(), TRAIN);
  Blob<float>& weights = *net->learnable_params()[0];
  EXPECT_EQ(weights.data_type(), ElementType::FLOAT16);
  SetValues(&weights, std::vector<double>(weights.count(), 1));
  FillNetInputs(net.get());
  net->Forward();
  net->ClearParamDiffs();
  for (int i = 0; i < weights.count(); ++i) weights.mutable_cpu_diff()[i] = -1e-5f;
  net->Update();
  net->Forward();
  EXPECT_FLOAT_EQ(weights.cpu_data()[0], 1.00001f);
  const string file = NewFileName();
  net->ToBinaryProto(file, /*write_diff=*/false, /*raw=*/true);
  const auto resumed = MakeNet(Half(), TRAIN);
  resumed->CopyTrainedLayersFrom(file);
  EXPECT_EQ(Values(*resumed->learnable_params()[0]), Values(weights));
}

TEST(NetTypes, FrozenAndTestParametersHaveNoMaster) {
  const auto frozen = MakeNet(Half("0"), TRAIN);
  EXPECT_FALSE(frozen->params()[0]->data_tensor().has_slot(ElementType::FLOAT));
  EXPECT_TRUE(frozen->params()[1]->data_tensor().has_slot(ElementType::FLOAT));
  const auto tester = MakeNet(Half(), TEST);
  for (const auto& param : tester->params()) {
    EXPECT_FALSE(param->data_tensor().has_slot(ElementType::FLOAT));
    EXPECT_EQ(param->data_tensor().allocated_bytes(), 2u * param->count());
  }
}

TEST(NetTypes, LoadingDropsTheFillersValues) {
  const auto net = MakeNet(Half(), TEST);
  NetParameter message;
  MakeNet(Half(), TRAIN)->ToProto(&message);
  net->CopyTrainedLayersFrom(message);
  for (const auto& param : net->params()) {
    EXPECT_EQ(param->data_tensor().allocated_bytes(), 2u * param->count());
  }
}

// A TEST net that shares a TRAIN net's parameters must not drop their masters.
TEST(NetTypes, SharedMastersStay) {
  const auto trained = MakeNet(Half(), TRAIN);
  const auto tester = MakeNet(Half(), TEST);
  tester->ShareTrainedLayersWith(trained.get());
  Blob<float>& weights = *trained->learnable_params()[0];
  NetParameter message;
  trained->ToProto(&message);
  message.mutable_layer(1)->mutable_blobs(0)->set_data(0, 1.00001f);
  tester->CopyTrainedLayersFrom(message);
  EXPECT_EQ(weights.cpu_data()[0], 1.00001f);
}

TEST(NetTypes, AnInPlaceLayerOfAnotherTypeGetsATensorOfItsOwn) {
  const auto net = MakeNet(Half("1", "forward_type: FLOAT backward_type: FLOAT"), TRAIN);
  EXPECT_EQ(net->blob_by_name("ip1")->data_type(), ElementType::FLOAT);
  ASSERT_TRUE(net->has_blob("ip1_before_relu"));
  EXPECT_EQ(net->blob_by_name("ip1_before_relu")->data_type(), ElementType::FLOAT16);
  FillNetInputs(net.get());
  net->ForwardBackward();
  EXPECT_GT(net->learnable_params()[0]->asum_diff(), 0);
  NetParameter message;
  net->ToProto(&message);
  EXPECT_EQ(message.layer(2).bottom(0), "ip1");
  EXPECT_EQ(message.layer(2).top(0), "ip1");
}

TEST(NetTypes, AnInputKeepsItsNameBeforeSuchLayers) {
  const auto net = MakeNet(R"(
      layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
      layer { name: "half" type: "Power" bottom: "x" top: "x" forward_type: FLOAT16
              power_param { shift: 1 } }
      layer { name: "wide" type: "Power" bottom: "x" top: "x" forward_type: FLOAT
              power_param { scale: 3 } }
      layer { name: "y" type: "Power" bottom: "x" top: "y" })",
                           TEST);
  net->blob_by_name("x")->mutable_cpu_data()[0] = 2;
  net->blob_by_name("x")->mutable_cpu_data()[1] = 2049;
  net->Forward();
  EXPECT_EQ(Values(*net->blob_by_name("x_after_half")), (std::vector<double>{3, 2048}));
  EXPECT_EQ(Values(*net->blob_by_name("x_after_wide")), (std::vector<double>{9, 6144}));
  EXPECT_EQ(Values(*net->blob_by_name("y")), (std::vector<double>{9, 6144}));
  EXPECT_EQ(Values(*net->blob_by_name("x")), (std::vector<double>{2, 2049}));
}

// People write convolutions in place; the result is that of a top of its own, gradients included.
TEST(NetTypes, AConvolutionInPlaceGetsATensorOfItsOwn) {
  const auto make = [](const string& top, Phase phase) {
    const string convolution =
        " type: 'Convolution' convolution_param { num_output: 3 kernel_size: 2 weight_filler { "
        "type: 'constant' value: 0.5 } } }";
    return MakeNet(
        "force_backward: true layer { name: 'in' type: 'Input' top: 'x' input_param { "
        "shape { dim: 2 dim: 2 dim: 4 dim: 4 } } }"
        "layer { name: 'a' bottom: 'x' top: 'a' " +
            convolution + "layer { name: 'b' bottom: 'a' top: '" + top + "'" + convolution +
            "layer { name: 'relu' type: 'ReLU' bottom: '" + top + "' top: '" + top +
            "' } layer { name: 'l' type: 'Reduction' bottom: '" + top +
            "' top: 'l' loss_weight: 1 }",
        phase);
  };
  for (const Phase phase : {TRAIN, TEST}) {
    const auto in_place = make("a", phase), apart = make("b", phase);
    for (const auto& net : {in_place.get(), apart.get()}) {
      std::vector<double> values(net->input_blobs()[0]->count());
      for (size_t i = 0; i < values.size(); ++i) values[i] = double(i % 7) - 2;
      SetValues(net->input_blobs()[0], values);
      net->ClearParamDiffs();
      net->ForwardBackward();
    }
    EXPECT_EQ(Values(*in_place->blob_by_name("a")), Values(*apart->blob_by_name("b")));
    EXPECT_EQ(Values(*in_place->blob_by_name("a_before_b")), Values(*apart->blob_by_name("a")));
    EXPECT_EQ(Gradients(*in_place->input_blobs()[0]), Gradients(*apart->input_blobs()[0]));
    for (size_t i = 0; i < apart->learnable_params().size(); ++i) {
      EXPECT_EQ(Gradients(*in_place->learnable_params()[i]),
                Gradients(*apart->learnable_params()[i]));
    }
  }
}

TEST(NetTypes, ALayerThatKnowsOnlyFloatWorksInAFloat16Net) {
  const auto net = MakeNet(R"(
      default_forward_type: FLOAT16 default_backward_type: FLOAT16 force_backward: true
      layer { name: "data" type: "Input" top: "x" input_param { shape { dim: 2 } } }
      layer { name: "relu" type: "ReLU" bottom: "x" top: "y" }
      layer { name: "a" type: "OldFashioned" bottom: "y" top: "y" }
      layer { name: "b" type: "ReLU" bottom: "y" top: "z" loss_weight: 2 })",
                           TRAIN);
  SetValues(net->input_blobs()[0], {1, -2});
  float loss = 0;
  net->Forward(&loss);
  EXPECT_EQ(loss, 6);
  net->Backward();
  EXPECT_EQ(Gradients(*net->input_blobs()[0]), (std::vector<double>{2, 0}));
}

// Parameters are read only: the conversion to float16 happens once, whoever comes first.
TEST(NetTypes, NetsThatShareParametersRunAtOnce) {
  const auto trained = MakeNet(Half(), TRAIN);
  std::vector<std::unique_ptr<Net<float>>> nets;
  for (int i = 0; i < 4; ++i) {
    nets.push_back(MakeNet(Half(), TEST));
    nets.back()->ShareTrainedLayersWith(trained.get());
    FillNetInputs(nets.back().get());
  }
  std::vector<float> losses(nets.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < nets.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int pass = 0; pass < 20; ++pass) nets[i]->Forward(&losses[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float loss : losses) EXPECT_EQ(loss, losses[0]);
}

// --- arenas -------------------------------------------------------------------------------------

template <typename Dtype>
void ExpectInArena(const Net<Dtype>& net, const typename Net<Dtype>::Arena& arena, bool diff) {
  ASSERT_EQ(arena.params.size(), net.learnable_params().size());
  for (size_t i = 0; i < arena.params.size(); ++i) {
    const Blob<Dtype>& blob = *net.learnable_params()[arena.params[i]];
    EXPECT_EQ(diff ? blob.cpu_diff() : blob.cpu_data(), arena.data + arena.offsets[i]);
    EXPECT_EQ(arena.offsets[i] * sizeof(Dtype) % Allocator::kAlignment, 0u);
    EXPECT_LE(arena.offsets[i] + blob.count(), arena.count);
  }
}

TEST(ParameterArena, HoldsParametersAndGradientsOfTheTrainPhase) {
  const auto net = MakeNet(Half(), TRAIN);
  ExpectInArena(*net, net->parameter_arena(), false);
  ExpectInArena(*net, net->gradient_arena(), true);
  EXPECT_EQ(net->parameter_arena().offsets, net->gradient_arena().offsets);
  EXPECT_EQ(MakeNet(Half(), TEST)->parameter_arena().data, nullptr);
}

TEST(ParameterArena, SurvivesLoadingAndClearing) {
  const auto net = MakeNet(Half(), TRAIN);
  NetParameter message;
  MakeNet(Half(), TRAIN)->ToProto(&message);
  net->CopyTrainedLayersFrom(message);
  FillNetInputs(net.get());
  net->ForwardBackward();
  net->ClearParamDiffs();
  ExpectInArena(*net, net->parameter_arena(), false);
  ExpectInArena(*net, net->gradient_arena(), true);
  const Net<float>::Arena gradients = net->gradient_arena();
  for (size_t i = 0; i < gradients.count; ++i) ASSERT_EQ(gradients.data[i], 0);
}

TEST(ParameterArena, IsEmptyWhenParametersLieInAnotherNet) {
  const auto owner = MakeNet(Half(), TRAIN);
  const auto net = MakeNet(Half(), TRAIN);
  net->ShareTrainedLayersWith(owner.get());
  EXPECT_EQ(net->parameter_arena().data, nullptr);
  EXPECT_NE(owner->parameter_arena().data, nullptr);
}

}  // namespace
}  // namespace caffe
