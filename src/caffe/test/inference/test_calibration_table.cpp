// Calibration tables: our text, TensorRT's caches, ncnn's tables.
#include "caffe/inference/calibration_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "caffe/fp16/value_graph.hpp"
#include "caffe/inference/quantize/calibration_formats.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

BlobCalibration WithThreshold(double threshold, bool is_unsigned = false, double minimum = 0,
                              double maximum = 0, const std::string& method = "") {
  return {threshold, is_unsigned, minimum, maximum, method};
}

CalibrationTable Example() {
  CalibrationTable table;
  table.Set("data", WithThreshold(0.99609375, true, 0, 0.99609375, "entropy"));
  table.Set("conv1", WithThreshold(3.386474609375, false, -3.1525, 3.94210052, "entropy"));
  table.SetWeightScales("conv1", {0.25f, 0.1f});
  table.set_fingerprint({0x90b1d0e3a1f3c5d7, 0xf3a64c09b1e2d48});
  table.set_images(1000);
  return table;
}

constexpr char kExample[] =
    "cortado calibration table 1\n"
    "net: 90b1d0e3a1f3c5d7\n"
    "weights: f3a64c09b1e2d48\n"
    "images: 1000\n"
    "\n"
    "activations:\n"
    "# blob   threshold   type  minimum  maximum     method\n"
    "\"data\"   0.99609375  u8    0        0.99609375  entropy\n"
    "\"conv1\"  3.38647461  s8    -3.1525  3.94210052  entropy\n"
    "\n"
    "weight scales:\n"
    "\"conv1\" 0.25 0.1\n";

TEST(CalibrationTable, KeepsCommentsInFrontOfTheFirstSection) {
  CalibrationTable table = Example();
  table.AddComment("error of the outputs: mse 1 %, entropy 5 %: mse");
  std::string text = kExample;
  text.insert(text.find("\n\nactivations"), "\n# error of the outputs: mse 1 %, entropy 5 %: mse");
  EXPECT_EQ(table.Text(), text);
  EXPECT_EQ(CalibrationTable::Parse(text, "t").comments(), table.comments());
  EXPECT_EQ(CalibrationTable::Parse(text, "t").Text(), text);
  EXPECT_TRUE(CalibrationTable::Parse(kExample, "t").comments().empty());
  ExpectContains(ErrorOf([&] { table.AddComment("a\nb"); }), "a comment of one line");
}

void ExpectEqual(const CalibrationTable& a, const CalibrationTable& b) {
  EXPECT_EQ(a.Text(), b.Text());
  ASSERT_EQ(a.blobs(), b.blobs());
  for (const std::string& blob : a.blobs()) {
    EXPECT_EQ(a.At(blob).threshold, b.At(blob).threshold) << blob;
    EXPECT_EQ(a.At(blob).is_unsigned, b.At(blob).is_unsigned) << blob;
    EXPECT_EQ(a.At(blob).minimum, b.At(blob).minimum) << blob;
    EXPECT_EQ(a.At(blob).maximum, b.At(blob).maximum) << blob;
    EXPECT_EQ(a.At(blob).method, b.At(blob).method) << blob;
  }
  EXPECT_EQ(a.weight_scales(), b.weight_scales());
  EXPECT_TRUE(a.fingerprint() == b.fingerprint());
  EXPECT_EQ(a.images(), b.images());
}

TEST(CalibrationTable, TheScaleIsTheThresholdOver127OrOver255) {
  EXPECT_EQ(WithThreshold(254).scale(), 2);
  EXPECT_EQ(WithThreshold(510, true).scale(), 2);
}

TEST(CalibrationTable, IsATextThatLinesUp) { EXPECT_EQ(Example().Text(), kExample); }

TEST(CalibrationTable, ReadsWhatItWrites) {
  const std::string file = NewFileName();
  Example().Write(file);
  EXPECT_EQ(ReadFile(file), kExample);
  ExpectEqual(CalibrationTable::Read(file), Example());
  EXPECT_EQ(CalibrationTable::Read(file).name(), file);
}

TEST(CalibrationTable, KeepsAnyNameAndNumber) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  CalibrationTable table;
  for (int i = 0; i < 200; ++i) {
    std::string name(1 + random() % 12, ' ');
    for (char& c : name) c = static_cast<char>(random());
    const double size = std::pow(10., int(random() % 60) - 29);
    const double low = -size * double(random()) / 1e9, high = size * double(random()) / 1e9;
    BlobCalibration calibration =
        WithThreshold(size * (1 + double(random()) / 1e9), random() % 2, low, high);
    if (random() % 2) calibration.method = "own";
    random() % 2 ? table.Set(name, calibration) : table.SetExactly(name, calibration);
    table.SetWeightScales(name, std::vector<float>(1 + random() % 5, float(size)));
  }
  ExpectEqual(CalibrationTable::Parse(table.Text(), "it"), table);
}

TEST(CalibrationTable, MayBeWrittenByHand) {
  const CalibrationTable table = CalibrationTable::Parse(
      "cortado calibration table 1\r\n\r\n"
      "  activations:   # what follows\r\n"
      "\t\"a # \\\"b\\\" \\\\ \\x41\" 1.5e-3 s8# a comment\r\n"
      "\"c\" 2 u8 0 3\n",
      "it");
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"a # \"b\" \\ A", "c"}));
  EXPECT_EQ(table.At("a # \"b\" \\ A").threshold, 1.5e-3);
  EXPECT_EQ(table.At("c").maximum, 3);
  EXPECT_TRUE(table.At("c").is_unsigned);
  EXPECT_EQ(table.images(), 0);
}

struct BadTable {
  const char* name;
  const char* text;  ///< behind the header
  const char* error;
};
std::ostream& operator<<(std::ostream& stream, const BadTable& bad) { return stream << bad.name; }

class BadTables : public testing::TestWithParam<BadTable> {};

TEST_P(BadTables, AreRefusedWithTheirLine) {
  const std::string text = std::string("cortado calibration table 1\n") + GetParam().text;
  ExpectContains(ErrorOf([&] { CalibrationTable::Parse(text, "it.table"); }),
                 std::string("it.table, line ") + GetParam().error);
}

const BadTable kBad[] = {
    {"UnknownField", "threads: 3\n", "2: 'threads:' is not known here"},
    {"NoHash", "net: xyz\n", "2: net 'xyz' is not a number of at most 16 hexadecimal digits"},
    {"LongHash", "net: 12345678901234567\n", "2: net '12345678901234567' is not a number"},
    {"NoImages", "images:\n", "2: the number of images is missing"},
    {"NegativeImages", "images: -3\n", "2: images: -3 is less than none"},
    {"NoQuotes", "\nactivations:\na 1 s8\n", "4: a name in quotes is missing"},
    {"OpenQuotes", "activations:\n\"a 1 s8\n", "3: the quote behind the name is missing"},
    {"EmptyName", "activations:\n\"\" 1 s8\n", "3: a blob without a name"},
    {"UnknownEscape", "activations:\n\"\\q\" 1 s8\n", "3: \\q means nothing"},
    {"HalfEscape", "activations:\n\"\\x4\n", "3: \\x needs two hexadecimal digits"},
    {"NoThreshold", "activations:\n\"a\"\n", "3: the threshold is missing"},
    {"NoNumber", "activations:\n\"a\" 1,5 s8\n", "3: threshold '1,5' is not a number"},
    {"Zero", "activations:\n\"a\" 0 s8\n", "3: blob 'a': the threshold 0 does not lie between"},
    {"Negative", "activations:\n\"a\" -1 s8\n", "3: blob 'a': the threshold -1 does not lie"},
    {"NaN", "activations:\n\"a\" nan s8\n", "3: blob 'a': the threshold nan does not lie"},
    {"Infinite", "activations:\n\"a\" inf s8\n", "3: blob 'a': the threshold inf does not lie"},
    {"Type", "activations:\n\"a\" 1 i8\n", "3: type 'i8': valid are s8 and u8"},
    {"NoMaximum", "activations:\n\"a\" 1 s8 -1\n", "3: the maximum is missing"},
    {"Range", "activations:\n\"a\" 1 s8 3 2\n", "3: blob 'a': there is no range from 3 to 2"},
    {"TooMuch", "activations:\n\"a\" 1 s8 0 1 mse x\n", "3: 'x' is too much"},
    {"Twice", "activations:\n\"a\" 1 s8\n\"a\" 2 s8\n", "4: blob 'a' is there twice"},
    {"ScalesTwice", "weight scales:\n\"a\" 1\n\"a\" 2\n", "4: layer 'a' is there twice"},
    {"NoScales", "weight scales:\n\"a\"\n", "3: layer 'a': no weight scales"},
    {"ZeroScale", "weight scales:\n\"a\" 1 0\n", "3: layer 'a': the weight scale 0 is no normal"},
};
INSTANTIATE_TEST_SUITE_P(CalibrationTable, BadTables, testing::ValuesIn(kBad),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CalibrationTable, RefusesOtherFilesAndVersions) {
  ExpectContains(ErrorOf([] { CalibrationTable::Parse("", "it"); }), "it: the file is empty");
  ExpectContains(ErrorOf([] { CalibrationTable::Parse("name: 'net'\n", "it"); }),
                 "it, line 1: the file begins with 'name: 'net'', not with 'cortado calibration");
  ExpectContains(ErrorOf([] { CalibrationTable::Parse("cortado calibration table 2\n", "it"); }),
                 "it, line 1: this program reads version 1");
  ExpectContains(ErrorOf([] { CalibrationTable::Read("/no/such/table"); }), "/no/such/table");
  ExpectContains(ErrorOf([] { CalibrationTable::Read("/tmp"); }), "/tmp: is a folder");
}

TEST(CalibrationTable, NamesTheBlobThatItLacksAndSimilarOnes) {
  const CalibrationTable table = CalibrationTable::Parse(kExample, "net.table");
  EXPECT_EQ(table.Find("conv2"), nullptr);
  const std::string error = ErrorOf([&] { table.At("conv2"); });
  ExpectContains(error, "net.table: the table lacks blob 'conv2'");
  ExpectContains(error, "conv1");
}

TEST(CalibrationTable, SaysWhatHasChangedSince) {
  const CalibrationTable table = Example();
  const NetFingerprint now = table.fingerprint();
  EXPECT_EQ(table.WhatIsStale(now), "");
  ExpectContains(table.WhatIsStale({now.net, 5}), "was made for other weights");
  ExpectContains(table.WhatIsStale({5, now.weights}), "was made for a net that is connected");
  ExpectContains(table.WhatIsStale({5, 6}), "was made for another net");
  EXPECT_EQ(CalibrationTable().WhatIsStale({5, 6}), "");
}

TEST(CalibrationTable, ForgetsAndChangesBlobs) {
  CalibrationTable table = Example();
  table.Remove("data");
  table.Remove("nothing");
  table.Set("conv1", WithThreshold(1));
  EXPECT_EQ(table.blobs(), std::vector<std::string>{"conv1"});
  EXPECT_EQ(table.At("conv1").threshold, 1);
  ExpectContains(ErrorOf([&] { table.Set("conv1", WithThreshold(1, false, 0, 0, "two words")); }),
                 "the method 'two words' is not one word");
}

TEST(CalibrationTable, LeavesTheOldFileWhenTheDiskIsFull) {
  const std::string file = NewFileName();
  Example().Write(file);
  CalibrationTable large = Example();
  large.SetWeightScales("large", std::vector<float>(100000, 0.1f));
  {
    const FileSizeLimit limit(1000);
    EXPECT_NE(ErrorOf([&] { large.Write(file); }), "");
  }
  EXPECT_EQ(ReadFile(file), kExample);
}

// ------------------------------------------------------------------ TensorRT

constexpr char kCache[] =
    "TRT-8401-EntropyCalibration2\n"
    "data: 3caa54fc\n"
    "(Unnamed Layer* 64) [Shuffle]_output: 0\n"
    "scope: a/conv:0: 3c010a14\n";

TEST(TensorRtCache, HoldsScalesThatAreThresholdsOver127) {
  const CalibrationTable table = ParseTensorRtCache(kCache, "it");
  // 0x3caa54fc is 0.0207925.
  EXPECT_NEAR(table.At("data").threshold, 2.6406, 1e-4);
  EXPECT_NEAR(table.At("data").scale(), 0.0207925, 1e-7);
  EXPECT_FALSE(table.At("data").is_unsigned);
  EXPECT_EQ(table.At("data").method, "entropy");
}

TEST(TensorRtCache, NamesMayHoldColonsAndTensorsOfScale0AreLeftOut) {
  const CalibrationTable table = ParseTensorRtCache(kCache, "it");
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "scope: a/conv:0"}));
}

TEST(TensorRtCache, IsTheSameAfterReadingAndWriting) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::string text = "TRT-101401-EntropyCalibration2\n";
  for (int i = 0; i < 2000; ++i) {
    // Any normal scale whose threshold a table takes.
    char line[64];
    std::snprintf(line, sizeof(line), "blob%d: %x\n", i,
                  0x10000000u + unsigned(random() % 0x60000000));
    text += line;
  }
  const CalibrationTable table = ParseTensorRtCache(text, "it");
  EXPECT_EQ(TensorRtCache(table, "TRT-101401-EntropyCalibration2"), text);
  // By way of our own file, too.
  EXPECT_EQ(
      TensorRtCache(CalibrationTable::Parse(table.Text(), "it"), "TRT-101401-EntropyCalibration2"),
      text);
}

TEST(TensorRtCache, AnUnsignedBlobIsWrittenWithItsThreshold) {
  CalibrationTable table;
  table.Set("relu", WithThreshold(127, true));  // the scale of int8 is 1, 0x3f800000
  EXPECT_EQ(TensorRtCache(table, "TRT-8503-EntropyCalibration2"),
            "TRT-8503-EntropyCalibration2\nrelu: 3f800000\n");
}

TEST(TensorRtCache, TheHeaderNamesVersionAndAlgorithm) {
  CalibrationTable table;
  table.Set("a", WithThreshold(1, false, 0, 0, "minmax"));
  EXPECT_EQ(TensorRtHeader(table, "8400"), "TRT-8400-MinMaxCalibration");
  table.Set("b", WithThreshold(1, false, 0, 0, "mse"));
  EXPECT_EQ(TensorRtHeader(table, "8503"), "TRT-8503-EntropyCalibration2");
  EXPECT_EQ(ParseTensorRtCache("TRT-8400-MinMaxCalibration\na: 3f800000\n", "").At("a").method,
            "minmax");
}

TEST(TensorRtCache, TakesNumbersWhoseZerosWereTakenOff) {
  const CalibrationTable table =
      ParseTensorRtCache("TRT-1-EntropyCalibration\r\na: \r\nb: C010A14\r\n", "it");
  EXPECT_EQ(table.blobs(), std::vector<std::string>{"b"});
}

TEST(TensorRtCache, WithoutAScaleIsRefused) {
  for (const char* lines : {"", "\n", "a: 0\nb: \n"}) {
    ExpectContains(ErrorOf([&] {
                     ParseTensorRtCache(std::string("TRT-1-MinMaxCalibration\n") + lines, "it");
                   }),
                   "it: the file has no blob's scale: calibrate again");
  }
  ExpectContains(
      ErrorOf([] { ParseTensorRtCache("TRT-1-MinMaxCalibration\ra: 3f800000\r", "it"); }),
      "it, line 1: its lines end in CR alone: let them end in LF");
}

TEST(TensorRtCache, DamageIsNamedWithItsLine) {
  const auto error = [](const std::string& lines) {
    return ErrorOf([&] { ParseTensorRtCache("TRT-1-EntropyCalibration2\n" + lines, "it"); });
  };
  ExpectContains(error("a 3f800000\n"), "it, line 2: 'a 3f800000' is not '<tensor>: <hex>'");
  ExpectContains(error("a: 3f80000g\n"), "it, line 2: the scale '3f80000g' is not a number");
  ExpectContains(error("a: 03f800000\n"), "it, line 2: the scale '03f800000' is not a number");
  ExpectContains(error("a: 7f800000\n"), "it, line 2: tensor 'a': the scale inf");
  ExpectContains(error("a: bf800000\n"), "it, line 2: tensor 'a': the scale -1 ");
  ExpectContains(error("a: 1\n"), "it, line 2: tensor 'a': the scale 1.4013e-45");
  ExpectContains(error("a: 3f800000\na: 3f800000\n"), "it, line 3: tensor 'a' is there twice");
  ExpectContains(ErrorOf([] { ParseTensorRtCache("", "it"); }), "it: the file is empty");
  CalibrationTable table;
  table.Set("a\nb", WithThreshold(1));
  ExpectContains(ErrorOf([&] { TensorRtCache(table, "TRT-1-x"); }), "no names with line feeds");
  ExpectContains(ErrorOf([&] { TensorRtCache(table, "1"); }), "begins with a line TRT-");
}

// ------------------------------------------------------------------ ncnn

const NetParameter& NcnnNet() {
  static const NetParameter net = ParseNet(
      "layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1' }"
      "layer { name: 'left' type: 'Convolution' bottom: 'conv1' top: 'left' }"
      "layer { name: 'right_param_0' type: 'Convolution' bottom: 'conv1' top: 'right' }");
  return net;
}

TEST(NcnnTable, HoldsFactorsOfWeightsAndOfEachLayersBottom) {
  const CalibrationTable table = ParseNcnnTable(
      "conv1_param_0 127.000000 63.500000\n"
      "left_param_0 12.700000\n"
      "conv1 127.000000\n"
      "left 63.500000\n",
      "it", NcnnNet());
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "conv1"}));
  EXPECT_EQ(table.At("data").threshold, 1);
  EXPECT_EQ(table.At("conv1").threshold, 2);
  EXPECT_FALSE(table.At("data").is_unsigned);
  EXPECT_EQ(table.weight_scales().at("conv1"), (std::vector<float>{1 / 127.f, 2 / 127.f}));
  EXPECT_FLOAT_EQ(table.weight_scales().at("left")[0], 1 / 12.7f);
}

TEST(NcnnTable, OfTwoReadersOfABlobTheLargerThresholdHolds) {
  for (const char* text : {"left 127\nright_param_0 31.75\n", "right_param_0 31.75\nleft 127\n"}) {
    EXPECT_EQ(ParseNcnnTable(text, "it", NcnnNet()).At("conv1").threshold, 4);
  }
}

TEST(NcnnTable, AChannelOfZerosHasNoFactor) {
  const CalibrationTable table =
      ParseNcnnTable("conv1_param_0 127.0 0.000000 inf\nconv1 127\n", "it", NcnnNet());
  EXPECT_EQ(table.weight_scales().at("conv1"), (std::vector<float>{1 / 127.f, 1, 1}));
}

// By the names that values have in engines.
TEST(NcnnTable, ABlobThatLayersChangeInPlaceIsTheValueThatALayerReads) {
  const NetParameter net = ParseNet(
      "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 } } }"
      "layer { name: 'first' type: 'Power' bottom: 'data' top: 'data' }"
      "layer { name: 'prep' type: 'Power' bottom: 'data' top: 'data' }"
      "layer { name: 'ip1' type: 'InnerProduct' bottom: 'data' top: 'ip1' inner_product_param { "
      "num_output: 2 } }"
      "layer { name: 'abs' type: 'AbsVal' bottom: 'ip1' top: 'ip1' }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'ip1' top: 'ip1' }"
      "layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2' inner_product_param { "
      "num_output: 2 } }");
  const CalibrationTable table =
      ParseNcnnTable("first 1\nprep 2\nip1 3\nabs 4\nrelu 5\nip2 6\n", "it", net);
  const ValueGraph graph{Net<float>(net)};
  for (const auto& [layer, factor] : std::map<std::string, double>{
           {"first", 1}, {"prep", 2}, {"ip1", 3}, {"abs", 4}, {"relu", 5}, {"ip2", 6}}) {
    const int index = static_cast<int>(
        std::find_if(net.layer().begin(), net.layer().end(),
                     [&](const LayerParameter& other) { return other.name() == layer; }) -
        net.layer().begin());
    const std::string& blob = graph.values[graph.layers[index].bottoms[0]].name;
    EXPECT_EQ(table.At(blob).threshold, 127 / factor) << layer;
  }
  EXPECT_EQ(table.At("data_after_prep").threshold, 127 / 3.);
}

TEST(NcnnTable, DamageIsNamedWithItsLine) {
  const auto error = [](const std::string& text) {
    return ErrorOf([&] { ParseNcnnTable(text, "it", NcnnNet()); });
  };
  ExpectContains(error(""), "it: the file is empty");
  ExpectContains(error("conv1 127\nconv2 3\n"), "it, line 2: the net has no layer 'conv2'");
  ExpectContains(error("conv2_param_0 3\n"), "it, line 1: the net has no layer 'conv2'");
  ExpectContains(error("conv1\n"), "it, line 1: no scale behind 'conv1'");
  ExpectContains(error("conv1 1 2\n"), "one scale is expected for its bottom, not 2");
  ExpectContains(error("conv1 x\n"), "the scale 'x' is not a number");
  ExpectContains(error("conv1 -1\n"), "the scale -1 is not a number above 0");
  ExpectContains(error("conv1 inf\n"),
                 "it, line 1: layer 'conv1': the scale inf is not a number above 0: make the table "
                 "again with ncnn2table");
  ExpectContains(error("conv1 0.000000\n"), "the scale 0.000000 is not a number above 0");
  ExpectContains(error("conv1_param_0 -1\n"), "the scale -1 is not a number above 0");
  ExpectContains(error("conv1_param_0 nan\n"), "the scale nan is not a number above 0");
  ExpectContains(error("conv1 1\nconv1 1\n"), "it, line 2: 'conv1' is there twice");
  ExpectContains(error("left 1\nconv1_param_0 1\nconv1_param_0 1\n"),
                 "it, line 3: 'conv1_param_0' is there twice");
  ExpectContains(error("conv1_param_0 1\n"), "it: the file has no blob's scale");
}

TEST(AnyCalibrationTable, IsToldByItsFirstLine) {
  const auto read = [](const std::string& text) {
    return ReadAnyCalibrationTable(NewFile(text), NcnnNet());
  };
  ExpectEqual(read(kExample), Example());
  EXPECT_EQ(read(kCache).blobs()[0], "data");
  EXPECT_EQ(read("conv1 127\n").At("data").threshold, 1);
}

// ------------------------------------------------------------------ damage

// Cuts, changes and doubles bytes: a table or an Error comes out, and what comes out can be
// written.
TEST(CalibrationTable, DamagedFilesAreReadOrRefused) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string ncnn = "conv1_param_0 127.000000 63.500000\nconv1 127.000000\nleft 63.500000\n";
  int read = 0, refused = 0;
  for (int run = 0; run < 6000; ++run) {
    const std::string texts[] = {kExample, kCache, ncnn};
    std::string text = texts[run % 3];
    for (unsigned change = 0; change <= random() % 4; ++change) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.resize(at + 1);
          break;
        case 1:
          text[at] = static_cast<char>(random());
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          text.erase(at, 1 + random() % 5);
          if (text.empty()) text = "\n";
      }
    }
    const std::string error = ErrorOf([&] {
      const CalibrationTable table = run % 3 == 0   ? CalibrationTable::Parse(text, "it")
                                     : run % 3 == 1 ? ParseTensorRtCache(text, "it")
                                                    : ParseNcnnTable(text, "it", NcnnNet());
      ExpectEqual(CalibrationTable::Parse(table.Text(), "it"), table);
    });
    error.empty() ? ++read : ++refused;
    EXPECT_TRUE(error.empty() || error.rfind("it", 0) == 0) << error;
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace caffe
