// How numbers are written.
#include "caffe/util/text/text_table.hpp"

#include <gtest/gtest.h>

namespace caffe {
namespace {

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
