// What plots have in common: texts that are not cut off, titles, legends.
#include "caffe/util/plot/svg.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/markup_check.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

TEST(ShortenedInTheMiddle, KeepsBothEnds) {
  EXPECT_EQ(ShortenedInTheMiddle("0123456789", 10), "0123456789");
  EXPECT_EQ(ShortenedInTheMiddle("0123456789", 9), "012...789");
  EXPECT_EQ(ShortenedInTheMiddle("0123456789", 8), "012...89");
}

TEST(ShortenedInTheMiddle, CutsNoLetterOfUtf8) {
  std::string letters;
  for (int i = 0; i < 10; ++i) letters += "\u00e9";  // two bytes each
  for (size_t most = 8; most < 20; ++most) {
    const std::string shortened = ShortenedInTheMiddle(letters, most);
    EXPECT_LE(shortened.size(), most);
    const size_t dots = shortened.find("...");
    ASSERT_NE(dots, std::string::npos);
    EXPECT_EQ(dots % 2, 0u) << most;
    EXPECT_EQ((shortened.size() - dots - 3) % 2, 0u) << most;
  }
}

TEST(SvgBegin, ShowsLongTitlesInTheTooltip) {
  const std::string title = "/a/long/folder/" + std::string(200, 'x') + "/net.prototxt: ranges";
  const std::string svg = SvgBegin(300, 100, title) + "</svg>";
  EXPECT_EQ(MarkupCheck(svg).error(), "");
  ExpectContains(svg, "<title>" + title + "</title>");
  ExpectContains(svg, "</title>/a/long/folder...ototxt: ranges</text>");
  EXPECT_EQ(SvgBegin(300, 100, "short").find("<title>"), std::string::npos);
}

TEST(SvgLegend, BreaksLinesWhereTheWidthEnds) {
  const std::vector<SvgKey> keys(3, {"<rect width=\"16\" height=\"10\"/>", "ten letters"});
  const SvgLegend wide(keys, 0, 0, 1000), narrow(keys, 0, 0, 50), none({}, 0, 0, 50);
  EXPECT_EQ(wide.height, 16);
  EXPECT_EQ(narrow.height, 3 * 16);
  EXPECT_EQ(none.height, 0);
  const MarkupCheck check(narrow.svg);
  EXPECT_EQ(check.error(), "");
  EXPECT_EQ(check.Count("rect"), 3u);
  ExpectContains(narrow.svg, "translate(0,32)");
}

}  // namespace
}  // namespace caffe
