// Trained weights into nets and out of them.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "caffe/io/caffemodel.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

const char kNet[] = R"(
    name: "two"
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } })";

string Replaced(string text, const string& from, const string& to) {
  return text.replace(text.find(from), from.size(), to);
}

template <typename Dtype>
void ExpectSameParameters(const Net<Dtype>& a, const Net<Dtype>& b) {
  ASSERT_EQ(a.params().size(), b.params().size());
  for (size_t i = 0; i < a.params().size(); ++i) {
    EXPECT_EQ(Values(*a.params()[i]), Values(*b.params()[i])) << i;
  }
}

TEST(NetWeights, RoundTripThroughAMessage) {
  const auto from = MakeNet(kNet), to = MakeNet(kNet);
  NetParameter message;
  from->ToProto(&message);
  EXPECT_EQ(message.name(), "two");
  ASSERT_EQ(message.layer_size(), 3);
  ASSERT_EQ(message.layer(1).blobs_size(), 2);
  to->CopyTrainedLayersFrom(message);
  ExpectSameParameters(*from, *to);
}

// A trained net with two layers of one name is loaded as it was saved; where the other net has one
// layer of this name, it gets the last, as in Caffe.
TEST(NetWeights, LayersOfOneNameGetTheirOwn) {
  const string twice = Replaced(Replaced(kNet, "name: \"ip2\"", "name: \"ip1\""), "num_output: 2 ",
                                "num_output: 3 ");
  const string wide = Replaced(twice, "dim: 1 dim: 2", "dim: 1 dim: 3");
  const auto from = MakeNet(wide), to = MakeNet(wide);
  NetParameter message;
  from->ToProto(&message);
  to->CopyTrainedLayersFrom(message);
  ExpectSameParameters(*from, *to);
  const auto sharing = MakeNet(wide);
  sharing->ShareTrainedLayersWith(from.get());
  ExpectSameParameters(*from, *sharing);

  string one = wide;
  one.erase(one.rfind("layer {"));
  const auto single = MakeNet(one);
  single->CopyTrainedLayersFrom(message);
  EXPECT_EQ(Values(*single->params()[0]), Values(*from->params()[2]));
#ifdef USE_HDF5
  const string error = ErrorOf([&] { from->ToHDF5(NewFileName()); });
  ExpectContains(error, "layer 'ip1': there are two layers of this name");
  ExpectContains(error, "rename one of them");
#endif
}

TEST(NetWeights, SaysWhichWeightsAreNotFinite) {
  NetParameter message;
  MakeNet(kNet)->ToProto(&message);
  BlobProto* weights = message.mutable_layer(1)->mutable_blobs(0);
  weights->set_data(1, NAN);
  weights->set_data(4, -INFINITY);
  const string line = "Layer 'ip1': 2 of the 6 values of parameter 0 are NaN or infinite";
  for (const char* type : {"FLOAT", "FLOAT16"}) {
    const auto to = MakeNet(string("default_forward_type: ") + type + kNet);
    CapturedLog log;
    to->CopyTrainedLayersFrom(message);
    EXPECT_TRUE(log.Has(line)) << type;
#ifdef USE_HDF5
    const string file = NewFileName();
    to->ToHDF5(file);
    CapturedLog second;
    MakeNet(string("default_forward_type: ") + type + kNet)->CopyTrainedLayersFromHDF5(file);
    EXPECT_TRUE(second.Has(line)) << type;
#endif
  }
}

// A net made of a message with blobs starts from them, and writes each of them once.
TEST(NetWeights, AMessageWithBlobsMakesATrainedNet) {
  NetParameter message, again;
  const auto from = MakeNet(kNet);
  from->ToProto(&message);
  message.mutable_state()->set_phase(TEST);
  const Net<float> net(message);
  ExpectSameParameters(*from, net);
  net.ToProto(&again);
  EXPECT_EQ(again.layer(1).blobs_size(), 2);
  const string file = NewFileName();
  net.ToBinaryProto(file);
  EXPECT_EQ(CaffemodelReader(file).layers()[1].blobs.size(), 2u);
}

TEST(NetWeights, FilesAreWhatEveryCaffeReads) {
  const auto net = MakeNet(kNet);
  const string file = NewFileName();
  net->ToBinaryProto(file);
  NetParameter read;
  ReadProtoFromBinaryFileOrDie(file, &read);
  ASSERT_EQ(read.layer(1).blobs_size(), 2);
  EXPECT_EQ(read.layer(1).blobs(0).data_size(), 6);
  EXPECT_FALSE(read.layer(1).blobs(0).has_raw_data());
  EXPECT_EQ(read.layer(1).blobs(0).diff_size(), 0);
  EXPECT_EQ(read.layer(1).blobs(0).data(3), net->params()[0]->cpu_data()[3]);
}

TEST(NetWeights, DoublesAreKept) {
  const auto from = MakeNet<double>(kNet), to = MakeNet<double>(kNet);
  const string file = NewFileName();
  from->ToBinaryProto(file);
  to->CopyTrainedLayersFrom(file);
  ExpectSameParameters(*from, *to);
  const auto narrow = MakeNet<float>(kNet);
  narrow->CopyTrainedLayersFrom(file);
  EXPECT_FLOAT_EQ(narrow->params()[0]->cpu_data()[0], from->params()[0]->cpu_data()[0]);
}

TEST(NetWeights, RawFormTakesTwoBytesForFloat16) {
  const string kHalf = string("default_forward_type: FLOAT16 ") + kNet;
  const auto from = MakeNet(kHalf), to = MakeNet(kHalf);
  const string file = NewFileName();
  from->ToBinaryProto(file, /*write_diff=*/false, /*raw=*/true);
  NetParameter read;
  ReadProtoFromBinaryFileOrDie(file, &read);
  EXPECT_EQ(read.layer(1).blobs(0).raw_data_type(), FLOAT16);
  EXPECT_EQ(read.layer(1).blobs(0).raw_data().size(), 12u);
  to->CopyTrainedLayersFrom(file);
  ExpectSameParameters(*from, *to);
  to->CopyTrainedLayersFrom(read);
  ExpectSameParameters(*from, *to);
}

TEST(NetWeights, WritesAndReadsGradients) {
  const auto from = MakeNet(kNet), to = MakeNet(kNet);
  SetValues(from->params()[1].get(), {0, 0, 0});
  for (int i = 0; i < 3; ++i) from->params()[1]->mutable_cpu_diff()[i] = i + 1;
  const string file = NewFileName();
  from->ToBinaryProto(file, /*write_diff=*/true);
  to->CopyTrainedLayersFrom(file);
  EXPECT_EQ(Gradients(*to->params()[1]), (std::vector<double>{1, 2, 3}));
}

TEST(NetWeights, LeavesOtherLayersAloneAndSaysSo) {
  const auto from = MakeNet(kNet);
  const auto to = MakeNet(Replaced(kNet, "\"ip2\" type", "\"new\" type"));
  const std::vector<double> before = Values(*to->params()[2]);
  NetParameter message;
  from->ToProto(&message);
  CapturedLog log;
  to->CopyTrainedLayersFrom(message);
  EXPECT_EQ(Values(*to->params()[0]), Values(*from->params()[0]));
  EXPECT_EQ(Values(*to->params()[2]), before);
  EXPECT_TRUE(log.Has("Ignoring source layer ip2"));
  EXPECT_TRUE(log.Has("Layers without trained weights there keep what they had: new"));
}

TEST(NetWeights, WarnsWhenNothingFits) {
  NetParameter message;
  MakeNet(kNet)->ToProto(&message);
  for (LayerParameter& layer : *message.mutable_layer()) layer.set_name("other " + layer.name());
  CapturedLog log;
  MakeNet(kNet)->CopyTrainedLayersFrom(message);
  EXPECT_TRUE(log.HasPrefix("No layer of the net 'two' has trained weights there"));
}

TEST(NetWeights, RefusesAnotherShapeAndSaysWhatToDo) {
  const string file = NewFileName();
  MakeNet(kNet)->ToBinaryProto(file);
  const auto to = MakeNet(Replaced(kNet, "num_output: 2", "num_output: 5"));
  const string message = ErrorOf([&] { to->CopyTrainedLayersFrom(file); });
  ExpectContains(message, file);
  ExpectContains(message,
                 "Cannot copy param 0 weights from layer 'ip2'; shape mismatch.  Source param "
                 "shape is 2 3 (6); target param shape is 5 3 (15). To learn this layer's "
                 "parameters from scratch rather than copying from a saved net, rename the layer.");
}

TEST(NetWeights, RefusesAnotherNumberOfBlobs) {
  NetParameter message;
  MakeNet(kNet)->ToProto(&message);
  message.mutable_layer(1)->mutable_blobs()->RemoveLast();
  ExpectContains(ErrorOf([&] { MakeNet(kNet)->CopyTrainedLayersFrom(message); }),
                 "Incompatible number of blobs for layer ip1: the stored layer has 1, the net's "
                 "has 2");
}

TEST(NetWeights, RefusesIncompleteBlobs) {
  NetParameter message;
  MakeNet(kNet)->ToProto(&message);
  message.mutable_layer(1)->mutable_blobs(0)->mutable_data()->RemoveLast();
  ExpectContains(ErrorOf([&] { MakeNet(kNet)->CopyTrainedLayersFrom(message); }),
                 "layer 'ip1', blob 0");
  message.mutable_layer(1)->mutable_blobs(0)->clear_data();
  message.mutable_layer(1)->mutable_blobs(0)->set_raw_data("123456789012");
  ExpectContains(ErrorOf([&] { MakeNet(kNet)->CopyTrainedLayersFrom(message); }), "raw_data");
}

TEST(NetWeights, AcceptsOldFourAxisShapes) {
  NetParameter message;
  const auto from = MakeNet(kNet), to = MakeNet(kNet);
  from->ToProto(&message);
  BlobProto* weights = message.mutable_layer(1)->mutable_blobs(0);
  weights->clear_shape();
  weights->set_num(1);
  weights->set_channels(1);
  weights->set_height(3);
  weights->set_width(2);
  to->CopyTrainedLayersFrom(message);
  ExpectSameParameters(*from, *to);
  weights->set_channels(3);
  weights->set_height(1);
  ExpectContains(ErrorOf([&] { to->CopyTrainedLayersFrom(message); }),
                 "Source param shape is 1 3 1 2 (6)");
}

TEST(NetWeights, MissingAndDamagedFilesAreNamed) {
  const auto net = MakeNet(kNet);
  const string missing = NewFileName();
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(missing); }), missing);
  const string text = NewFile("layer { name: 'ip1' }");
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(text); }), text);
  net->ToBinaryProto(missing);
  const string whole = ReadFile(missing);
  const string truncated = NewFile(whole.substr(0, whole.size() - 3));
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(truncated); }), truncated);
}

TEST(NetWeights, AFailedSaveLeavesTheOldFile) {
  const auto net = MakeNet(kNet);
  ExpectContains(ErrorOf([&] { net->ToBinaryProto("/no/such/directory/file"); }),
                 "/no/such/directory/file");
}

// --- batch normalization ------------------------------------------------------------------------
// BVLC: mean, variance and their factor, then a Scale layer. NVCaffe: five blobs in one layer.

const char kData[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 1 "
    "dim: 1 } } } ";
const string kBvlc = string(kData) + R"(
    layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }
    layer { name: "scale" type: "Scale" bottom: "bn" top: "bn" scale_param { bias_term: true } })";
const string kNvcaffe = string(kData) + R"(
    layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn"
            batch_norm_param { scale_bias: true } })";

using Blobs = std::vector<std::vector<float>>;

/// Appends a layer with these blobs, all of one axis.
void AddLayer(const string& text, const Blobs& blobs, NetParameter* net) {
  LayerParameter* layer = net->add_layer();
  ParseProtoText(text, "test layer", layer);
  for (const std::vector<float>& values : blobs) {
    BlobProto* blob = layer->add_blobs();
    blob->mutable_shape()->add_dim(values.size());
    for (const float value : values) blob->add_data(value);
  }
}

NetParameter BvlcWeights() {
  NetParameter net;
  AddLayer("name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'", {{2, 4}, {6, 8}, {2}}, &net);
  AddLayer("name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn'", {{10, 20}, {-1, -2}}, &net);
  return net;
}

NetParameter NvcaffeWeights(const Blobs& blobs = {{1, 2}, {3, 4}, {1}, {10, 20}, {-1, -2}}) {
  NetParameter net;
  AddLayer("name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'", blobs, &net);
  return net;
}

class BatchNormWeights : public testing::Test {
 protected:
  void SetUp() override {
    const auto& registry = LayerRegistry<float>::Registry();
    if (!registry.count("BatchNorm") || !registry.count("Scale")) {
      GTEST_SKIP() << "this library was built without BatchNorm or Scale";
    }
  }
  static void ExpectLayer(const Net<float>& net, const string& layer, const Blobs& expected) {
    const auto& blobs = net.layer_by_name(layer)->blobs();
    ASSERT_EQ(blobs.size(), expected.size());
    for (size_t i = 0; i < blobs.size(); ++i) {
      EXPECT_EQ(Values(*blobs[i]), std::vector<double>(expected[i].begin(), expected[i].end()))
          << layer << " " << i;
    }
  }
};

TEST_F(BatchNormWeights, ThreeBlobsStayAsTheyAre) {
  const auto net = MakeNet(kBvlc);
  net->CopyTrainedLayersFrom(BvlcWeights());
  ExpectLayer(*net, "bn", {{2, 4}, {6, 8}, {2}});
  ExpectLayer(*net, "scale", {{10, 20}, {-1, -2}});
}

TEST_F(BatchNormWeights, ThreeBlobsAndScaleMakeFive) {
  const auto net = MakeNet(kNvcaffe);
  net->CopyTrainedLayersFrom(BvlcWeights());
  ExpectLayer(*net, "bn", {{1, 2}, {3, 4}, {1}, {10, 20}, {-1, -2}});
}

TEST_F(BatchNormWeights, ThreeBlobsAloneMakeFiveWithoutEffect) {
  const auto net = MakeNet(kNvcaffe);
  NetParameter weights = BvlcWeights();
  weights.mutable_layer()->RemoveLast();
  net->CopyTrainedLayersFrom(weights);
  ExpectLayer(*net, "bn", {{1, 2}, {3, 4}, {1}, {1, 1}, {0, 0}});
}

TEST_F(BatchNormWeights, FiveBlobsFillBatchNormAndScale) {
  const auto net = MakeNet(kBvlc);
  net->CopyTrainedLayersFrom(NvcaffeWeights());
  ExpectLayer(*net, "bn", {{1, 2}, {3, 4}, {1}});
  ExpectLayer(*net, "scale", {{10, 20}, {-1, -2}});
}

TEST_F(BatchNormWeights, DigitsOrderIsUnderstood) {
  for (const string& text : {kNvcaffe, kBvlc}) {
    const auto net = MakeNet(text);
    net->CopyTrainedLayersFrom(NvcaffeWeights({{10, 20}, {-1, -2}, {1, 2}, {3, 4}, {1}}));
    if (text == kNvcaffe) {
      ExpectLayer(*net, "bn", {{1, 2}, {3, 4}, {1}, {10, 20}, {-1, -2}});
    } else {
      ExpectLayer(*net, "scale", {{10, 20}, {-1, -2}});
    }
  }
}

TEST_F(BatchNormWeights, AScaleWithNowhereToGoIsAnError) {
  const auto net =
      MakeNet(string(kData) + "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' }");
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(NvcaffeWeights()); }),
                 "batch_norm_param { scale_bias: true }, or a Scale layer with bias_term: true");
  net->CopyTrainedLayersFrom(NvcaffeWeights({{1, 2}, {3, 4}, {1}, {1, 1}, {0, 0}}));
  ExpectLayer(*net, "bn", {{1, 2}, {3, 4}, {1}});
}

TEST_F(BatchNormWeights, AnotherNumberOfChannelsIsAnError) {
  const auto net = MakeNet(kNvcaffe);
  NetParameter weights;
  AddLayer("name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'", {{2, 4, 6}, {6, 8, 1}, {2}},
           &weights);
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(weights); }),
                 "the mean of batch normalization 'bn': the stored one has 3 elements");
}

}  // namespace
}  // namespace caffe
