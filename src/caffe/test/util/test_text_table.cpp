// How tables and numbers are written.
#include "caffe/util/text/text_table.hpp"

#include <gtest/gtest.h>

#include "caffe/util/string_stream.hpp"

namespace caffe {
namespace {

std::string Printed(const std::vector<std::string>& names) {
  TextTable table({"layer", "ms"}, 1);
  for (const std::string& name : names) table.Add({name, "1"});
  StringWriter out;
  table.Print(out);
  return out.str();
}

TEST(TextTable, LinesUpWhatATerminalShowsOfUtf8) {
  EXPECT_EQ(Printed({"conv1", "\xc3\xa9", "\xe6\xbc\xa2\xe5\xad\x97", "e\xcc\x81"}),
            "layer  ms\n"
            "conv1   1\n"
            "\xc3\xa9       1\n"
            "\xe6\xbc\xa2\xe5\xad\x97    1\n"  // two columns each
            "e\xcc\x81       1\n");            // an accent on the e
}

TEST(TextTable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printed({"a\x1b[2J", "b\n\t\xff"}),
            "layer          ms\n"
            "a\\x1b[2J        1\n"
            "b\\x0a\\x09\\xff   1\n");
}

TEST(TextTable, WritesBytesInThreeDigits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1000), "0.977 KB");
  EXPECT_EQ(BytesText(1536), "1.5 KB");
  EXPECT_EQ(BytesText(102 << 20), "102 MB");
  EXPECT_EQ(BytesText(size_t(3) << 30), "3 GB");
}

TEST(TextTable, WritesBytesWithoutExponents) {
  EXPECT_EQ(BytesText((999 << 10) + 400), "999 KB");
  EXPECT_EQ(BytesText((999 << 10) + 600), "0.976 MB");
  EXPECT_EQ(BytesText(size_t(5000) << 30), "5000 GB");
}

}  // namespace
}  // namespace caffe
