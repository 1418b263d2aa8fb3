#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/c3d_blob.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

using wire::AppendHeader;
using wire::AppendTag;
using wire::AppendVarint;

std::string FileOf(const NetParameter& net) { return NewFile(net.SerializePartialAsString()); }

BlobProto MakeBlob(const std::vector<int64_t>& shape) {
  BlobProto blob;
  for (int64_t axis : shape) blob.mutable_shape()->add_dim(axis);
  return blob;
}

/// A net of one layer 'ip' with one blob.
NetParameter NetOf(const BlobProto& blob) {
  NetParameter net;
  net.set_name("test");
  net.add_layer()->set_name("ip");
  net.mutable_layer(0)->set_type("InnerProduct");
  *net.mutable_layer(0)->add_blobs() = blob;
  return net;
}

std::vector<float> FloatsOf(const StoredBlob& blob) {
  std::vector<float> values(static_cast<size_t>(blob.ShapeCount()));
  blob.ReadInto(values.data(), ElementType::FLOAT);
  return values;
}

/// The elements of the only blob of a net that is written to a file and read again.
std::vector<float> Stored(const BlobProto& blob) {
  const CaffemodelReader reader(FileOf(NetOf(blob)));
  return FloatsOf(reader.layers().at(0).blobs.at(0));
}

constexpr char kHalfs[] = "\x00\x3c\x00\xc0\x01\x00";  // 1, -2, 2^-24

TEST(CaffemodelReader, ReadsEveryKindOfPayload) {
  const std::vector<float> expected = {1, -2, 0.5};
  BlobProto floats = MakeBlob({3});
  for (float value : expected) floats.add_data(value);
  EXPECT_EQ(expected, Stored(floats));

  BlobProto doubles = MakeBlob({3});
  for (float value : expected) doubles.add_double_data(value);
  EXPECT_EQ(expected, Stored(doubles));

  BlobProto raw = MakeBlob({3});
  raw.set_raw_data_type(FLOAT);
  raw.set_raw_data(expected.data(), 12);
  EXPECT_EQ(expected, Stored(raw));

  BlobProto half = MakeBlob({3});
  half.set_raw_data_type(FLOAT16);
  half.set_raw_data(kHalfs, 6);
  EXPECT_EQ((std::vector<float>{1, -2, std::ldexp(1.f, -24)}), Stored(half));

  const std::vector<double> values(expected.begin(), expected.end());
  BlobProto raw_double = MakeBlob({3});
  raw_double.set_raw_data_type(DOUBLE);
  raw_double.set_raw_data(values.data(), 24);
  EXPECT_EQ(expected, Stored(raw_double));
}

TEST(CaffemodelReader, PrefersDoubleThenFloatThenRaw) {
  BlobProto blob = MakeBlob({1});
  const float raw = 1;
  blob.set_raw_data_type(FLOAT);
  blob.set_raw_data(&raw, 4);
  EXPECT_EQ(1, Stored(blob)[0]);
  blob.add_data(2);
  EXPECT_EQ(2, Stored(blob)[0]);
  blob.add_double_data(3);
  EXPECT_EQ(3, Stored(blob)[0]);
}

TEST(CaffemodelReader, ConvertsToEveryType) {
  BlobProto blob = MakeBlob({2});
  blob.add_double_data(1.5);
  blob.add_double_data(-70000);
  const CaffemodelReader reader(FileOf(NetOf(blob)));
  const StoredBlob& stored = reader.layers()[0].blobs[0];
  double doubles[2];
  stored.ReadInto(doubles, ElementType::DOUBLE);
  EXPECT_EQ(-70000, doubles[1]);
  float16 halfs[2];
  stored.ReadInto(halfs, ElementType::FLOAT16);
  EXPECT_EQ(1.5f, static_cast<float>(halfs[0]));
  EXPECT_EQ(-std::numeric_limits<float>::infinity(), static_cast<float>(halfs[1]));
  bfloat16 bf16[2];
  stored.ReadInto(bf16, ElementType::BFLOAT16);
  EXPECT_EQ(1.5f, static_cast<float>(bf16[0]));
  int8_t bytes[2];
  EXPECT_THROW(stored.ReadInto(bytes, ElementType::INT8), Error);
}

TEST(CaffemodelReader, ReadsUnpackedAndSplitFields) {
  // data = 1 and 2 as separate fields, then {3, 4} packed; shape unpacked.
  const float values[] = {1, 2, 3, 4};
  const auto bytes = [&](int i, int n) {
    return std::string(reinterpret_cast<const char*>(values + i), 4 * n);
  };
  std::string tag, dim;
  AppendTag(5, wire::Type::FIXED32, &tag);
  AppendTag(1, wire::Type::VARINT, &dim);
  AppendVarint(4, &dim);
  const std::string blob =
      tag + bytes(0, 1) + tag + bytes(1, 1) + EncodedField(7, dim) + EncodedField(5, bytes(2, 2));
  const CaffemodelReader reader(
      NewFile(EncodedField(100, EncodedField(1, "a") + EncodedField(7, blob))));
  EXPECT_EQ((std::vector<float>{1, 2, 3, 4}), FloatsOf(reader.layers()[0].blobs[0]));
}

TEST(CaffemodelReader, ReadsLegacyShapes) {
  BlobProto blob;
  blob.set_num(1);
  blob.set_channels(1);
  blob.set_height(2);
  blob.set_width(3);
  for (int i = 0; i < 6; ++i) blob.add_data(i);
  const CaffemodelReader reader(FileOf(NetOf(blob)));
  EXPECT_EQ((std::vector<int64_t>{1, 1, 2, 3}), reader.layers()[0].blobs[0].shape);
  EXPECT_EQ(5, FloatsOf(reader.layers()[0].blobs[0])[5]);
}

TEST(CaffemodelReader, ReadsDiffs) {
  BlobProto blob = MakeBlob({1});
  blob.add_data(1);
  CaffemodelReader without(FileOf(NetOf(blob)));
  float diff = 7;
  EXPECT_FALSE(without.layers()[0].blobs[0].ReadDiffInto(&diff, ElementType::FLOAT));
  EXPECT_EQ(7, diff);
  blob.add_diff(2);
  CaffemodelReader with(FileOf(NetOf(blob)));
  EXPECT_TRUE(with.layers()[0].blobs[0].ReadDiffInto(&diff, ElementType::FLOAT));
  EXPECT_EQ(2, diff);
}

TEST(CaffemodelReader, TakesADiffForDataWhereThereIsNoneAndSaysSo) {
  BlobProto blob = MakeBlob({2});
  blob.add_diff(3);
  blob.add_diff(-1);
  const std::string file = FileOf(NetOf(blob));
  CapturedLog log;
  const CaffemodelReader reader(file);
  const StoredBlob& read = reader.layers()[0].blobs[0];
  EXPECT_EQ((std::vector<float>{3, -1}), FloatsOf(read));
  EXPECT_TRUE(read.diff.empty());
  EXPECT_TRUE(
      log.HasPrefix(file + ": layer 'ip', blob 0: the values stand in the field of the diff"));
}

TEST(CaffemodelReader, ReadsFiveAxesOfC3d) {
  const std::string layer =
      EncodedField(4, "conv1a") + EncodedField(6, C3dBlob({1, 2, 1, 1, 3}, {1, 2, 3, 4, 5, 6}));
  const std::string file = NewFile(EncodedField(2, layer));
  CapturedLog log;
  const CaffemodelReader reader(file);
  const StoredBlob& read = reader.layers()[0].blobs[0];
  EXPECT_EQ((std::vector<int64_t>{1, 2, 1, 1, 3}), read.shape);
  EXPECT_EQ((std::vector<float>{1, 2, 3, 4, 5, 6}), FloatsOf(read));
  EXPECT_TRUE(log.HasPrefix(file + ": layer 'conv1a', blob 0: the values stand"));
}

// A net as C3D's are, of a convolution over frames, rows and columns and an inner product.
TEST(CaffemodelReader, GivesWeightsOfC3dToANet) {
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      layer { name: 'data' type: 'Input' top: 'data'
              input_param { shape { dim: 1 dim: 1 dim: 2 dim: 2 dim: 2 } } }
      layer { name: 'conv1a' type: 'Convolution' bottom: 'data' top: 'conv1a'
              convolution_param { num_output: 1 kernel_size: 2 } }
      layer { name: 'fc' type: 'InnerProduct' bottom: 'conv1a' top: 'fc'
              inner_product_param { num_output: 2 } })",
                                                            &param));
  param.mutable_state()->set_phase(TEST);
  const auto layer = [](const std::string& name, const std::string& weights,
                        const std::string& bias) {
    return EncodedField(2,
                        EncodedField(4, name) + EncodedField(6, weights) + EncodedField(6, bias));
  };
  const std::string file =
      NewFile(layer("conv1a", C3dBlob({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                    C3dBlob({1, 1, 1, 1, 1}, {9})) +
              layer("fc", C3dBlob({1, 1, 1, 2, 1}, {10, 11}), C3dBlob({1, 1, 1, 1, 2}, {12, 13})));
  Net<float> net(param);
  net.CopyTrainedLayersFrom(file);
  const auto& params = net.params();
  ASSERT_EQ(params.size(), 4u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(params[0]->cpu_data()[i], i + 1);
  EXPECT_EQ(params[1]->cpu_data()[0], 9);
  EXPECT_EQ(params[2]->cpu_data()[1], 11);
  EXPECT_EQ(params[3]->cpu_data()[1], 13);
}

TEST(CaffemodelReader, NamesABlobThatDoesNotFitItsShape) {
  BlobProto blob = MakeBlob({2, 3});
  blob.add_data(1);
  const std::string name = FileOf(NetOf(blob));
  const CaffemodelReader reader(name);
  float values[6];
  ExpectContains(
      ErrorOf([&] { reader.layers()[0].blobs[0].ReadInto(values, ElementType::FLOAT); }),
      name + ": layer 'ip', blob 0: the shape 2 x 3 has 6 elements, and the file holds 1");
}

TEST(CaffemodelReader, RejectsShapesNoMemoryHolds) {
  for (const auto& shape : {std::vector<int64_t>{1L << 40, 1L << 40}, std::vector<int64_t>{-1}}) {
    BlobProto blob = MakeBlob(shape);
    blob.add_data(1);
    const CaffemodelReader reader(FileOf(NetOf(blob)));
    ExpectContains(ErrorOf([&] { reader.layers()[0].blobs[0].RequireComplete(); }), "layer 'ip'");
  }
}

TEST(CaffemodelReader, RejectsRawDataThatDoesNotFitItsType) {
  const auto message = [](const BlobProto& blob) {
    return ErrorOf([&] { CaffemodelReader reader(FileOf(NetOf(blob))); });
  };
  BlobProto blob = MakeBlob({1});
  blob.set_raw_data("abc");
  ExpectContains(message(blob), "layer 'ip', blob 0: raw_data: 3 bytes without a raw_data_type");
  blob.set_raw_data_type(FLOAT16);
  ExpectContains(message(blob), "no whole number of FLOAT16");
  blob.set_raw_data_type(BOOL);
  ExpectContains(message(blob), "cannot hold weights");
}

TEST(CaffemodelReader, KeepsTheNetAndItsLayersParameters) {
  NetParameter net = NetOf(MakeBlob({0}));
  net.mutable_layer(0)->mutable_inner_product_param()->set_num_output(3);
  net.mutable_layer(0)->set_phase(TRAIN);
  const CaffemodelReader reader(FileOf(net));
  EXPECT_EQ("test", reader.net().name());
  EXPECT_EQ(0, reader.net().layer_size());
  EXPECT_EQ(3u, reader.layers()[0].param.inner_product_param().num_output());
  EXPECT_EQ(0, reader.layers()[0].param.blobs_size());
  EXPECT_FALSE(reader.upgraded());
}

TEST(CaffemodelReader, UpgradesOldLayers) {
  NetParameter net;
  V1LayerParameter* v1 = net.add_layers();
  v1->set_name("conv");
  v1->set_type(V1LayerParameter::CONVOLUTION);
  v1->add_blobs_lr(2);
  v1->add_blobs()->add_data(3);
  V0LayerParameter* v0 = net.add_layers()->mutable_layer();
  v0->set_name("ip");
  v0->set_type("innerproduct");
  v0->set_num_output(5);
  v0->add_blobs()->add_data(4);
  net.mutable_layers(1)->add_top("ip_top");
  net.add_layers()->mutable_layer()->set_type("padding");
  const CaffemodelReader reader(FileOf(net));
  ASSERT_EQ(3u, reader.layers().size());
  EXPECT_TRUE(reader.upgraded());
  EXPECT_EQ("conv", reader.layers()[0].param.name());
  EXPECT_EQ("Convolution", reader.layers()[0].param.type());
  EXPECT_EQ(2, reader.layers()[0].param.param(0).lr_mult());
  EXPECT_EQ(3, FloatsOf(reader.layers()[0].blobs[0])[0]);
  EXPECT_EQ("InnerProduct", reader.layers()[1].param.type());
  EXPECT_EQ("ip_top", reader.layers()[1].param.top(0));
  EXPECT_EQ(5u, reader.layers()[1].param.inner_product_param().num_output());
  EXPECT_EQ(4, FloatsOf(reader.layers()[1].blobs[0])[0]);
  EXPECT_EQ("padding", reader.layers()[2].param.type());
}

TEST(CaffemodelReader, KeepsWeightsOfForksWhoseParametersDoNotParse) {
  BlobProto blob = MakeBlob({1});
  blob.add_data(3);
  const std::string layer = EncodedField(1, "frob") + EncodedField(2, "Frob") +
                            EncodedField(146, "\xff\xff\xff") +
                            EncodedField(7, blob.SerializeAsString());
  const CaffemodelReader reader(NewFile(EncodedField(100, layer)));
  EXPECT_EQ("frob", reader.layers()[0].param.name());
  EXPECT_EQ("Frob", reader.layers()[0].param.type());
  EXPECT_EQ(3, FloatsOf(reader.layers()[0].blobs[0])[0]);
}

TEST(CaffemodelReader, SaysWhatIsWrongWithAFile) {
  const auto message = [](const std::string& name) {
    return ErrorOf([&] { CaffemodelReader reader(name); });
  };
  ExpectContains(message("/no/such.caffemodel"), "/no/such.caffemodel: cannot be opened");
  ExpectContains(message(NewFile("")), "the file is empty");
  ExpectContains(message(NewFile("name: 'lenet'\n")), "this is text");
  ExpectContains(message(NewFile("\x89HDF\r\n\x1a\n....")), "an HDF5 file");
}

TEST(CaffemodelReader, NamesTheLayerAndTheOffsetOfALyingLength) {
  std::string blob;
  AppendHeader(5, uint64_t{1} << 60, &blob);
  const std::string name =
      NewFile(EncodedField(100, EncodedField(1, "conv1") + EncodedField(7, blob)));
  const std::string message = ErrorOf([&] { CaffemodelReader reader(name); });
  ExpectContains(message,
                 name + ": layer 'conv1', blob 0: byte 12: a field of 1152921504606846976");
}

/// A net with some of everything.
NetParameter RichNet() {
  BlobProto blob = MakeBlob({4, 5});
  for (int i = 0; i < 20; ++i) blob.add_data(i);
  NetParameter net = NetOf(blob);
  LayerParameter* layer = net.add_layer();
  layer->set_name("half");
  BlobProto* half = layer->add_blobs();
  half->mutable_shape()->add_dim(3);
  half->set_raw_data_type(FLOAT16);
  half->set_raw_data(kHalfs, 6);
  layer->mutable_recurrent_param()->set_num_output(3);
  V1LayerParameter* v1 = net.add_layers();
  v1->set_name("old");
  v1->set_type(V1LayerParameter::CONVOLUTION);
  v1->add_blobs()->add_double_data(4);
  return net;
}

/// Reads a file that may be damaged. Expects Errors that name the file, or blobs that are the same
/// whenever they are read.
void ReadAnything(const std::string& name) {
  const std::string error = ErrorOf([&] {
    const CaffemodelReader reader(name);
    for (const StoredLayer& layer : reader.layers()) {
      for (const StoredBlob& blob : layer.blobs) {
        std::vector<float> values;
        const std::string refused = ErrorOf([&] { values = FloatsOf(blob); });
        if (!refused.empty()) {
          ExpectContains(refused, name);
          continue;
        }
        const std::vector<float> again = FloatsOf(blob);
        EXPECT_EQ(std::memcmp(values.data(), again.data(), values.size() * sizeof(float)), 0);
      }
    }
  });
  if (!error.empty()) ExpectContains(error, name);
  NetParameter net;
  ReadProtoFromBinaryFile(name, &net);
}

TEST(CaffemodelDamage, TruncationIsAnErrorOrALayerLess) {
  const std::string name = NewFileName();
  const std::string whole = RichNet().SerializeAsString();
  for (size_t size = 1; size < whole.size(); ++size) {
    std::ofstream(name, std::ios::binary) << whole.substr(0, size);
    ReadAnything(name);
    const std::string message = ErrorOf([&] { CaffemodelReader reader(name); });
    if (!message.empty()) ExpectContains(message, name);
  }
}

TEST(CaffemodelDamage, RealModelsTruncatedAtEveryFiftieth) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::string whole = ReadFile(SharedData("models/wechat_qrcode_sr/weights.caffemodel"));
  const std::string name = NewFileName();
  for (int i = 1; i < 50; ++i) {
    std::ofstream(name, std::ios::binary) << whole.substr(0, whole.size() * i / 50);
    ExpectContains(ErrorOf([&] { CaffemodelReader reader(name); }), name + ": ");
    ReadAnything(name);
  }
}

TEST(CaffemodelDamage, FlippedBitsAreErrorsOrBlobs) {
  SLOW_TEST();
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("seed ", seed));
  std::mt19937 random(seed);
  const std::string name = NewFileName();
  const std::string whole = RichNet().SerializeAsString();
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int flips = 1 + random() % 8; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    }
    std::ofstream(name, std::ios::binary) << damaged;
    ReadAnything(name);
  }
}

TEST(CaffemodelDamage, HeadersWithoutEndAreAnError) {
  std::string net;
  for (int i = 0; i < 300000; ++i) net += EncodedField(100, "");
  ExpectContains(ErrorOf([&] { CaffemodelReader reader(NewFile(net)); }), "layers and blobs");
}

TEST(CaffemodelReader, ReadsBeyondTwoGigabytes) {
  // A sparse file: a layer with one raw blob of 2.2 GB, which is never looked at, then a small one.
  constexpr uint64_t kElements = 550'000'000;
  std::string blob, layer;
  BlobShape shape;
  shape.add_dim(kElements);
  AppendHeader(7, shape.ByteSizeLong(), &blob);
  blob += shape.SerializeAsString();
  AppendTag(10, wire::Type::VARINT, &blob);
  AppendVarint(FLOAT, &blob);
  AppendHeader(12, 4 * kElements, &blob);
  layer = EncodedField(1, "large");
  AppendHeader(7, blob.size() + 4 * kElements, &layer);
  layer += blob;
  std::string head;
  AppendHeader(100, layer.size() + 4 * kElements, &head);
  head += layer;
  const std::string name = NewFile(head);
  std::filesystem::resize_file(name, head.size() + 4 * kElements);
  BlobProto small = MakeBlob({1});
  small.add_data(7);
  std::ofstream(name, std::ios::binary | std::ios::app)
      << EncodedField(100, EncodedField(1, "small") + EncodedField(7, small.SerializeAsString()));

  const CaffemodelReader reader(name);
  ASSERT_EQ(2u, reader.layers().size());
  EXPECT_EQ(kElements, reader.layers()[0].blobs[0].data.count());
  EXPECT_NO_THROW(reader.layers()[0].blobs[0].RequireComplete());
  EXPECT_EQ(7, FloatsOf(reader.layers()[1].blobs[0])[0]);
  std::filesystem::remove(name);
}

TEST(CaffemodelReader, AgreesWithProtobufOnRealModels) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const auto names = SharedFiles("models", ".caffemodel");
  EXPECT_GE(names.size(), 20u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    NetParameter net;
    ReadNetParamsFromBinaryFileOrDie(name, &net);
    const CaffemodelReader reader(name);
    // The upgrade of `input` fields may have put an Input layer in front.
    const int offset = net.layer_size() - static_cast<int>(reader.layers().size());
    ASSERT_TRUE(offset == 0 || (offset == 1 && net.layer(0).type() == "Input"));
    for (size_t i = 0; i < reader.layers().size(); ++i) {
      const StoredLayer& stored = reader.layers()[i];
      LayerParameter layer = net.layer(offset + static_cast<int>(i));
      ASSERT_EQ(layer.blobs_size(), static_cast<int>(stored.blobs.size()));
      for (int j = 0; j < layer.blobs_size(); ++j) {
        const std::vector<float> values = FloatsOf(stored.blobs[j]);
        const BlobProto& blob = layer.blobs(j);
        if (blob.data_size() > 0) {
          ASSERT_EQ(std::vector<float>(blob.data().begin(), blob.data().end()), values);
        } else {
          ASSERT_EQ(values.size() * SizeOf(stored.blobs[j].data.type()), blob.raw_data().size());
          std::string raw(blob.raw_data().size(), ' ');
          stored.blobs[j].ReadInto(raw.data(), stored.blobs[j].data.type());
          ASSERT_EQ(blob.raw_data(), raw);
        }
      }
      layer.clear_blobs();
      NetParameter expected, actual;
      *expected.add_layer() = layer;
      *actual.add_layer() = stored.param;
      UpgradeNetBatchNorm(&actual);
      EXPECT_EQ(expected.DebugString(), actual.DebugString());
    }
  }
}

/// Two layers with parameters and blobs of four types.
struct Weights {
  std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  std::vector<double> doubles = {1e100, -2};
  float16 half = float16(0.5f);
  bfloat16 bf16 = bfloat16(3.f);

  void Write(const std::string& name, CaffemodelWriter::Form form) const {
    NetParameter net;
    net.set_name("written");
    CaffemodelWriter writer(name, net, form);
    LayerParameter ip;
    ip.set_name("ip");
    ip.set_forward_type(FLOAT16);
    writer.WriteLayer(ip, {{{2, 3}, ElementType::FLOAT, floats.data(), floats.data()},
                           {{2}, ElementType::DOUBLE, doubles.data(), nullptr}});
    LayerParameter small;
    small.set_name("small");
    writer.WriteLayer(small, {{{}, ElementType::FLOAT16, &half, nullptr},
                              {{1}, ElementType::BFLOAT16, &bf16, nullptr},
                              {{0}, ElementType::FLOAT, nullptr, nullptr}});
    writer.Finish();
  }
};

TEST(CaffemodelWriter, WritesBvlcFormThatProtobufReads) {
  const std::string name = NewFileName();
  Weights().Write(name, CaffemodelWriter::Form::BVLC);
  NetParameter net;
  ReadProtoFromBinaryFileOrDie(name, &net);
  NetParameter expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: 'written'
    layer { name: 'ip' forward_type: FLOAT16
            blobs { shape { dim: 2 dim: 3 } data: [1, 2, 3, 4, 5, 6] diff: [1, 2, 3, 4, 5, 6] }
            blobs { shape { dim: 2 } double_data: [1e100, -2] } }
    layer { name: 'small' blobs { shape { } data: 0.5 } blobs { shape { dim: 1 } data: 3 }
            blobs { shape { dim: 0 } } })",
                                                            &expected));
  EXPECT_EQ(expected.DebugString(), net.DebugString());
}

TEST(CaffemodelWriter, WritesRawFormThatReadsBack) {
  const std::string name = NewFileName();
  const Weights weights;
  weights.Write(name, CaffemodelWriter::Form::RAW);
  NetParameter net;
  ReadProtoFromBinaryFileOrDie(name, &net);
  const BlobProto& blob = net.layer(0).blobs(0);
  EXPECT_EQ(FLOAT, blob.raw_data_type());
  EXPECT_EQ(0, std::memcmp(blob.raw_diff().data(), weights.floats.data(), 24));
  EXPECT_EQ(FLOAT16, net.layer(1).blobs(0).raw_data_type());
  EXPECT_EQ(2u, net.layer(1).blobs(0).raw_data().size());
  const CaffemodelReader reader(name);
  EXPECT_EQ(FLOAT16, reader.layers()[0].param.forward_type());
  EXPECT_EQ(weights.floats, FloatsOf(reader.layers()[0].blobs[0]));
  double doubles[2];
  reader.layers()[0].blobs[1].ReadInto(doubles, ElementType::DOUBLE);
  EXPECT_EQ(1e100, doubles[0]);
  EXPECT_EQ(3, FloatsOf(reader.layers()[1].blobs[1])[0]);
}

TEST(CaffemodelWriter, ConvertsInPiecesWithoutLoss) {
  std::vector<float16> halfs(200001);
  for (size_t i = 0; i < halfs.size(); ++i) halfs[i] = float16(static_cast<float>(i % 2048));
  const std::string name = NewFileName();
  CaffemodelWriter writer(name, NetParameter());
  LayerParameter layer;
  layer.set_name("a");
  writer.WriteLayer(layer, {{{200001}, ElementType::FLOAT16, halfs.data(), nullptr}});
  writer.Finish();
  const CaffemodelReader reader(name);
  const std::vector<float> values = FloatsOf(reader.layers()[0].blobs[0]);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(i % 2048, values[i]) << i;
}

TEST(CaffemodelWriter, LeavesNothingWithoutFinish) {
  const std::string name = NewFileName();
  { CaffemodelWriter writer(name, NetParameter()); }
  EXPECT_FALSE(std::filesystem::exists(name));
}

TEST(CaffemodelWriter, RejectsWhatTheSchemaCannotHold) {
  const std::string name = NewFileName();
  LayerParameter layer;
  layer.set_name("a");
  const int8_t byte = 0;
  const int32_t integer = 5;
  CaffemodelWriter writer(name, NetParameter(), CaffemodelWriter::Form::RAW);
  ExpectContains(ErrorOf([&] {
                   writer.WriteLayer(layer, {{{1}, ElementType::INT8, &byte, nullptr}});
                 }),
                 "layer 'a', blob 0: a caffemodel of this form cannot hold INT8");
  EXPECT_NO_THROW(writer.WriteLayer(layer, {{{1}, ElementType::INT32, &integer, nullptr}}));
  NetParameter net;
  net.add_layer();
  EXPECT_THROW(CaffemodelWriter(name, net), Error);
}

}  // namespace
}  // namespace caffe
