#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>

#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {
namespace {

std::string ErrorOfText(const std::string& text) {
  return ErrorOf([&] {
    NetParameter net;
    ParseProtoText(text, "net.prototxt", &net);
  });
}

TEST(ProtoText, NamesLineColumnAndNearestFieldsOfAnUnknownOne) {
  const std::string message = ErrorOfText("name: 'a'\nlayer {\n  botom: 'data'\n}\n");
  ExpectContains(message, "net.prototxt:3:8: ");
  ExpectContains(message, "no field named \"botom\"");
  ExpectContains(message, "nearest fields of LayerParameter are bottom");
}

TEST(ProtoText, FindsWhereAFieldBelongs) {
  ExpectContains(ErrorOfText("layer { kernel_size: 3 }"),
                 "there is a kernel_size in convolution_param, pooling_param");
  ExpectContains(ErrorOfText("base_lr: 0.1"), "base_lr is a field of SolverParameter");
}

TEST(ProtoText, ListsTheValuesOfAnEnum) {
  const std::string message = ErrorOfText("layer { pooling_param { pool: MAXIMUM } }");
  ExpectContains(message, "MAXIMUM");
  ExpectContains(message, "it may be AVE, MAX, STOCHASTIC");
  // Other messages have a field of that name, with other values.
  ExpectContains(ErrorOfText("layer { eltwise_param {\n\toperation: ADD } }"),
                 "it may be MAX, PROD, SUM");
}

TEST(ProtoText, ListsOfTheTypesThoseThatLayersComputeIn) {
  const std::string listed = "; it may be FLOAT, FLOAT16, DOUBLE";
  ExpectContains(ErrorOfText("default_forward_type: HALF") + "\n", listed + "\n");
  ExpectContains(ErrorOfText("layer { backward_type: HALF }") + "\n", listed + "\n");
  ExpectContains(ErrorOfText("layer { backward_math: HALF }") + "\n",
                 "; it may be FLOAT, FLOAT16, BFLOAT16, DOUBLE\n");
  ExpectContains(ErrorOfText("layer { blobs { raw_data_type: HALF } }"), "INT, UINT");
}

TEST(ProtoText, NamesTheNearestOfManyValues) {
  ExpectContains(ErrorOfText("layers { type: CONVOLUTON }"), "nearest values are CONVOLUTION");
}

TEST(ProtoText, ExplainsTheTwoWaysOfWritingTypes) {
  ExpectContains(ErrorOfText("layer { type: CONVOLUTION }"), "\"Convolution\"");
  ExpectContains(ErrorOfText("layers { type: 'Convolution' }"), "CONVOLUTION");
}

TEST(ProtoText, NamesTheBlockThatIsNotClosed) {
  const std::string message =
      ErrorOfText("name: 'a' # {\nlayer {\n  name: '}'\n  pooling_param {\n    pad: 1\n  }\n\n");
  ExpectContains(message, "the block opened in line 2 ('layer {') is not closed");
}

TEST(ProtoText, NamesABraceTooMany) {
  ExpectContains(ErrorOfText("layer { name: 'a' }\n}\n"), "net.prototxt:2:1: ");
  ExpectContains(ErrorOfText("layer { name: 'a' }\n}\n"), "one '}' too many");
}

TEST(ProtoText, RejectsASingleFieldGivenTwice) {
  ExpectContains(ErrorOfText("name: 'a' name: 'b'"), "remove all but one");
}

TEST(ProtoText, SkipsUnknownFieldsWhenAsked) {
  set_ignore_unknown_fields(true);
  NetParameter net;
  EXPECT_NO_THROW(ParseProtoText("name: 'a' layer { frob { x: 1 } name: 'b' }", "net", &net));
  set_ignore_unknown_fields(false);
  EXPECT_EQ("b", net.layer(0).name());
  EXPECT_THROW(ParseProtoText("frob: 1", "net", &net), Error);
}

/// Fields that the schema has not, skipped while this object lives.
struct UnknownFieldsIgnored {
  UnknownFieldsIgnored() { set_ignore_unknown_fields(true); }
  ~UnknownFieldsIgnored() { set_ignore_unknown_fields(false); }
};

TEST(ProtoText, NamesFileLineAndFieldOfWhatItSkips) {
  const UnknownFieldsIgnored scope;
  CapturedLog log;
  NetParameter net;
  ParseProtoText("name: 'a'\nfrob: 1\nlayer {\n  name: 'b' frob_param { x: 1 }\n}\n",
                 "net.prototxt", &net);
  EXPECT_EQ(
      log.lines(),
      (std::vector<std::string>{
          "net.prototxt:2:5: Message type \"caffe.NetParameter\" has no field named \"frob\".",
          "net.prototxt:4:24: Message type \"caffe.LayerParameter\" has no field named "
          "\"frob_param\"."}));
  SolverParameter solver;
  ParseProtoText("base_lr: 0.1 frob_lr: 2", "solver.prototxt", &solver);
  EXPECT_TRUE(log.HasPrefix("solver.prototxt:1:21: "));
  EXPECT_FLOAT_EQ(solver.base_lr(), 0.1f);
}

// Whatever stands in it: what follows is read.
TEST(ProtoText, SkipsTheWholeOfAnUnknownField) {
  const UnknownFieldsIgnored scope;
  for (const char* unknown :
       {"frob: 1", "frob: -1.5e3", "frob: -inf", "frob: NAME", "frob: 'text' 'in parts'",
        "frob: [1, -2, 3]", "frob { }", "frob: { x: 1 }", "frob < x: '}' y: '>' >",
        "frob { frob { frob: [ { x: 1 }, { x: 2 } ] } # }\n }", "frob { [some.extension]: 2 }"}) {
    NetParameter net;
    const std::string text = std::string("layer { ") + unknown + " name: 'b' } name: 'a'";
    EXPECT_EQ(ErrorOf([&] { ParseProtoText(text, "net", &net); }), "") << unknown;
    EXPECT_EQ(net.name(), "a") << unknown;
    EXPECT_EQ(net.layer(0).name(), "b") << unknown;
  }
}

// It decides what a layer computes: another one than the default would be a wrong net.
TEST(ProtoText, RefusesUnknownValuesOfKnownFieldsAllTheSame) {
  const UnknownFieldsIgnored scope;
  NetParameter net;
  ExpectContains(
      ErrorOf([&] { ParseProtoText("layer { pooling_param { pool: MEDIAN } }", "net", &net); }),
      "MEDIAN");
}

TEST(ProtoText, BoundsTheDepthOfUnknownBlocks) {
  std::string text;
  for (int i = 0; i < 1000000; ++i) text += "a{";
  set_ignore_unknown_fields(true);
  NetParameter net;
  EXPECT_THROW(ParseProtoText(text, "net", &net), Error);
  set_ignore_unknown_fields(false);
}

TEST(ProtoText, OfMoreBytesThanTheLimitIsRefused) {
  const LimitsScope scope("read_bytes=100");
  const std::string name = NewFile("name: '" + std::string(100, 'x') + "'");
  NetParameter net;
  ExpectContains(ErrorOf([&] { ReadProtoFromTextFileOrDie(name, &net); }),
                 name + ": the text asks for 108 bytes, and the limit (read_bytes) is 100 bytes");
  // What does not end is not read to its end.
  ExpectContains(ErrorOf([&] { ReadProtoFromTextFileOrDie("/dev/zero", &net); }),
                 "/dev/zero: what is read asks for 1 MiB");
  ExpectContains(ErrorOf([&] { ReadTextFile("/dev/zero"); }), "/dev/zero: the text asks for");
  ExpectContains(ErrorOf([&] { limits::CheckTextFile("/dev/zero"); }),
                 "/dev/zero: is a device, not a text file");
  ExpectContains(ErrorOf([&] { limits::CheckTextFile(name); }),
                 name + ": the text asks for 108 bytes");
  limits::CheckTextFile("/no/such/file");
}

TEST(ProtoText, DamagedTextIsAnErrorOrReadsBackTheSame) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(caffe::Join("seed ", seed));
  std::mt19937 random(seed);
  const std::string whole =
      "name: 'a' # comment\nlayer {\n  name: \"b\\n\" pooling_param { pool: MAX pad: 1 }\n}\n"
      "layers < type: CONVOLUTION blobs_lr: [1, 2e3] >\n";
  const std::string characters = "{}<>[]:;,#'\"\\\n a0-";
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = whole;
    for (int changes = 1 + random() % 4; changes > 0; --changes) {
      damaged[random() % damaged.size()] = characters[random() % characters.size()];
    }
    NetParameter read, again;
    const std::string error = ErrorOf([&] { ParseProtoText(damaged, "net.prototxt", &read); });
    if (!error.empty()) {
      ExpectContains(error, "net.prototxt");
      continue;
    }
    ParseProtoText(read.DebugString(), "again", &again);
    EXPECT_EQ(again.SerializeAsString(), read.SerializeAsString()) << damaged;
  }
}

TEST(ProtoText, ReadsIntelsNamesOfEngines) {
  NetParameter net;
  ParseProtoText("layer { convolution_param { engine: MKLDNN } engine: 'MKL2017' }", "net", &net);
  EXPECT_EQ(ConvolutionParameter::ONEDNN, net.layer(0).convolution_param().engine());
}

TEST(ProtoText, SaysWhatIsWrongWithAFile) {
  NetParameter net;
  const auto read = [&](const std::string& name) {
    return ErrorOf([&] { ReadProtoFromTextFileOrDie(name, &net); });
  };
  ExpectContains(read("/no/such/file.prototxt"),
                 "/no/such/file.prototxt: cannot be opened (No such");
  ExpectContains(read("/"), "/: is a directory");
  ExpectContains(read(NewFile("")), "the file is empty");
  ExpectContains(read(NewFile(std::string("\n\5lenet\242\6\4\n\2a\0", 14))), "byte 1 is no text");
  ExpectContains(read(NewFile(std::string(5000, '#') + '\1')), "byte 5000 is no text");
  ExpectContains(read(NewFile("\x89HDF\r\n\x1a\n....")), "an HDF5 file");
  ExpectContains(read(NewFile("version https://git-lfs.github.com/spec/v1\n")), "git lfs pull");
  ExpectContains(read(NewFile("<!DOCTYPE html><html></html>")), "a web page");
  EXPECT_FALSE(ReadProtoFromTextFile("/no/such/file.prototxt", &net));
}

TEST(ProtoText, SkipsAByteOrderMark) {
  NetParameter net;
  ASSERT_TRUE(ReadProtoFromTextFile(NewFile("\xef\xbb\xbfname: 'a'"), &net));
  EXPECT_EQ("a", net.name());
}

TEST(ProtoText, ReadsWhatItWrites) {
  NetParameter net;
  net.set_name("lenet");
  net.add_layer()->set_forward_type(FLOAT16);
  net.mutable_layer(0)->mutable_clip_param()->set_min(1);  // max, which is required, is missing
  const std::string name = NewFileName();
  net.mutable_layer(0)->mutable_clip_param()->set_max(2);
  WriteProtoToTextFile(net, name);
  NetParameter read;
  ReadProtoFromTextFileOrDie(name, &read);
  EXPECT_EQ(net.DebugString(), read.DebugString());
  ExpectContains(ReadFile(name), "forward_type: FLOAT16");
}

TEST(ProtoText, ReportsARequiredFieldThatIsMissing) {
  ExpectContains(ErrorOfText("layer { clip_param { min: 1 } }"), "max");
}

TEST(AtomicFile, ReplacesOnlyWhenCommitted) {
  const std::string name = NewFile("old");
  {
    AtomicFile file(name);
    file.Write("new", 3);
  }
  EXPECT_EQ("old", ReadFile(name));
  AtomicFile file(name);
  file.Write("ne", 2);
  file.Write("w", 1);
  EXPECT_EQ("old", ReadFile(name));
  file.Commit();
  EXPECT_EQ("new", ReadFile(name));
  EXPECT_EQ(3u, file.size());
}

// Of a process that was killed; nothing that others write or that only looks like it.
TEST(AtomicFile, RemovesWhatKilledWritersLeft) {
  const std::string folder = NewFolder() + "/";
  AtomicFile alive(folder + "alive");
  const auto make = [&](const std::string& name) {
    std::ofstream(folder + name) << "half";
    return folder + name;
  };
  const std::string left = make("new.tmp.123.0"), young = make("new.tmp.124.1");
  const std::string others[] = {make("other.tmp.123.0"), make("new.tmp"), make("new.tmp.1"),
                                make("new.123.0"), make("new.tmp.1.x")};
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path() != young) std::filesystem::last_write_time(entry.path(), long_ago);
  }
  AtomicFile(folder + "new").Commit();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(young));
  for (const std::string& other : others) EXPECT_TRUE(std::filesystem::exists(other)) << other;
  alive.Write("x", 1);
  alive.Commit();
  EXPECT_EQ(ReadFile(folder + "alive"), "x");
  std::filesystem::remove_all(folder);
}

TEST(AtomicFile, LeavesTheOldFileWhenThereIsNoSpace) {
  const std::string name = NewFile("old");
  BlobProto blob;
  for (int i = 0; i < 1000000; ++i) blob.add_data(i);
  std::string message;
  {
    FileSizeLimit limit(100000);
    message = ErrorOf([&] { WriteProtoToBinaryFile(blob, name); });
  }
  ExpectContains(message, name + ": writing failed");
  ExpectContains(message, "free space");
  EXPECT_EQ("old", ReadFile(name));
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(name).parent_path())) {
    files += entry.exists();
  }
  EXPECT_EQ(1, files) << "a temporary file was left";
}

TEST(AtomicFile, ReportsADeviceThatIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  NetParameter net;
  net.set_name("a");
  ExpectContains(ErrorOf([&] { WriteProtoToTextFile(net, "/dev/full"); }), "/dev/full: writing");
}

TEST(AtomicFile, NamesTheDirectoryThatIsMissing) {
  ExpectContains(ErrorOf([] { AtomicFile file("/no/such/place/a.caffemodel"); }),
                 "create the directory /no/such/place first");
}

TEST(AtomicFile, AsksForNoDirectoryThatIsThere) {
  if (!std::filesystem::exists("/proc/self")) GTEST_SKIP() << "no /proc";
  const std::string message = ErrorOf([] { AtomicFile file("/proc/x.caffemodel"); });
  ExpectContains(message, "/proc/x.caffemodel: cannot be written (");
  EXPECT_EQ(std::string::npos, message.find("create the directory")) << message;
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  const std::string name = NewFile("old");
  const std::string link = name + ".link";
  std::filesystem::create_symlink(name, link);
  AtomicFile file(link);
  file.Write("new", 3);
  file.Commit();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ("new", ReadFile(name));
}

}  // namespace
}  // namespace caffe
