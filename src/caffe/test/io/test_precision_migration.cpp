#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/io/precision_migration.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/net/net_comparison.hpp"
#include "caffe/test/support/c3d_blob.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/tool_test.hpp"

namespace caffe {
namespace {

using std::string;
using std::vector;
using Floats = std::vector<float>;

// ---- rounding and counting

struct Converted {
  ConversionCounts counts;
  string bytes;
  template <typename T>
  vector<T> As() const {
    vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

template <typename From>
Converted Convert(const vector<From>& values, ElementType to, bool clamp = false) {
  Payload payload(kElementType<From>);
  payload.Append({reinterpret_cast<const uint8_t*>(values.data()), values.size(), sizeof(From)});
  Converted result;
  result.counts = ConvertCounting(payload, to, clamp, [&](const void* bytes, size_t size) {
    result.bytes.append(static_cast<const char*>(bytes), size);
  });
  return result;
}

vector<uint16_t> HalfBits(const Floats& values, bool clamp = false) {
  return Convert(values, ElementType::FLOAT16, clamp).As<uint16_t>();
}

TEST(ConvertCounting, RoundsToNearestEven) {
  // Between 1 and 2 half precision has steps of 2^-10.
  const float step = std::ldexp(1.f, -10);
  EXPECT_EQ((vector<uint16_t>{0x3c00, 0x3c02, 0x3c01, 0xbc02}),
            HalfBits({1 + step / 2, 1 + 1.5f * step, 1 + 0.75f * step, -1 - 1.5f * step}));
}

TEST(ConvertCounting, RoundsDoublesOnce) {
  // In float this is a tie, which would go down to 1.
  const double above_tie = 1 + std::ldexp(1., -11) + std::ldexp(1., -40);
  EXPECT_EQ(vector<uint16_t>{0x3c01},
            Convert(vector<double>{above_tie}, ElementType::FLOAT16).As<uint16_t>());
}

TEST(ConvertCounting, OverflowBeginsHalfwayBeyondTheLargestNumber) {
  const Floats values = {65504, 65519.9f, 65520, -1e6f};
  const Converted plain = Convert(values, ElementType::FLOAT16);
  EXPECT_EQ((vector<uint16_t>{0x7bff, 0x7bff, 0x7c00, 0xfc00}), plain.As<uint16_t>());
  EXPECT_EQ(2, plain.counts.overflowed);
  const Converted clamped = Convert(values, ElementType::FLOAT16, /*clamp=*/true);
  EXPECT_EQ((vector<uint16_t>{0x7bff, 0x7bff, 0x7bff, 0xfbff}), clamped.As<uint16_t>());
  EXPECT_EQ(2, clamped.counts.overflowed);
}

TEST(ConvertCounting, TellsSubnormalFromZero) {
  // The smallest normal number is 2^-14, the smallest at all 2^-24; half of that is a tie with
  // zero.
  const Floats values = {std::ldexp(1.f, -14),
                         std::ldexp(1.f, -15),
                         std::ldexp(1.f, -24),
                         std::ldexp(1.f, -25),
                         -1e-9f,
                         0,
                         -0.f};
  const Converted fp16 = Convert(values, ElementType::FLOAT16);
  EXPECT_EQ((vector<uint16_t>{0x0400, 0x0200, 1, 0, 0x8000, 0, 0x8000}), fp16.As<uint16_t>());
  EXPECT_EQ(2, fp16.counts.subnormal);
  EXPECT_EQ(2, fp16.counts.zeroed);
  EXPECT_EQ(7, fp16.counts.values);
}

TEST(ConvertCounting, CountsWhatWasNoNumberBefore) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats values = {NAN, infinity, -infinity, 1};
  const Converted fp16 = Convert(values, ElementType::FLOAT16, /*clamp=*/true);
  EXPECT_EQ(1, fp16.counts.nans);
  EXPECT_EQ(2, fp16.counts.infinities);
  EXPECT_EQ(0, fp16.counts.overflowed);
  const vector<uint16_t> bits = fp16.As<uint16_t>();
  EXPECT_EQ(0x7e00, bits[0] & 0x7e00);
  EXPECT_EQ(0x7c00, bits[1]);
  EXPECT_EQ(0xfc00, bits[2]);
}

TEST(ConvertCounting, MeasuresTheLargestRelativeErrorOfWhatStaysANumber) {
  // 1 + 2^-11 rounds to 1; 1.5 * 2^-24 to 2^-23; what overflows or vanishes does not count.
  const float tie = 1 + std::ldexp(1.f, -11), tiny = 1.5f * std::ldexp(1.f, -24);
  const double normal = std::ldexp(1., -11) / (1 + std::ldexp(1., -11));
  EXPECT_DOUBLE_EQ(normal,
                   Convert(Floats{tie, 1e9f, 1e-9f}, ElementType::FLOAT16).counts.largest_error);
  EXPECT_DOUBLE_EQ(1. / 3, Convert(Floats{tie, tiny}, ElementType::FLOAT16).counts.largest_error);
}

TEST(ConvertCounting, WidensHalvesExactly) {
  const vector<float16> fp16 = {float16(0.1f), float16::FromBits(1), float16::FromBits(0xfbff)};
  const Converted floats = Convert(fp16, ElementType::FLOAT);
  EXPECT_EQ((Floats{float(fp16[0]), std::ldexp(1.f, -24), -65504}), floats.As<float>());
  EXPECT_EQ(0, floats.counts.largest_error);
}

TEST(ConvertCounting, NarrowsDoublesToFloat) {
  const Converted floats = Convert(vector<double>{1e300, 1e-40, 1e-60}, ElementType::FLOAT, true);
  EXPECT_EQ(std::numeric_limits<float>::max(), floats.As<float>()[0]);
  EXPECT_EQ(1, floats.counts.overflowed);
  EXPECT_EQ(1, floats.counts.subnormal);
  EXPECT_EQ(1, floats.counts.zeroed);
}

TEST(ConversionTable, LinesUp) {
  ConversionCounts counts;
  counts.values = 1000;
  counts.overflowed = 2;
  counts.largest_error = 4.8e-4;
  EXPECT_EQ(
      "layer       stored   values  overflow  subnormal  zero  NaN  Inf  largest error\n"
      "conv1       FLOAT16    1000         2          0     0    0    0        4.8e-04\n"
      "all layers             1000         2          0     0    0    0        4.8e-04\n",
      ConversionTable({{"conv1", "FLOAT16", counts}}));
}

// ---- the text of a prototxt

string Edited(const string& text,
              const std::function<void(const vector<TextField>&, TextEdits*)>& f) {
  const vector<TextField> fields = ScanTextFields(text);
  TextEdits edits(text);
  f(fields, &edits);
  return edits.Apply();
}

string WithHead(const string& text) {
  return Edited(
      text, [](const auto& fields, TextEdits* edits) { edits->InsertAtHead(fields, "x: 1\n"); });
}

TEST(TextFields, HeadIsBehindTheNameAndBelowTheFirstComments) {
  EXPECT_EQ("# c\nname: \"n\"  # d\nx: 1\nlayer {}\n",
            WithHead("# c\nname: \"n\"  # d\nlayer {}\n"));
  EXPECT_EQ("# c\nx: 1\n  layer {}\n", WithHead("# c\n  layer {}\n"));
  EXPECT_EQ("x: 1\nname: \"n\" layer {}", WithHead("name: \"n\" layer {}"));
  EXPECT_EQ("name: \"n\"\nx: 1\n", WithHead("name: \"n\""));
  EXPECT_EQ("# only a comment\nx: 1\n", WithHead("# only a comment\n"));
}

string WithoutX(const string& text) {
  return Edited(text, [](const auto& fields, TextEdits* edits) {
    for (const TextField* field : FieldsNamed(fields, "x")) edits->Remove(*field);
  });
}

TEST(TextFields, RemovesAFieldWithItsLineIfItIsAloneThere) {
  EXPECT_EQ("a: 1\nb: 2\n", WithoutX("a: 1\n  x: 3 \nb: 2\n"));
  EXPECT_EQ("a: 1 b: 2\n", WithoutX("a: 1 x: 3; b: 2\n"));
  EXPECT_EQ("# why\n", WithoutX("x { y: 'a}' } # why\n"));
  EXPECT_EQ("a: 1\n", WithoutX("a: 1\nx: [1, '2]', 3]"));
}

TEST(TextFields, SeesThroughStringsListsAndComments) {
  const string text =
      "name: \"a # b { \\\" \" 'c' # } layer {\nlayer < x: [ 'y]' ] k { z: 1 } > layer: { z: 2 }";
  const vector<TextField> fields = ScanTextFields(text);
  ASSERT_EQ(3, fields.size());
  EXPECT_EQ("\"a # b { \\\" \" 'c'",
            text.substr(fields[0].value_begin, fields[0].value_end - fields[0].value_begin));
  ASSERT_EQ(2, fields[1].fields.size());
  EXPECT_EQ("z", fields[1].fields[1].fields[0].name);
  EXPECT_EQ("layer", fields[2].name);
}

// ---- both files

constexpr char kNet[] = R"(# A small net.
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
layer {
  name: "conv"  # the only one
  type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 2 kernel_size: 3 }
}
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc" inner_product_param { num_output: 3 } }
)";

class PrecisionMigrationTest : public ToolTest {
 protected:
  /// Writes the net with weights of its own as net.prototxt and net.caffemodel.
  void WriteNet(const string& text = kNet) {
    Write("net.prototxt", text);
    NetParameter net = ParseNet(text);
    Net<float> made(net);
    int next = 0;
    for (const auto& blob : made.params()) {
      for (int i = 0; i < blob->count(); ++i) {
        blob->mutable_cpu_data()[i] = 0.37f + 0.013f * static_cast<float>(++next % 29);
      }
    }
    if (made.has_layer("bn")) made.layer_by_name("bn")->blobs()[2]->mutable_cpu_data()[0] = 2;
    made.ToBinaryProto(folder_ + "net.caffemodel");
  }
  vector<LayerConversion> Migrate(const MigrationOptions& options = {}, const string& from = "net",
                                  const string& to = "new") {
    const PrecisionMigration migration(folder_ + from + ".prototxt", folder_ + from + ".caffemodel",
                                       options);
    AtomicFile model(folder_ + to + ".caffemodel");
    const vector<LayerConversion> report = migration.WriteModel(&model);
    model.Commit();
    Write(to + ".prototxt", migration.prototxt());
    return report;
  }
  NetParameter Model(const string& name = "new") {
    NetParameter net;
    ReadProtoBinary(folder_ + name + ".caffemodel", &net);
    return net;
  }
  string Text(const string& name = "new") { return ReadFile(folder_ + name + ".prototxt"); }
  std::unique_ptr<Net<float>> Load(const string& name) {
    auto net = std::make_unique<Net<float>>(folder_ + name + ".prototxt", TEST);
    net->CopyTrainedLayersFrom(folder_ + name + ".caffemodel");
    return net;
  }
  /// How far the outputs of one net are from the other's, for random inputs.
  double Difference(const string& first, const string& second) {
    const auto one = Load(first), other = Load(second);
    FillInputs(3, one.get());
    one->Forward();
    const vector<OutputDifference> outputs = CompareNets(one.get(), other.get());
    EXPECT_EQ(1, outputs.size());
    EXPECT_EQ("", outputs[0].shapes);
    EXPECT_EQ(0, outputs[0].not_finite);
    return outputs[0].largest_difference / outputs[0].largest_value;
  }
};

const LayerParameter& LayerNamed(const NetParameter& net, std::string_view name) {
  for (const LayerParameter& layer : net.layer()) {
    if (layer.name() == name) return layer;
  }
  Fail("test: no layer '", name, "'");
}

TEST_F(PrecisionMigrationTest, WritesNvcaffesRawHalvesAndKeepsStatisticsInFloat) {
  WriteNet();
  Migrate();
  const NetParameter net = Model();
  const BlobProto& weights = LayerNamed(net, "conv").blobs(0);
  EXPECT_EQ(FLOAT16, weights.raw_data_type());
  EXPECT_EQ(2 * 2 * 3 * 3 * 2, weights.raw_data().size());
  EXPECT_EQ(0, weights.data_size());
  EXPECT_EQ(4, weights.shape().dim_size());
  for (const BlobProto& blob : LayerNamed(net, "bn").blobs())
    EXPECT_EQ(FLOAT, blob.raw_data_type());
  EXPECT_EQ(FLOAT16, LayerNamed(net, "scale").blobs(1).raw_data_type());
  EXPECT_LT(Difference("net", "new"), 2e-3);
}

TEST_F(PrecisionMigrationTest, PutsTheTypesAtTheHeadAndKeepsTheRestOfTheText) {
  WriteNet();
  Migrate();
  const string text = kNet, name = "name: \"small\"\n";
  const size_t head = text.find(name) + name.size();
  EXPECT_EQ(text.substr(0, head) +
                "default_forward_type: FLOAT16\ndefault_backward_type: FLOAT16\n"
                "default_forward_math: FLOAT16\ndefault_backward_math: FLOAT16\n" +
                text.substr(head),
            Text());
  MigrationOptions options;
  options.math = ElementType::FLOAT;
  Migrate(options, "new", "again");
  ExpectContains(Text("again"), "default_forward_type: FLOAT16");
  ExpectContains(Text("again"), "default_forward_math: FLOAT\n");
  EXPECT_EQ(Text().size() - 4, Text("again").size());  // replaced, twice "16" shorter
  options.math = ElementType::BFLOAT16;
  Migrate(options, "new", "again");
  ExpectContains(Text("again"), "default_backward_math: BFLOAT16\n");
  EXPECT_EQ(Text().size() + 2, Text("again").size());
}

TEST_F(PrecisionMigrationTest, GoesBackToWhatBvlcCaffeReads) {
  WriteNet();
  Migrate();
  MigrationOptions back;
  back.to = ElementType::FLOAT;
  Migrate(back, "new", "back");
  EXPECT_EQ(kNet, Text("back"));
  const NetParameter before = Model("net"), after = Model("back");
  for (const LayerParameter& layer : after.layer()) {
    for (int i = 0; i < layer.blobs_size(); ++i) {
      const BlobProto& blob = layer.blobs(i);
      EXPECT_FALSE(blob.has_raw_data() || blob.has_raw_data_type());
      const float old = LayerNamed(before, layer.name()).blobs(i).data(0);
      const float expected = layer.type() == "BatchNorm" ? old : float(float16(old));
      EXPECT_EQ(expected, blob.data(0)) << layer.name();
    }
  }
}

TEST_F(PrecisionMigrationTest, ToFloatRemovesWhatOnlyNvcaffeKnows) {
  WriteNet();
  const string text = string("default_forward_type: FLOAT16 global_grad_scale: 8\n") + kNet +
                      "layer { name: \"r\" type: \"ReLU\" bottom: \"fc\" top: \"r\" "
                      "forward_type: FLOAT\n  backward_math: FLOAT\n}\n";
  Write("net.prototxt", text);
  MigrationOptions back;
  back.to = ElementType::FLOAT;
  Migrate(back);
  EXPECT_EQ(
      "\n" + string(kNet) + "layer { name: \"r\" type: \"ReLU\" bottom: \"fc\" top: \"r\" \n}\n",
      Text());
}

TEST_F(PrecisionMigrationTest, LayersThatSayFloatKeepTheirWeights) {
  string text = kNet;
  text.insert(text.find("bottom: \"conv\" top: \"fc\""), "forward_type: FLOAT ");
  WriteNet(text);
  Migrate();
  EXPECT_EQ(FLOAT, LayerNamed(Model(), "fc").blobs(0).raw_data_type());
  EXPECT_EQ(FLOAT16, LayerNamed(Model(), "conv").blobs(0).raw_data_type());
}

TEST_F(PrecisionMigrationTest, LayersWithoutKernelsForHalvesPassWithAllTheirFieldsInFloat) {
  WriteNet(
      "layer { name: \"data\" type: \"Input\" top: \"data\" input_param { shape { dim: 1 dim: 1 } "
      "} }\n"
      "layer { name: \"fc\" type: \"InnerProduct\" bottom: \"data\" top: \"fc\" "
      "inner_product_param { num_output: 1 } }");
  NetParameter net = Model("net");
  for (const char* type : {"Python", "Theirs", "InnerDistance", "FakeQuantization", "PReLU"}) {
    LayerParameter* layer = net.add_layer();
    layer->set_name(type);
    layer->set_type(type);
    layer->mutable_python_param()->set_param_str("{}");
    layer->GetReflection()->MutableUnknownFields(layer)->AddVarint(99999, 7);
    BlobProto* blob = layer->add_blobs();
    blob->mutable_shape()->add_dim(1);
    blob->add_double_data(0.1);
  }
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  Migrate();
  const NetParameter migrated = Model();
  const LayerParameter& python = LayerNamed(migrated, "Python");
  EXPECT_EQ("{}", python.python_param().param_str());
  EXPECT_EQ(7, python.GetReflection()->GetUnknownFields(python).field(0).varint());
  for (const char* type : {"Python", "Theirs", "InnerDistance", "FakeQuantization"}) {
    EXPECT_EQ(FLOAT, LayerNamed(migrated, type).blobs(0).raw_data_type()) << type;
  }
  EXPECT_EQ(FLOAT16, LayerNamed(migrated, "PReLU").blobs(0).raw_data_type());
}

TEST_F(PrecisionMigrationTest, OldLayersStayOldAndLoad) {
  const string text =
      "input: \"data\" input_dim: 1 input_dim: 1 input_dim: 1 input_dim: 2\n"
      "layers { name: \"fc\" type: INNER_PRODUCT bottom: \"data\" top: \"fc\" "
      "inner_product_param { num_output: 1 } }";
  Write("net.prototxt", text);
  BlobProto weights, bias;
  for (BlobProto* blob : {&weights, &bias}) {
    blob->set_num(1);
    blob->set_channels(1);
    blob->set_height(1);
    blob->set_width(1);
    blob->add_data(3);
  }
  weights.set_width(2);
  weights.add_data(5);
  NetParameter v1;
  V1LayerParameter* layer = v1.add_layers();
  layer->set_name("fc");
  layer->set_type(V1LayerParameter::INNER_PRODUCT);
  *layer->add_blobs() = weights;
  *layer->add_blobs() = bias;
  NetParameter v0;
  V0LayerParameter* inner = v0.add_layers()->mutable_layer();
  v0.mutable_layers(0)->add_bottom("data");
  inner->set_name("fc");
  inner->set_type("innerproduct");
  *inner->add_blobs() = weights;
  *inner->add_blobs() = bias;
  for (const NetParameter& old : {v1, v0}) {
    WriteProtoBinary(old, folder_ + "net.caffemodel");
    Migrate();
    const auto net = Load("new");
    SetValues(net->input_blobs()[0], {1, 10});
    EXPECT_EQ(vector<double>{56}, Values(*net->Forward()[0]));
  }
  const NetParameter net = Model();
  EXPECT_EQ("data", net.layers(0).bottom(0));
  const BlobProto& blob = net.layers(0).layer().blobs(0);
  EXPECT_EQ(FLOAT16, blob.raw_data_type());
  EXPECT_EQ(2, blob.width());
  EXPECT_FALSE(blob.has_shape());
}

TEST_F(PrecisionMigrationTest, ReadsElementsOfEveryKindInOneFile) {
  WriteNet();
  NetParameter net = Model("net");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() == "conv") {  // doubles
      for (BlobProto& blob : *layer.mutable_blobs()) {
        for (const float value : blob.data()) blob.add_double_data(value);
        blob.clear_data();
      }
    } else if (layer.name() == "fc") {  // raw FP16 values
      for (BlobProto& blob : *layer.mutable_blobs()) {
        for (const float value : blob.data()) {
          const float16 half(value);
          blob.mutable_raw_data()->append(reinterpret_cast<const char*>(&half), sizeof(half));
        }
        blob.set_raw_data_type(FLOAT16);
        blob.clear_data();
      }
    }
  }
  Migrate();
  const string expected = Model().SerializeAsString();
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  Migrate();
  EXPECT_EQ(expected, Model().SerializeAsString());
}

TEST_F(PrecisionMigrationTest, FiveAxesOfC3dBecomeAShape) {
  Write("net.prototxt", R"(
      layer { name: "data" type: "Input" top: "data"
              input_param { shape { dim: 1 dim: 2 dim: 1 dim: 1 dim: 3 } } }
      layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param {
              num_output: 1 kernel_size: [1, 1, 3] bias_term: false } })");
  const Floats weights = {1, -2, 0.5, 4, 0, 8};
  Write("net.caffemodel", EncodedField(2, EncodedField(4, "conv") +
                                              EncodedField(6, C3dBlob({1, 2, 1, 1, 3}, weights))));
  Migrate();
  const NetParameter model = Model();
  const BlobProto& blob = model.layers(0).blobs(0);  // an old layer stays old
  EXPECT_EQ(blob.shape().DebugString(), "dim: 1\ndim: 2\ndim: 1\ndim: 1\ndim: 3\n");
  EXPECT_EQ(blob.raw_data_type(), FLOAT16);
  const auto net = Load("new");
  const float* read = net->params()[0]->cpu_data();
  EXPECT_EQ(Floats(read, read + 6), weights);
}

#ifdef USE_HDF5
TEST_F(PrecisionMigrationTest, ReadsHdf5AndGivesSharedParametersToAllTheirLayers) {
  const string text =
      "layer { name: \"data\" type: \"Input\" top: \"data\" input_param { shape { dim: 1 dim: 2 } "
      "} }\n"
      "layer { name: \"a\" type: \"InnerProduct\" bottom: \"data\" top: \"a\" param { name: \"w\" "
      "} "
      "inner_product_param { num_output: 2 bias_term: false } }\n"
      "layer { name: \"b\" type: \"InnerProduct\" bottom: \"a\" top: \"b\" param { name: \"w\" } "
      "inner_product_param { num_output: 2 bias_term: false } }\n";
  WriteNet(text);
  Migrate();
  const NetParameter from_caffemodel = Model();
  Load("net")->ToHDF5(folder_ + "net.caffemodel");
  Migrate();
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(LayerNamed(from_caffemodel, name).blobs(0).SerializeAsString(),
              LayerNamed(Model(), name).blobs(0).SerializeAsString());
    EXPECT_EQ("InnerProduct", LayerNamed(Model(), name).type());
  }
  EXPECT_LT(Difference("net", "new"), 2e-3);
}
#endif

// ---- the forms of batch normalization

MigrationOptions Norms(BatchNormForm form, ElementType to = ElementType::FLOAT) {
  MigrationOptions options;
  options.batch_norm = form;
  options.to = to;
  return options;
}

TEST_F(PrecisionMigrationTest, JoinsBatchNormAndScaleToFiveBlobs) {
  WriteNet();
  Migrate(Norms(BatchNormForm::NVCAFFE));
  ExpectContains(Text(),
                 "layer { name: \"bn\" type: \"BatchNorm\" bottom: \"conv\" top: \"conv\"   "
                 "batch_norm_param { scale_bias: true }\n}\nlayer { name: \"fc\"");
  const NetParameter net = Model();
  const LayerParameter& norm = LayerNamed(net, "bn");
  ASSERT_EQ(5, norm.blobs_size());
  EXPECT_TRUE(norm.batch_norm_param().scale_bias());
  EXPECT_EQ(1, norm.blobs(2).data(0));
  EXPECT_EQ(LayerNamed(Model("net"), "bn").blobs(0).data(1) / 2, norm.blobs(0).data(1));
  EXPECT_EQ(LayerNamed(Model("net"), "scale").blobs(1).data(1), norm.blobs(4).data(1));
  EXPECT_EQ(Model("net").layer_size() - 1, net.layer_size());
  EXPECT_LT(Difference("net", "new"), 1e-6);

  Migrate(Norms(BatchNormForm::BVLC), "new", "back");
  ExpectContains(Text("back"), "  name: \"bn_scale\"\n  type: \"Scale\"\n  bottom: \"conv\"\n");
  EXPECT_EQ(3, LayerNamed(Model("back"), "bn").blobs_size());
  EXPECT_FALSE(LayerNamed(Model("back"), "bn").batch_norm_param().scale_bias());
  EXPECT_TRUE(LayerNamed(Model("back"), "bn_scale").scale_param().bias_term());
  EXPECT_LT(Difference("net", "back"), 1e-6);
}

TEST_F(PrecisionMigrationTest, FiveBlobsStayFloat) {
  WriteNet();
  Migrate(Norms(BatchNormForm::NVCAFFE, ElementType::FLOAT16));
  const NetParameter net = Model();
  ASSERT_EQ(5, LayerNamed(net, "bn").blobs_size());
  for (const BlobProto& blob : LayerNamed(net, "bn").blobs()) {
    EXPECT_EQ(FLOAT, blob.raw_data_type());
  }
  EXPECT_LT(Difference("net", "new"), 2e-3);
}

TEST_F(PrecisionMigrationTest, JoinedLayersTakeTheTopOfTheSecond) {
  string text = kNet;
  for (const char* replaced : {"top: \"conv\" scale_param", "bottom: \"conv\" top: \"fc\""}) {
    const size_t at = text.find("\"conv\"", text.find(replaced));
    text.replace(at, 6, "\"scaled\"");
  }
  WriteNet(text);
  Migrate(Norms(BatchNormForm::NVCAFFE));
  ExpectContains(Text(), "type: \"BatchNorm\" bottom: \"conv\" top: \"scaled\"");
  EXPECT_EQ("scaled", LayerNamed(Model(), "bn").top(0));
  EXPECT_LT(Difference("net", "new"), 1e-6);
}

/// kNet with the ParamSpecs of "bn" and "scale".
string WithParams(const string& norm, const string& scale) {
  string text = kNet;
  text.insert(text.find("scale_param"), scale + " ");
  text.insert(text.find("top: \"conv\" }\nlayer { name: \"scale\""), norm + " ");
  return text;
}

TEST_F(PrecisionMigrationTest, TheScalesParamsBecomeTheFourthAndFifth) {
  WriteNet(WithParams("param { name: \"mean\" lr_mult: 0 }",
                      "param { lr_mult: 0 } param { name: \"shift\"\n decay_mult: 3 }"));
  Migrate(Norms(BatchNormForm::NVCAFFE));
  const NetParameter net = ParseNet(Text());
  const LayerParameter& norm = LayerNamed(net, "bn");
  ASSERT_EQ(5, norm.param_size());
  EXPECT_EQ("mean", norm.param(0).name());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(0, norm.param(i).lr_mult()) << i;
  EXPECT_EQ("shift", norm.param(4).name());
  EXPECT_EQ(3, norm.param(4).decay_mult());
  EXPECT_LT(Difference("net", "new"), 1e-6);

  Migrate(Norms(BatchNormForm::BVLC), "new", "back");
  const NetParameter back = ParseNet(Text("back"));
  EXPECT_EQ(3, LayerNamed(back, "bn").param_size());
  ASSERT_EQ(2, LayerNamed(back, "bn_scale").param_size());
  EXPECT_EQ(0, LayerNamed(back, "bn_scale").param(0).lr_mult());
  EXPECT_EQ("shift", LayerNamed(back, "bn_scale").param(1).name());
  EXPECT_LT(Difference("net", "back"), 1e-6);
}

TEST_F(PrecisionMigrationTest, TheBiasOfAScaleLayerWithoutOneStaysZero) {
  string text = WithParams("", "param { lr_mult: 2 }");
  text.replace(text.find("bias_term: true"), 15, "bias_term: false");
  WriteNet(text);
  Migrate(Norms(BatchNormForm::NVCAFFE));
  const NetParameter net = ParseNet(Text());
  ASSERT_EQ(5, LayerNamed(net, "bn").param_size());
  EXPECT_EQ(2, LayerNamed(net, "bn").param(3).lr_mult());
  EXPECT_EQ(0, LayerNamed(net, "bn").param(4).lr_mult());
}

TEST_F(PrecisionMigrationTest, ParamsThatStandInNoBlockOfTheirOwnAreRefused) {
  WriteNet(WithParams("", "param [{ lr_mult: 0 }, { lr_mult: 0 }]"));
  ExpectContains(ErrorOf([&] { Migrate(Norms(BatchNormForm::NVCAFFE)); }),
                 "layer 'scale': batch normalization takes another form only where each param");
}

TEST_F(PrecisionMigrationTest, NamesMayHoldQuotesAndBackslashes) {
  string text = kNet;
  for (const char* replaced : {"top: \"conv\" scale_param", "bottom: \"conv\" top: \"fc\""}) {
    text.replace(text.find("\"conv\"", text.find(replaced)), 6, R"("a\"b\\n\n")");
  }
  text.replace(text.find("\"bn\""), 4, R"("b\"n\\")");
  WriteNet(text);
  Migrate(Norms(BatchNormForm::NVCAFFE));
  EXPECT_EQ("a\"b\\n\n", LayerNamed(ParseNet(Text()), "b\"n\\").top(0));
  Migrate(Norms(BatchNormForm::BVLC), "new", "back");
  EXPECT_EQ("a\"b\\n\n", LayerNamed(ParseNet(Text("back")), "b\"n\\_scale").top(0));
  EXPECT_LT(Difference("net", "back"), 1e-6);
}

TEST_F(PrecisionMigrationTest, LayersThatBothHaveAParamForTheScaleStayTwo) {
  WriteNet();
  const string text = WithParams("param {} param {} param {} param {}", "param {}");
  Write("net.prototxt", text);
  const PrecisionMigration migration(folder_ + "net.prototxt", folder_ + "net.caffemodel",
                                     Norms(BatchNormForm::NVCAFFE));
  EXPECT_EQ(vector<string>{"layers 'bn' and 'scale' stay two: both have a param for the scale"},
            migration.notes());
  EXPECT_EQ(text, migration.prototxt());
}

TEST_F(PrecisionMigrationTest, LayersWhoseMiddleOthersReadStayTwo) {
  string text = kNet;
  text.replace(text.find("top: \"conv\" scale_param"), 11, "top: \"scaled\"");
  WriteNet(text);  // fc reads what BatchNorm made
  const PrecisionMigration migration(folder_ + "net.prototxt", folder_ + "net.caffemodel",
                                     Norms(BatchNormForm::NVCAFFE));
  ASSERT_EQ(1, migration.notes().size());
  EXPECT_EQ("layers 'bn' and 'scale' stay two: others read blob 'conv' too", migration.notes()[0]);
  EXPECT_EQ(text, migration.prototxt());
}

TEST_F(PrecisionMigrationTest, SplitsTheOrderOfDigitsToo) {
  WriteNet();
  Migrate(Norms(BatchNormForm::NVCAFFE), "net", "five");
  NetParameter net = Model("five");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() != "bn") continue;
    const LayerParameter today = layer;
    for (int i = 0; i < 5; ++i) *layer.mutable_blobs(i) = today.blobs((i + 3) % 5);
  }
  WriteProtoBinary(net, folder_ + "five.caffemodel");
  Migrate(Norms(BatchNormForm::BVLC), "five", "new");
  EXPECT_LT(Difference("net", "new"), 1e-6);
}

// ---- notes

TEST_F(PrecisionMigrationTest, NotesNameLayersThatOneFileAloneHas) {
  WriteNet();
  NetParameter net = Model("net");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() == "fc") layer.set_name("fc_quantization");
    if (layer.name() == "conv") layer.set_name("old");
  }
  LayerParameter* inserted = net.add_layer();
  *inserted->mutable_blobs() = LayerNamed(net, "old").blobs();
  inserted->set_name("conv_quantization");
  inserted->set_type("FakeQuantization");  // of training in integers: nothing to tell
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  const string text = folder_ + "net.prototxt", model = folder_ + "net.caffemodel";
  EXPECT_EQ((vector<string>{"layers with weights that " + text +
                                " has not, converted all the same: 'old', 'fc_quantization'",
                            "layers of " + text + " that have no weights in " + model +
                                " and keep their fillers' values: 'conv', 'fc'"}),
            PrecisionMigration(text, model, {}).notes());
}

TEST_F(PrecisionMigrationTest, AScaleLayerThatTakesItsWeightsFromFiveBlobsLacksNone) {
  WriteNet();
  Migrate(Norms(BatchNormForm::NVCAFFE));
  EXPECT_EQ(vector<string>{},
            PrecisionMigration(folder_ + "net.prototxt", folder_ + "new.caffemodel", {}).notes());
}

// ---- what bad input gets

TEST_F(PrecisionMigrationTest, FilesOfTwoNetsAreRefused) {
  WriteNet();
  Write("other.prototxt", "layer { name: \"x\" type: \"ReLU\" bottom: \"a\" top: \"a\" }");
  const string error = ErrorOf(
      [&] { PrecisionMigration(folder_ + "other.prototxt", folder_ + "net.caffemodel", {}); });
  ExpectContains(error, "no layer with weights is called like one of");
  ExpectContains(error, "'conv'");
}

TEST_F(PrecisionMigrationTest, IncompleteBlobsAreNamed) {
  WriteNet();
  NetParameter net = Model("net");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() == "fc") layer.mutable_blobs(1)->add_data(1);
  }
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  const string error = ErrorOf([&] { Migrate(); });
  ExpectContains(error, "layer 'fc', blob 1: the shape 3 has 3 elements, and the file holds 4");
  EXPECT_FALSE(Exists("new.caffemodel"));
}

TEST(MigrationOptions, TypesHaveShortNamesAndTheSchemas) {
  for (const char* name : {"fp16", "FP16", "FLOAT16"}) {
    EXPECT_EQ(PrecisionNamed("-to", name), ElementType::FLOAT16);
    EXPECT_EQ(MathNamed("-math", name), ElementType::FLOAT16);
  }
  for (const char* name : {"bf16", "BFLOAT16", "BFloat16"}) {
    EXPECT_EQ(MathNamed("-math", name), ElementType::BFLOAT16);
  }
  for (const char* name : {"fp32", "FLOAT"}) {
    EXPECT_EQ(PrecisionNamed("-to", name), ElementType::FLOAT);
    EXPECT_EQ(MathNamed("-math", name), ElementType::FLOAT);
  }
}

TEST(MigrationOptions, UnknownNamesGetTheValidOnes) {
  EXPECT_EQ("-to fp8: valid are fp16 (FLOAT16) and fp32 (FLOAT)",
            ErrorOf([] { PrecisionNamed("-to", "fp8"); }));
  EXPECT_EQ("-math fp8: valid are fp16 (FLOAT16), bf16 (BFLOAT16) and fp32 (FLOAT)",
            ErrorOf([] { MathNamed("-math", "fp8"); }));
  EXPECT_EQ("-to bf16: valid are fp16 (FLOAT16) and fp32 (FLOAT)",
            ErrorOf([] { PrecisionNamed("-to", "bf16"); }));
  ExpectContains(ErrorOf([] { BatchNormFormNamed("-batch_norm", "5"); }), "keep, bvlc (3 blobs");
}

TEST(ConversionWarnings, NameLayersWithNanAndTheCuresOfOverflow) {
  LayerConversion bad{"fc6", "FLOAT16", {}};
  bad.counts.nans = 2;
  bad.counts.infinities = 1;
  bad.counts.overflowed = 5;
  const vector<string> warnings = ConversionWarnings({bad, {"fc7", "FLOAT16", {}}}, {});
  ASSERT_EQ(2, warnings.size());
  EXPECT_EQ("layer 'fc6': the weights hold 2 NaN and 1 infinite values", warnings[0]);
  ExpectContains(warnings[1], "5 values beyond FLOAT16's range became infinite: --clamp");
}

TEST(ConversionWarnings, SayWouldWhereNothingIsWritten) {
  LayerConversion bad{"fc6", "FLOAT16", {}};
  bad.counts.overflowed = 5;
  MigrationOptions options;
  ExpectContains(ConversionWarnings({bad}, options, /*written=*/false)[0],
                 "5 values beyond FLOAT16's range would become infinite");
  options.clamp = true;
  EXPECT_EQ("5 values beyond FLOAT16's range would become its largest number",
            ConversionWarnings({bad}, options, /*written=*/false)[0]);
}

TEST(ConversionWarnings, NameNoTypeThatDoesNotHelpInFloat) {
  LayerConversion bad{"fc6", "FLOAT", {}};
  bad.counts.overflowed = 5;
  MigrationOptions options;
  options.to = ElementType::FLOAT;
  EXPECT_EQ(vector<string>{"5 values beyond FLOAT's range became infinite: --clamp makes them its "
                           "largest number"},
            ConversionWarnings({bad}, options));
}

TEST(ConversionFaults, CountOverflowNanAndInfinityOfAllLayers) {
  LayerConversion overflows{"a", "FLOAT16", {}}, holds_nan{"b", "FLOAT", {}};
  overflows.counts.overflowed = 5;
  holds_nan.counts.nans = 1;
  holds_nan.counts.infinities = 2;
  EXPECT_EQ("", ConversionFaults({{"c", "FLOAT16", {}}}));
  EXPECT_EQ("5 values overflow", ConversionFaults({overflows}));
  EXPECT_EQ("3 values are NaN or infinite", ConversionFaults({holds_nan}));
  EXPECT_EQ("5 values overflow and 3 are NaN or infinite",
            ConversionFaults({overflows, holds_nan}));
}

// ---- comparing outputs

/// The difference of the outputs of a net that is its input, for these inputs.
OutputDifference DifferenceOf(const Floats& first, const Floats& second) {
  const NetParameter net = ParseNet(
      Join("layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: ", first.size(),
           " } } } layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' }"));
  Net<float> one(net), other(net);
  std::copy(first.begin(), first.end(), one.input_blobs()[0]->mutable_cpu_data());
  one.Forward();
  // CompareNets gives the second net the first one's inputs: what differs is what the first made.
  std::copy(second.begin(), second.end(), one.input_blobs()[0]->mutable_cpu_data());
  return CompareNets(&one, &other)[0];
}

TEST(CompareNets, CountsWhatIsNotFiniteInEachNet) {
  const float infinity = std::numeric_limits<float>::infinity();
  const OutputDifference difference =
      DifferenceOf({1, -4, NAN, infinity, 2, NAN}, {1.5f, -4, NAN, NAN, -infinity, 7});
  EXPECT_EQ(6, difference.values);
  EXPECT_EQ(0.5, difference.largest_difference);
  EXPECT_EQ(4, difference.largest_value);
  EXPECT_EQ(1, difference.not_finite);
  EXPECT_EQ(1, difference.not_finite_before);
  EXPECT_EQ(2, difference.not_finite_in_both);
  EXPECT_EQ(
      "output 'y': largest difference 0.5 (largest value 4), 1 values became NaN or infinite, "
      "1 values are NaN or infinite in the old net alone, 2 values are NaN or infinite in both "
      "nets",
      Described(difference));
}

TEST(CompareNets, SaysWhereNothingCouldBeCompared) {
  EXPECT_EQ("output 'y': all 2 values are NaN or infinite in both nets: nothing could be compared",
            Described(DifferenceOf({NAN, NAN}, {NAN, NAN})));
  EXPECT_EQ(
      "output 'y': 1 values became NaN or infinite, 1 values are NaN or infinite in both nets: "
      "nothing could be compared",
      Described(DifferenceOf({1, NAN}, {NAN, NAN})));
  EXPECT_EQ("output 'y': largest difference 0 (largest value 3)",
            Described(DifferenceOf({3, 2}, {3, 2})));
}

// ---- the program

TEST_F(PrecisionMigrationTest, ToolWritesBothFilesAndComparesTheNets) {
  WriteNet();
  const Outcome run = Tool("upgrade_net_fp16",
                           "-input %net.prototxt -model %net.caffemodel -output %half.caffemodel");
  EXPECT_EQ(0, run.status) << run.output;
  ExpectContains(run.output, "conv        FLOAT16      38");
  ExpectContains(run.output, "output 'fc': largest difference");
  EXPECT_TRUE(Exists("half.prototxt"));
  EXPECT_EQ(0, Count("half.caffemodel.tmp"));
  EXPECT_LT(Difference("net", "half"), 2e-3);
}

TEST_F(PrecisionMigrationTest, ToolAnswersOverflowAsTold) {
  WriteNet();
  NetParameter net = Model("net");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() == "fc") layer.mutable_blobs(1)->set_data(0, 1e6f);
  }
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  const string common = "-input %net.prototxt -model %net.caffemodel -output %half.caffemodel ";
  const Outcome strict = Tool("upgrade_net_fp16", common + "-strict");
  EXPECT_EQ(2, strict.status);
  ExpectContains(strict.output, "1 values overflow, so nothing was written");
  ExpectContains(strict.output, "would become infinite");
  const Outcome both = Tool("upgrade_net_fp16", common + "-strict -clamp");
  EXPECT_EQ(2, both.status);
  ExpectContains(both.output, "would become its largest number");
  EXPECT_EQ(0, Count("half"));
  ExpectContains(Tool("upgrade_net_fp16", common).output, "1 values became NaN or infinite");
  ExpectContains(Tool("upgrade_net_fp16", common + "-clamp").output, "became its largest number");
  EXPECT_EQ(0, Tool("upgrade_net_fp16", common + "-clamp").status);
}

TEST_F(PrecisionMigrationTest, ToolSaysWhatNanInTheWeightsDoes) {
  WriteNet();
  NetParameter net = Model("net");
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() == "conv") layer.mutable_blobs(0)->set_data(0, NAN);
    if (layer.name() == "fc") layer.mutable_blobs(1)->set_data(0, INFINITY);
  }
  WriteProtoBinary(net, folder_ + "net.caffemodel");
  const string common = "-input %net.prototxt -model %net.caffemodel -output %half.caffemodel ";
  const Outcome strict = Tool("upgrade_net_fp16", common + "-strict");
  EXPECT_EQ(2, strict.status);
  ExpectContains(strict.output, "2 values are NaN or infinite, so nothing was written (-strict)");
  EXPECT_EQ(0, Count("half"));
  const Outcome run = Tool("upgrade_net_fp16", common);
  EXPECT_EQ(0, run.status);
  ExpectContains(run.output,
                 "output 'fc': all 3 values are NaN or infinite in both nets: nothing could be");
}

TEST_F(PrecisionMigrationTest, ToolNamesTheLayerThatDoesNotFitAndBothShapes) {
  WriteNet();
  string text = kNet;
  text.replace(text.find("num_output: 3"), 13, "num_output: 4");
  Write("net.prototxt", text);
  const string error = ToolError(
      "upgrade_net_fp16", "-input %net.prototxt -model %net.caffemodel -output %half.caffemodel");
  ExpectContains(error, "layer 'fc'");
  ExpectContains(error, "3 2 (6)");
  ExpectContains(error, "4 2 (8)");
  EXPECT_EQ(0, Count("half"));
}

TEST_F(PrecisionMigrationTest, ToolWritesOverNoInput) {
  WriteNet();
  const string common = "-input %net.prototxt -model %net.caffemodel -output ";
  ExpectContains(ToolError("upgrade_net_fp16", common + "%net.caffemodel"), "would replace");
  ExpectContains(ToolError("upgrade_net_fp16", common + "%a.caffemodel -prototxt %./net.prototxt"),
                 "would replace");
  ExpectContains(ToolError("upgrade_net_fp16", common + "%a.npy -inputs %b.npy,%a.npy"),
                 "would replace");
  ExpectContains(
      ToolError("upgrade_net_fp16", common + "%a.caffemodel -prototxt %a.npy -inputs %a.npy"),
      "would replace");
  ExpectContains(ToolError("upgrade_net_fp16", common + "%none/a.caffemodel"), "cannot be written");
}

TEST_F(PrecisionMigrationTest, ToolTakesInputsFromFiles) {
  WriteNet();
  string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 3), }";
  header.resize(117, ' ');
  header += '\n';
  const Floats values(18, 1);
  Write("x.npy", string("\x93NUMPY\x01\x00", 8) + string("\x76\x00", 2) + header +
                     string(reinterpret_cast<const char*>(values.data()), 18 * sizeof(float)));
  const string common = "-input %net.prototxt -model %net.caffemodel -output %half.caffemodel ";
  ExpectContains(ToolError("upgrade_net_fp16", common + "-inputs %x.npy,%x.npy"),
                 "the net has 1 inputs, and 2 files were given");
  EXPECT_EQ(0, Count("half"));
  ExpectContains(Tool("upgrade_net_fp16", common + "-inputs %x.npy").output, "output 'fc'");
}

// ---- real models

TEST(PrecisionMigrationOfModels, HalvesAreThoseOfAnotherProgram) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  for (const string name : {"mtcnn_cvdnn_det1", "mtcnn_cvdnn_det3"}) {
    const string folder = SharedData("models/" + name + "/");
    const string file = NewFileName();
    AtomicFile output(file);
    PrecisionMigration(folder + "deploy.prototxt", folder + "weights.caffemodel", {})
        .WriteModel(&output);
    output.Commit();
    NetParameter ours, theirs;
    ReadProtoBinary(file, &ours);
    ReadProtoBinary(folder + "weights_fp16.caffemodel", &theirs);
    for (const LayerParameter& layer : theirs.layer()) {
      for (int i = 0; i < layer.blobs_size(); ++i) {
        EXPECT_EQ(layer.blobs(i).raw_data(), LayerNamed(ours, layer.name()).blobs(i).raw_data())
            << name << " " << layer.name();
      }
    }
  }
}

TEST(PrecisionMigrationOfModels, AreHalfAsLarge) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  // Without the parameters of hundreds of tiny layers and without many FLOAT statistics.
  for (const string name : {"cifar10_quick_current", "lenet_v1format", "mtcnn_v1_det3",
                            "resnet20_cifar10", "yufacedetectnet_v2", "ultralight_face_rfb320"}) {
    const string folder = SharedData("models/" + name + "/");
    const string text = folder + (name == "resnet20_cifar10" ? "train_val" : "deploy");
    const string weights = folder + "weights.caffemodel";
    AtomicFile output(NewFileName());
    PrecisionMigration(text + ".prototxt", weights, {}).WriteModel(&output);
    EXPECT_LE(output.size(), 0.51 * std::filesystem::file_size(weights)) << name;
  }
}

}  // namespace
}  // namespace caffe
