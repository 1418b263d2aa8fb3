#include "layer_shapes.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>

namespace caffe {

int CheckedAxis(const char* field, int axis, const Shape& bottom) {
  const int axes = static_cast<int>(bottom.size());
  if (axis < -axes || axis >= axes) {
    const std::string name = field;
    const size_t message = std::min(name.find(':'), name.size());
    Fail(Error::Field{name.substr(0, message)}, name.substr(message), " ", axis,
         " is out of range for a bottom of shape ", ShapeString(bottom));
  }
  return axis < 0 ? axis + axes : axis;
}

int CheckedExtent(const char* layer, int64_t extent) {
  Require(extent <= INT_MAX, layer, ": an axis of the top would have ", extent,
          " entries, more than 2^31 - 1");
  return static_cast<int>(extent);
}

size_t CountOf(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + begin, shape.begin() + end, size_t(1),
                         std::multiplies<size_t>());
}

namespace {

int FirstAxis(const std::string& what, const Shape& bottom, int axis, size_t axes) {
  if (axes == 0) return 0;
  const int all = static_cast<int>(bottom.size()), first = axis < 0 ? axis + all : axis;
  if (first >= 0 && first + axes <= bottom.size()) return first;  // in each pass: no strings
  CheckedAxis((what + "_param: axis").c_str(), axis, bottom);
  Fail(Error::Field{what + "_param"}, ": a ", what, " of ", axes, " axes from axis ", first,
       " on does not fit a bottom of shape ", ShapeString(bottom));
}

}  // namespace

Shape Broadcast::ParameterShape(const std::string& what, const Shape& bottom, int axis,
                                int num_axes) {
  Require(num_axes >= -1, Error::Field{what + "_param"}, ": num_axes must be -1 or more, got ",
          num_axes);
  if (num_axes == 0) return Shape();
  const int first = FirstAxis(what, bottom, axis, num_axes == -1 ? 1 : num_axes);
  return Shape(bottom.begin() + first,
               num_axes == -1 ? bottom.end() : bottom.begin() + first + num_axes);
}

Broadcast::Broadcast(const std::string& what, const Shape& bottom, const Shape& operand, int axis)
    : axis(FirstAxis(what, bottom, axis, operand.size())) {
  Require(std::equal(operand.begin(), operand.end(), bottom.begin() + this->axis), "a ", what,
          " of shape ", ShapeString(operand), " does not fit axis ", this->axis,
          " of a bottom of shape ", ShapeString(bottom));
  outer_dim = static_cast<int>(CountOf(bottom, 0, this->axis));
  dim = static_cast<int>(CountOf(operand, 0, operand.size()));
  inner_dim = static_cast<int>(CountOf(bottom, this->axis + operand.size(), bottom.size()));
}

}  // namespace caffe
