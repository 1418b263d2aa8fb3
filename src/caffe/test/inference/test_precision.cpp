#include "caffe/inference/precision.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

TEST(Precision, HasANameAndAType) {
  const auto expect = [](Precision precision, const char* name, ElementType type) {
    EXPECT_STREQ(Name(precision), name);
    EXPECT_EQ(ParsePrecision(name), precision);
    EXPECT_EQ(StorageOf(precision), type);
  };
  expect(Precision::FP32, "fp32", ElementType::FLOAT);
  expect(Precision::FP16, "fp16", ElementType::FLOAT16);
  expect(Precision::BF16, "bf16", ElementType::BFLOAT16);
  expect(Precision::INT8, "int8", ElementType::INT8);
}

TEST(Precision, BestIsAChoiceAndNoType) {
  EXPECT_STREQ(Name(Precision::BEST), "best");
  EXPECT_EQ(ParsePrecision("best"), Precision::BEST);
  ExpectContains(ErrorOf([] { StorageOf(Precision::BEST); }), "best is no type");
}

TEST(Precision, IsReadInAnyCase) {
  EXPECT_EQ(ParsePrecision("FP16"), Precision::FP16);
  EXPECT_EQ(ParsePrecision("Int8"), Precision::INT8);
}

TEST(Precision, ListsTheNamesForAnotherOne) {
  for (const char* name : {"", "fp8", "fp32 ", "float"}) {
    ExpectContains(
        ErrorOf([&] { ParsePrecision(name); }),
        std::string("there is no precision '") + name + "': give fp32, fp16, bf16, int8 or best");
  }
}

}  // namespace
}  // namespace caffe::inference
