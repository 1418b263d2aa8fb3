#ifndef CAFFE_LAYERS_RESIZE_RESIZING_HPP_
#define CAFFE_LAYERS_RESIZE_RESIZING_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/kernels/resize.hpp"
#include "caffe/operation.hpp"

namespace caffe {

/// How a bottom of these extents is resized: height and width.
struct Resizing {
  kernels::ResizeAxis h, w;
};

/// The top shapes of a resizing layer, for the operation table.
inline std::vector<Shape> ResizedShapes(const Shape& bottom, const Resizing& resizing) {
  Shape top = bottom;
  top[top.size() - 2] = resizing.h.output();
  top[top.size() - 1] = resizing.w.output();
  return {top};
}

/// The height and width that are wanted of a top for this bottom, whose last two axes they replace.
/// Throws Error that names `parameter` unless both are at least 1 and an int counts the top's
/// elements.
struct ResizedExtents {
  ResizedExtents(const char* parameter, const Shape& bottom, double height, double width);
  int height, width;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_RESIZE_RESIZING_HPP_
