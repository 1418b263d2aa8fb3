#include "caffe/layers/slice_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"
#include "on_host.hpp"
#include "rows.hpp"

namespace caffe {
namespace {

int SliceAxis(const SliceParameter& param, const Shape& bottom) {
  Require(!(param.has_axis() && param.has_slice_dim()), Error::Field{"slice_param"},
          Error::Remedy{"give axis or slice_dim (its old name), not both"});
  return param.has_slice_dim()
             ? CheckedAxis("slice_param: slice_dim", static_cast<int>(param.slice_dim()), bottom)
             : CheckedAxis("slice_param: axis", param.axis(), bottom);
}

/// The extents of the tops on the axis that is cut and has `extent`.
std::vector<int> Parts(const SliceParameter& param, int axis, int extent, int tops) {
  Require(tops > 0, "Slice takes at least 1 top blob(s), not ", tops);
  const int points = param.slice_point_size();
  if (points == 0) {
    Require(extent % tops == 0, Error::Field{"slice_param"}, ": the extent ", extent, " of axis ",
            axis, " cannot be cut into ", tops, " equal parts: give slice_point ", tops - 1,
            " times");
    return std::vector<int>(tops, extent / tops);
  }
  Require(points == tops - 1, Error::Field{"slice_param"}, ": slice_point is given ", points,
          " times for ", tops, " tops: give it ", tops - 1, " times, or not at all");
  std::vector<int> parts;
  unsigned begin = 0;
  for (const unsigned point : param.slice_point()) {
    Require(point > begin && point < static_cast<unsigned>(extent), Error::Field{"slice_param"},
            ": slice_point ", point, " must be greater than ", begin, " and less than the extent ",
            extent, " of axis ", axis);
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

std::vector<Shape> TopShapesOfSlice(const LayerParameter& layer,
                                    const std::vector<Shape>& bottoms) {
  return SliceShapes(layer.slice_param(), bottoms.at(0), layer.top_size());
}

const bool slice_registered = OperationTable::Add(Operation("Slice")
                                                      .Shapes(TopShapesOfSlice)
                                                      .BackwardReads(Operation::kNothing)
                                                      .Native()
                                                      .Homogeneous()
                                                      .TypeAgnostic());

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
    const PlainRows rows(slice_axis_, slice_axis_ == 1 && AnyChannelsLast<T>(bottom));
    CutRows<OnHost, T>(rows, Side::DATA, *bottom[0], vector<bool>(top.size(), true), top);
  });
}

template <typename Dtype>
void SliceLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    const PlainRows rows(slice_axis_, slice_axis_ == 1 && AnyChannelsLast<T>(bottom));
    JoinRows<OnHost, decltype(diff_tag)>(rows, Side::DIFF, top, *bottom[0]);
  });
}

INSTANTIATE_CLASS(SliceLayer);
REGISTER_LAYER_CLASS(Slice);

}  // namespace caffe
