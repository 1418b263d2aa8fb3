#ifndef CAFFE_UTIL_SVG_HPP_
#define CAFFE_UTIL_SVG_HPP_

#include <string>
#include <vector>

// What images that programs of this library write (SVG) have in common. Lengths are in pixels.
namespace caffe {

/// The text with & < > " as entities; of control characters only tabs and ends of lines are left.
std::string SvgEscaped(const std::string& text);

/// The text (UTF-8) without its middle if it has more than `most` bytes, 8 or more: "first...last".
std::string ShortenedInTheMiddle(const std::string& text, size_t most);

/// A text element with these attributes; what is longer than `most` bytes is shortened in the
/// middle, and a tooltip has all of it.
std::string SvgText(double x, double y, const std::string& attributes, const std::string& text,
                    size_t most);

/// The beginning of an image of this size, white, with a title on top, which is shortened in the
/// middle where it is too long; "</svg>\n" ends it.
std::string SvgBegin(int width, int height, const std::string& title);

/// An entry of a legend.
struct SvgKey {
  std::string mark;  ///< SVG in the rectangle from (0, 0) to (16, 10)
  std::string text;  ///< what it stands for
};

/// Entries of a legend side by side, in as many lines as they need.
struct SvgLegend {
  /// (x, y) is the upper left corner; lines are 16 high and, unless an entry is, no wider than
  /// `width`.
  SvgLegend(const std::vector<SvgKey>& keys, double x, double y, double width);

  std::string svg;
  double height = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_SVG_HPP_
