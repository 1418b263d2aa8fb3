#include <gtest/gtest.h>

#include <string>

#include "caffe/util/text/printable.hpp"

namespace caffe {
namespace {

TEST(Printable, LeavesTextOfAnyLanguage) {
  const std::string text = "a b~\t\n\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x88 \xc2\xa0";
  EXPECT_EQ(text, Printable(text));
  EXPECT_EQ("", Printable(""));
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ("\\x1b[31m\\x00\\x0d\\x7f", Printable(std::string("\x1b[31m\0\r\x7f", 8)));
  EXPECT_EQ("\\xc2\\x9b", Printable("\xc2\x9b"));  // the one-byte form of ESC [
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ("caf\\xe9", Printable("caf\xe9"));     // Latin 1
  EXPECT_EQ("\\xe2\\x82", Printable("\xe2\x82"));  // cut off
  EXPECT_EQ("\\xc0\\xaf", Printable("\xc0\xaf"));  // overlong
  EXPECT_EQ("\\xe0\\x80\\xaf", Printable("\xe0\x80\xaf"));
  EXPECT_EQ("\\xed\\xa0\\x80", Printable("\xed\xa0\x80"));           // a surrogate
  EXPECT_EQ("\\xf4\\x90\\x80\\x80", Printable("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  EXPECT_EQ("\\xff\\x80", Printable("\xff\x80"));
}

}  // namespace
}  // namespace caffe
