#include "caffe/inference/timing_cache.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/layer_text.hpp"
#include "caffe/inference/kernel_revision.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

TEST(TimingCache, KeepsTheLastTimeOfAKey) {
  TimingCache cache;
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(cache.Find("winograd 1x8x8x8").has_value());
  cache.Set("winograd 1x8x8x8", 12.5);
  cache.Set("winograd 1x8x8x8", 11);
  EXPECT_EQ(cache.Find("winograd 1x8x8x8"), 11.0);
  EXPECT_FALSE(cache.Find("winograd").has_value());
  EXPECT_EQ(cache.size(), 1u);
}

TEST(TimingCache, ReadsWhatItWrote) {
  TimingCache cache;
  const std::string keys[] = {"a", "a b  c", " begins with a blank", "\"quoted\" 3"};
  const double times[] = {0, 12.3456789012345678, 12.3456789012345696, 1e-300};
  for (int i = 0; i < 4; ++i) cache.Set(keys[i], times[i]);
  const std::string file = NewFileName();
  cache.Write(file);
  const TimingCache read(file);
  EXPECT_EQ(read.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(read.Find(keys[i]), times[i]) << "to the last bit";
  const std::string again = NewFileName();
  read.Write(again);
  EXPECT_EQ(ReadFile(again), ReadFile(file));
}

TEST(TimingCache, WritesTheDocumentedText) {
  TimingCache cache;
  cache.Set("direct 1x3", 2.5);
  const std::string file = NewFileName();
  cache.Write(file);
  EXPECT_EQ(ReadFile(file), "cortado timing cache 1\n2.5 direct 1x3\n");
}

TEST(CanonicalText, HasWhatALayerComputesInTheOrderOfNumbers) {
  const std::string one = CanonicalText(ParseLayer(
      "name: 'conv' type: 'Convolution' phase: TEST param { lr_mult: 2 } bottom: 'a' top: 'b' "
      "convolution_param { num_output: 8 kernel_size: 3 kernel_size: 5 bias_term: false "
      "weight_filler { type: 'xavier' } }"));
  EXPECT_EQ(one, "convolution_param:{num_output:8 bias_term:0 kernel_size:3 kernel_size:5}");
  EXPECT_EQ(CanonicalText(ParseLayer(
                "name: 'other' type: 'Convolution' convolution_param { bias_term: false "
                "bias_filler { type: 'constant' } kernel_size: 3 num_output: 8 kernel_size: 5 }")),
            one);
  EXPECT_EQ(CanonicalText(ParseLayer("name: 'x' type: 'Power' power_param { power: 0.1 } ")),
            "power_param:{power:0.100000001}");
  EXPECT_EQ(CanonicalText(ParseLayer("name: 'p' type: 'Python' python_param { module: 'm' "
                                     "layer: 'L' param_str: 'a \"b\"\\n\\\\' }")),
            "python_param:{module:\"m\" layer:\"L\" param_str:\"a \\34;b\\34;\\10;\\92;\"}");
}

TEST(KernelRevision, IsAHashForEachKindOfDevice) {
  for (const std::string revision : {CpuKernelRevision(), CudaKernelRevision()}) {
    EXPECT_EQ(revision.size(), 12u);
    EXPECT_EQ(revision.find_first_not_of("0123456789abcdef"), std::string::npos) << revision;
  }
  EXPECT_NE(std::string(CpuKernelRevision()), CudaKernelRevision());
  ExpectContains(cpu::CpuTarget().TimingKey(), CpuKernelRevision());
}

TEST(TimingCache, KeepsTimesWithAndWithoutOneDnnApart) {
  if (!onednn::Enabled()) GTEST_SKIP() << "oneDNN is off";
  const std::string with = cpu::CpuTarget().TimingKey();
  ExpectContains(with, std::string("oneDNN ") + onednn::Version());
  onednn::SetEnabled(false);
  const std::string without = cpu::CpuTarget().TimingKey();
  onednn::SetEnabled(true);
  EXPECT_NE(with, without);
}

TEST(TimingCache, IsEmptyWithoutAFile) {
  const std::string file = NewFileName();
  EXPECT_EQ(TimingCache(file).size(), 0u);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(TimingCache, NamesFileAndLineOfDamage) {
  const auto error = [](const std::string& text) {
    const std::string file = NewFile(text);
    const std::string message = ErrorOf([&] { TimingCache cache(file); });
    ExpectContains(message, file);
    return message;
  };
  ExpectContains(error(""), "it is no timing cache");
  ExpectContains(error("cortado timing cache 2\n"), "should be 'cortado timing cache 1'");
  const std::string head = "cortado timing cache 1\n1 good\n";
  for (const char* line : {"2", "2 ", "two key", "-1 key", "inf key", "nan key", "1key", ""}) {
    ExpectContains(error(head + line + "\n"), "line 3 is not 'MICROSECONDS KEY'");
  }
  EXPECT_EQ(TimingCache(NewFile(head)).size(), 1u);
}

TEST(TimingCache, RefusesWhatItsFileCouldNotSay) {
  TimingCache cache;
  ExpectContains(ErrorOf([&] { cache.Set("two\nlines", 1); }), "is a line of text");
  ExpectContains(ErrorOf([&] { cache.Set("", 1); }), "is a line of text");
  ExpectContains(ErrorOf([&] { cache.Set("key", -1); }), "'key' took -1");
  ExpectContains(ErrorOf([&] { cache.Set("key", NAN); }), "'key'");
  EXPECT_EQ(cache.size(), 0u);
}

TEST(TimingCache, LeavesTheOldFileWhereItCannotWrite) {
  const std::string file = NewFile("as it was");
  TimingCache cache;
  cache.Set(std::string(10000, 'k'), 1);
  const FileSizeLimit limit(1000);
  EXPECT_NE(ErrorOf([&] { cache.Write(file); }), "");
  EXPECT_EQ(ReadFile(file), "as it was");
}

}  // namespace
}  // namespace caffe::inference
