#include "caffe/util/text/list_line.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace caffe
