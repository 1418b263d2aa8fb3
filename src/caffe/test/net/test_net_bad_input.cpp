// What is wrong with a net is said with file, layer, field and remedy; nothing crashes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/out_of_memory_layer.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

const char kGoodInput[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 } } } ";

/// The error that a net of these layers, behind an input `data` of shape 2 3, is refused with.
string Refusal(const string& layers, Phase phase = TEST) {
  return ErrorOf([&] { MakeNet(kGoodInput + layers, phase); });
}

TEST(NetBadInput, NamesTheNearestLayerTypes) {
  const string message = Refusal("layer { name: 'c' type: 'Convolutoin' bottom: 'data' top: 'c' }");
  ExpectContains(message, "layer 'c' (Convolutoin)");
  ExpectContains(message, "unknown layer type 'Convolutoin'");
  ExpectContains(message, "'Convolution'");
}

// The program shapes such an input before the first pass.
TEST(NetBadInput, ComputesNothingOfAnInputWithoutAShape) {
  const std::unique_ptr<Net<float>> net = MakeNet(
      "layer { name: 'in' type: 'Input' top: 'x' } "
      "layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'a' } "
      "layer { name: 'b' type: 'ReLU' bottom: 'x' top: 'b' }");
  const string message = ErrorOf([&] { net->Forward(); });
  ExpectContains(message, "layer 'in' (Input)");
  ExpectContains(message, "has no shape");
  net->input_blobs()[0]->Reshape({1, 2});
  net->Reshape();
  net->Forward();
  EXPECT_EQ(net->blob_by_name("b")->shape(), (Shape{1, 2}));
}

// Types of single projects' nets: the message says how to write a custom layer.
TEST(NetBadInput, SaysHowToWriteALayerThatIsNotIncluded) {
  const string message = Refusal("layer { name: 'r' type: 'Repeat' bottom: 'data' top: 'r' }");
  ExpectContains(message, "layer 'r' (Repeat)");
  ExpectContains(message, "this library does not include layer type 'Repeat'");
  ExpectContains(message, "REGISTER_LAYER_CLASS, as in examples/custom_layer");
  ExpectContains(message, "python_param { module layer }");
}

TEST(NetBadInput, RefusesMultipliersThatAreNoNumbers) {
  for (const string field : {"lr_mult", "decay_mult"}) {
    ExpectContains(
        Refusal("layer { name: 'i' type: 'InnerProduct' bottom: 'data' top: 'i' param { } "
                "param { " +
                field + ": nan } inner_product_param { num_output: 1 } }"),
        "layer 'i' (InnerProduct): " + field + " is nan");
  }
  ExpectContains(Refusal("layer { name: 's' type: 'Reduction' bottom: 'data' top: 's' loss_weight: "
                         "inf }"),
                 "layer 's' (Reduction): loss_weight is inf");
}

TEST(NetBadInput, NamesTheFile) {
  const string file = NewFile("layer { name: 'c' type: 'ReLU' bottom: 'nowhere' top: 'c' }");
  ExpectContains(ErrorOf([&] { Net<float>(file, TEST); }), file + ": Unknown bottom blob");
  ExpectContains(ErrorOf([&] { Net<float>(file + ".not", TEST); }), file + ".not");
}

TEST(NetBadInput, NamesTheLayerThatMemoryIsRefusedTo) {
  OutOfMemoryLayer::Register();
  for (const string step : {"setup", "reshape", "forward", "elements", "backward"}) {
    const string message = ErrorOf([&] {
      const auto net = MakeNet(Join(kGoodInput, "force_backward: true layer { name: '", step,
                                    "' type: 'OutOfMemory' bottom: 'data' top: 'top' }"));
      net->Forward();
      net->Backward();
    });
    ExpectContains(message, "layer '" + step + "' (OutOfMemory): out of memory");
  }
}

/// The bytes of address space that this process takes.
size_t AddressSpace() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// A blob may have 2^31 - 1 numbers; the test leaves half of what they take.
TEST(NetBadInput, SaysHowManyBytesWereRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs address space of its own";
#endif
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  struct rlimit narrow = before;
  narrow.rlim_cur = AddressSpace() + (size_t(1) << 32);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &narrow), 0);
  const string message = ErrorOf([] {
    MakeNet(
        "layer { name: 'large' type: 'DummyData' top: 'a' "
        "dummy_data_param { shape { dim: 2147483647 } } }")
        ->Forward();
  });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ExpectContains(message, "layer 'large' (DummyData): out of memory: 8589934588 bytes");
}

TEST(NetBadInput, UnknownBottomSuggestsANearOne) {
  const string message = Refusal("layer { name: 'r' type: 'ReLU' bottom: 'date' top: 'r' }");
  ExpectContains(message, "Unknown bottom blob 'date' (layer 'r', bottom index 0)");
  ExpectContains(message, "did you mean 'data'");
}

TEST(NetBadInput, UnknownBottomTellsOfALaterMaker) {
  ExpectContains(Refusal("layer { name: 'r' type: 'ReLU' bottom: 's' top: 'r' }"
                         "layer { name: 's' type: 'ReLU' bottom: 'data' top: 's' }"),
                 "layer 's' makes it, but stands after its reader: move it before");
}

TEST(NetBadInput, UnknownBottomTellsOfAMakerThatIsLeftOut) {
  ExpectContains(Refusal("layer { name: 's' type: 'ReLU' bottom: 'data' top: 's' "
                         "        include { phase: TRAIN } }"
                         "layer { name: 'r' type: 'ReLU' bottom: 's' top: 'r' }"),
                 "layer 's' would make it, but its include and exclude rules leave it out in phase "
                 "TEST");
}

TEST(NetBadInput, ShowsACycle) {
  ExpectContains(Refusal("layer { name: 'a' type: 'Eltwise' bottom: 'data' bottom: 'c' top: 'a' }"
                         "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }"
                         "layer { name: 'c' type: 'ReLU' bottom: 'b' top: 'c' }"),
                 "the layers form a cycle, and nets must not: a -> b -> c -> a");
}

TEST(NetBadInput, UnknownBottomOfALayerInPlaceTellsOfItsMaker) {
  const string in_place = "layer { name: 'r' type: 'ReLU' bottom: 'conv' top: 'conv' }";
  const string left_out =
      "layer { name: 'c' type: 'ReLU' bottom: 'data' top: 'conv' include { phase: TRAIN } }";
  ExpectContains(Refusal(left_out + in_place),
                 "layer 'c' would make it, but its include and exclude rules leave it out");
  ExpectContains(Refusal(left_out + in_place + in_place), "layer 'c' would make it");
  ExpectContains(Refusal(in_place + "layer { name: 'c' type: 'ReLU' bottom: 'data' top: 'conv' }"),
                 "layer 'c' makes it, but stands after its reader");
  ExpectContains(Refusal("layer { name: 'c' type: 'ReLU' bottom: 'data' top: 'comv' }" + in_place),
                 "did you mean 'comv'");
  ExpectContains(Refusal(in_place), "no layer makes it");
}

TEST(NetBadInput, RefusesATopThatIsMadeTwice) {
  const string message = Refusal(
      "layer { name: 'a' type: 'ReLU' bottom: 'data' top: 'x' }"
      "layer { name: 'b' type: 'TanH' bottom: 'data' top: 'x' }");
  ExpectContains(message, "Top blob 'x' produced by multiple sources");
  ExpectContains(message, "layer 'b' (TanH) and layer 'a'");
  ExpectContains(Refusal("layer { name: 'a' type: 'Split' bottom: 'data' top: 'x' top: 'x' }"),
                 "produced by multiple sources");
}

TEST(NetBadInput, RefusesInPlaceWhereItCannotBe) {
  ExpectContains(Refusal("layer { name: 'c' type: 'InnerProduct' bottom: 'data' top: 'data' "
                         "        inner_product_param { num_output: 3 } }"),
                 "layer 'c' (InnerProduct) cannot work in place: give its top another name than "
                 "its bottom 'data'");
}

TEST(NetBadInput, RefusesToOverwriteWhatAnotherLayerReads) {
  ExpectContains(Refusal("layer { name: 's' type: 'Silence' bottom: 'data' }"
                         "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'data' }"),
                 "layer 'r' (ReLU) would overwrite blob 'data', which layer 's' reads too");
}

TEST(NetBadInput, RefusesToOverwriteWhatTheLayerReadsTwice) {
  ExpectContains(Refusal("layer { name: 'mine' type: 'SomebodysOwn' bottom: 'data' bottom: 'data' "
                         "        top: 'data' }"),
                 "layer 'mine' (SomebodysOwn) would overwrite blob 'data'");
}

TEST(NetBadInput, RefusesImpossibleShapes) {
  const auto input = [](const string& dims) {
    return ErrorOf([&] {
      MakeNet("layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " + dims + " } } }");
    });
  };
  ExpectContains(input("dim: 2 dim: -3"), "layer 'in' (Input)");
  ExpectContains(input("dim: 100000 dim: 100000"), "layer 'in' (Input)");
  ExpectContains(input("dim: 1000000000000"), "layer 'in' (Input)");
}

TEST(NetBadInput, RefusesAnEmptyNet) {
  ExpectContains(ErrorOf([] { MakeNet("name: 'nothing'"); }), "the net 'nothing' has no layers");
  ExpectContains(ErrorOf([] { MakeNet("layer { name: 'a' include { phase: TRAIN } }"); }),
                 "has no layers in phase TEST: include and exclude rules leave out all 1");
  const string file = NewFile("");
  ExpectContains(ErrorOf([&] { Net<float>(file, TEST); }), file);
}

TEST(NetBadInput, RefusesCountsThatDoNotFit) {
  ExpectContains(Refusal("layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' "
                         "        propagate_down: true propagate_down: false }"),
                 "layer 'r' (ReLU): propagate_down is given 2 time(s) for 1 bottom(s)");
  ExpectContains(Refusal("layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' "
                         "        param { lr_mult: 1 } }"),
                 "param is given 1 times, and the layer has 0 parameter(s)");
  ExpectContains(Refusal("layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' "
                         "        loss_weight: 1 loss_weight: 2 }"),
                 "layer 'r' (ReLU): loss_weight");
  ExpectContains(Refusal("layer { name: 'r' type: 'ReLU' top: 'r' }"), "layer 'r' (ReLU)");
}

TEST(NetBadInput, NamesTheLayerThatFailsInAForwardPass) {
  const auto net = MakeNet(R"(
      layer { name: "data" type: "Input" top: "data" top: "label"
              input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "data" bottom: "label" top: "l" })");
  SetValues(net->input_blobs()[1], {0, 3});
  ExpectContains(ErrorOf([&] { net->Forward(); }), "layer 'loss' (SoftmaxWithLoss): label");
}

// --- random damage ------------------------------------------------------------------------------

const char kGoodNet[] = R"(name: "net"
layer { name: "data" type: "Input" top: "data" top: "label"
        input_param { shape { dim: 2 dim: 1 dim: 6 dim: 6 } shape { dim: 2 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" param { name: "w" lr_mult: 1 }
        convolution_param { num_output: 3 kernel_size: 3 stride: 1 pad: 1 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
        pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "sum" type: "Eltwise" bottom: "pool" bottom: "pool" top: "sum" }
layer { name: "ip" type: "InnerProduct" bottom: "sum" top: "ip"
        inner_product_param { num_output: 2 } forward_type: FLOAT16 }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

/// `text` with a word taken out, doubled, replaced by another word or by a number.
string Mutate(const string& text, std::mt19937* random) {
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_not_of(" \n", i);
    if (begin == string::npos) break;
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    words.emplace_back(begin, end - begin);
    i = end;
  }
  const auto pick = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(*random);
  };
  const auto word = words[pick(words.size())];
  const auto other = words[pick(words.size())];
  string result = text;
  const std::vector<string> replacements = {
      "",
      text.substr(word.first, word.second) + " " + text.substr(word.first, word.second),
      text.substr(other.first, other.second),
      "-1",
      "0",
      "7"};
  result.replace(word.first, word.second, replacements[pick(replacements.size())]);
  return result;
}

TEST(NetBadInput, SurvivesRandomDamage) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("seed ", seed));
  std::mt19937 random(seed);
  int built = 0;
  for (int i = 0; i < 400; ++i) {
    string text = kGoodNet;
    for (size_t mutations = 1 + random() % 2; mutations > 0; --mutations) {
      text = Mutate(text, &random);
    }
    try {
      const auto net = MakeNet(text, i % 2 ? TRAIN : TEST);
      ++built;
      net->Forward();
      if (i % 2) net->Backward();
    } catch (const Error& error) {
      EXPECT_NE(string(error.what()), "");
    }
  }
  EXPECT_GT(built, 0);
}

}  // namespace
}  // namespace caffe
