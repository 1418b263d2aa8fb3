#ifndef CAFFE_LAYERS_LAYER_SHAPES_HPP_
#define CAFFE_LAYERS_LAYER_SHAPES_HPP_

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/core/own_operation.hpp"
#include "caffe/operation.hpp"

// What layers that work along axes check alike.
namespace caffe {

/// `axis` in [-axes, axes) as a number in [0, axes); Error naming `field` ("tile_param: axis")
/// otherwise.
int CheckedAxis(const char* field, int axis, const Shape& bottom);

/// `extent`, Error naming `layer` if no blob can have it.
int CheckedExtent(const char* layer, int64_t extent);

/// The extent of an axis, 1 of one that the shape does not have.
inline int ExtentOrOne(const Shape& shape, size_t axis) {
  return axis < shape.size() ? shape[axis] : 1;
}

/// The product of the extents of axes [begin, end).
size_t CountOf(const Shape& shape, size_t begin, size_t end);

template <typename Dtype>
std::vector<Shape> ShapesOf(const std::vector<Blob<Dtype>*>& blobs) {
  std::vector<Shape> shapes;
  for (const Blob<Dtype>* blob : blobs) shapes.push_back(blob->shape());
  return shapes;
}

/// Gives the tops the shapes that the library's row of type `operation` says.
template <typename Dtype>
void ReshapeTops(const char* operation, const LayerParameter& layer,
                 const std::vector<Blob<Dtype>*>& bottom, const std::vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> shapes = OwnOperation(operation).top_shapes(layer, ShapesOf(bottom));
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes.at(i));
}

/// A factor (Scale) or summand (Bias) that covers some axes of a bottom and is repeated along the
/// others. `what` is "scale" or "bias".
class Broadcast {
 public:
  /// The shape of a parameter for `num_axes` axes of the bottom from `axis` on; -1: all of them,
  /// 0: one number.
  static Shape ParameterShape(const std::string& what, const Shape& bottom, int axis, int num_axes);

  Broadcast() = default;
  /// `operand` laid over the axes of `bottom` from `axis` on.
  Broadcast(const std::string& what, const Shape& bottom, const Shape& operand, int axis);

  int axis = 0;                               ///< the first axis that is covered
  int outer_dim = 0, dim = 0, inner_dim = 0;  ///< elements before, on and behind those axes
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_LAYER_SHAPES_HPP_
