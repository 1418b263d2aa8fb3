#include "caffe/layers/reverse_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/flip_layer.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

vector<int> ReverseAxes(const LayerParameter& layer, const Shape& bottom) {
  return {CheckedAxis("reverse_param: axis", layer.reverse_param().axis(), bottom)};
}

vector<int> FlipAxes(const LayerParameter& layer, const Shape& bottom) {
  const FlipParameter& param = layer.flip_param();
  Require(bottom.size() == 4, "Flip takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  vector<int> axes;
  if (param.flip_height()) axes.push_back(2);
  if (param.flip_width()) axes.push_back(3);
  return axes;
}

Operation Reversal(const char* type, vector<int> (*axes)(const LayerParameter&, const Shape&)) {
  return Operation(type)
      .Shapes([axes](const LayerParameter& layer, const std::vector<Shape>& bottoms) {
        axes(layer, bottoms.at(0));
        return bottoms;
      })
      .BackwardReads(Operation::kNothing)
      .Native()
      .Homogeneous()
      .TypeAgnostic();
}

const bool reverse_registered = OperationTable::Add(Reversal("Reverse", ReverseAxes)) &&
                                OperationTable::Add(Reversal("Flip", FlipAxes));

}  // namespace

template <typename Dtype>
vector<int> ReverseLayer<Dtype>::Axes(const Shape& bottom) const {
  return ReverseAxes(this->layer_param_, bottom);
}

template <typename Dtype>
vector<int> FlipLayer<Dtype>::Axes(const Shape& bottom) const {
  return FlipAxes(this->layer_param_, bottom);
}

// Along Axes() the first of the top is the last of the bottom.
template <typename Dtype>
vector<StridedPart> ReverseLayer<Dtype>::Parts(const vector<Shape>& bottoms,
                                               const Shape& top) const {
  StridedPart part = StridedPart::WholeTop(top, kernels::ContiguousStrides(top));
  for (const int axis : Axes(bottoms[0])) {
    part.first_in_bottom += (top[axis] - 1) * part.in_bottom[axis];
    part.in_bottom[axis] = -part.in_bottom[axis];
  }
  return {part};
}

INSTANTIATE_CLASS(ReverseLayer);
REGISTER_LAYER_CLASS(Reverse);
INSTANTIATE_CLASS(FlipLayer);
REGISTER_LAYER_CLASS(Flip);

}  // namespace caffe
