#ifndef CAFFE_UTIL_SVG_HPP_
#define CAFFE_UTIL_SVG_HPP_

#include <string>

// What pictures that programs of this library write (SVG) have in common.
namespace caffe {

/// The text with & < > " as entities; of control characters only tabs and ends of lines are left.
std::string SvgEscaped(const std::string& text);

/// The beginning of a picture of this size in pixels, white, with a title on top; "</svg>\n" ends
/// it.
std::string SvgBegin(int width, int height, const std::string& title);

}  // namespace caffe

#endif  // CAFFE_UTIL_SVG_HPP_
