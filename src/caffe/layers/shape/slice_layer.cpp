#include "caffe/layers/slice_layer.hpp"

#include <cstring>

namespace caffe {
namespace {

int SliceAxis(const SliceParameter& param, const Shape& bottom) {
  Require(!(param.has_axis() && param.has_slice_dim()),
          "slice_param: give axis or slice_dim (its old name), not both");
  const int axes = static_cast<int>(bottom.size());
  const int axis = param.has_slice_dim() ? static_cast<int>(param.slice_dim()) : param.axis();
  Require(axis >= -axes && axis < axes,
          "slice_param: ", param.has_slice_dim() ? "slice_dim" : "axis", " ", axis,
          " is out of range for a bottom of shape ", ShapeString(bottom));
  return axis < 0 ? axis + axes : axis;
}

/// The extents of the tops on the axis that is cut and has `extent`.
std::vector<int> Parts(const SliceParameter& param, int axis, int extent, int tops) {
  Require(tops > 0, "Slice takes at least 1 top blob(s), not ", tops);
  const int points = param.slice_point_size();
  if (points == 0) {
    Require(extent % tops == 0, "slice_param: the extent ", extent, " of axis ", axis,
            " cannot be cut into ", tops, " equal parts: give slice_point ", tops - 1, " times");
    return std::vector<int>(tops, extent / tops);
  }
  Require(points == tops - 1, "slice_param: slice_point is given ", points, " times for ", tops,
          " tops: give it ", tops - 1, " times, or not at all");
  std::vector<int> parts;
  unsigned begin = 0;
  for (const unsigned point : param.slice_point()) {
    Require(point > begin && point < static_cast<unsigned>(extent), "slice_param: slice_point ",
            point, " must be greater than ", begin, " and less than the extent ", extent,
            " of axis ", axis);
    parts.push_back(static_cast<int>(point - begin));
    begin = point;
  }
  parts.push_back(extent - static_cast<int>(begin));
  return parts;
}

std::vector<Shape> SliceShapes(const SliceParameter& param, const Shape& bottom, int tops) {
  const int axis = SliceAxis(param, bottom);
  std::vector<Shape> shapes(tops, bottom);
  const std::vector<int> parts = Parts(param, axis, bottom[axis], tops);
  for (int i = 0; i < tops; ++i) shapes[i][axis] = parts[i];
  return shapes;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return SliceShapes(layer.slice_param(), bottoms.at(0), layer.top_size());
}

const bool registered = OperationTable::Add(Operation("Slice")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

/// Copies `rows` pieces of `length` elements from each `from_stride` to each `to_stride`.
template <typename T>
void CopyRows(size_t rows, size_t length, const T* from, size_t from_stride, T* to,
              size_t to_stride) {
  for (size_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, length * sizeof(T));
  }
}

}  // namespace

template <typename Dtype>
void SliceLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const SliceParameter& param = this->layer_param_.slice_param();
  const Shape& shape = bottom[0]->shape();
  slice_axis_ = SliceAxis(param, shape);
  const std::vector<Shape> shapes = SliceShapes(param, shape, static_cast<int>(top.size()));
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes[i]);
}

template <typename Dtype>
void SliceLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    const size_t row = bottom[0]->count(slice_axis_);
    for (Blob<Dtype>* blob : top) {
      const size_t part = blob->count(slice_axis_);
      CopyRows(blob->count(0, slice_axis_), part, x, row, blob->template overwrite_cpu_data_as<T>(),
               part);
      x += part;
    }
  });
}

template <typename Dtype>
void SliceLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    const size_t row = bottom[0]->count(slice_axis_);
    for (const Blob<Dtype>* blob : top) {
      const size_t part = blob->count(slice_axis_);
      CopyRows(blob->count(0, slice_axis_), part, blob->template cpu_diff_as<D>(), part, dx, row);
      dx += part;
    }
  });
}

INSTANTIATE_CLASS(SliceLayer);
REGISTER_LAYER_CLASS(Slice);

}  // namespace caffe
