#ifndef CAFFE_UTIL_SHAPE_TEXT_HPP_
#define CAFFE_UTIL_SHAPE_TEXT_HPP_

#include <string>
#include <vector>

namespace caffe {

/// "1x3x300x300", or with `by` between the extents, which may be any numbers; "scalar" for a shape
/// without axes. Blob::shape_string has Caffe's text.
template <typename Extent>
std::string ShapeText(const std::vector<Extent>& shape, const char* by = "x") {
  std::string text;
  for (const Extent extent : shape) text += (text.empty() ? "" : by) + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

/// "1x3x300x300, 1x3".
template <typename Extent>
std::string ShapesText(const std::vector<std::vector<Extent>>& shapes) {
  std::string text;
  for (const auto& shape : shapes) text += (text.empty() ? "" : ", ") + ShapeText(shape);
  return text;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_SHAPE_TEXT_HPP_
