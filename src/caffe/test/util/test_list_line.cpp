#include "caffe/util/text/list_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace caffe {
namespace {

TEST(SplitListLine, AtTheLastWhiteSpace) {
  const auto both = SplitListLine("a folder/cat.jpg \t 3");
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->path, "a folder/cat.jpg");
  EXPECT_EQ(both->rest, "3");
  EXPECT_FALSE(SplitListLine("cat.jpg").has_value());
  EXPECT_EQ(SplitListLine(" 3")->path, "");
}

TEST(ParseWholeNumber, TakesAllOfTheText) {
  int number = 0;
  for (const char* good : {"-1", "+3", "0", "007", "2147483647", "-2147483648"}) {
    EXPECT_TRUE(ParseWholeNumber(good, &number)) << good;
    EXPECT_EQ(number, std::stoi(good));
  }
  for (const char* bad : {"", "-", "+", "--1", "1-", "1.5", "0x1", " 1", "1 ", "cat", "2147483648",
                          "99999999999999999999"}) {
    EXPECT_FALSE(ParseWholeNumber(bad, &number)) << bad;
  }
}

TEST(ParseLabel, CutsFractions) {
  const std::pair<const char*, int> good[] = {{"3", 3},     {"0.5", 0}, {"7.0", 7}, {"-1.9", -1},
                                              {"+2.75", 2}, {"3.", 3},  {".5", 0},  {"-.5", 0}};
  for (const auto& [text, whole] : good) {
    int label = 99;
    EXPECT_TRUE(ParseLabel(text, "list", &label)) << text;
    EXPECT_EQ(label, whole) << text;
  }
  int label = 0;
  for (const char* bad : {"", ".", "-.", "cat", "1.png", "0.5.1", "1.5e3", "1e3", "nan", "+-.5",
                          "2147483648.5", "1. 5"}) {
    EXPECT_FALSE(ParseLabel(bad, "list", &label)) << bad;
  }
}

}  // namespace
}  // namespace caffe
