#include "caffe/layers/permute_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/transpose_layer.hpp"

namespace caffe {
namespace {

/// `order`, which names some axes of `bottom`, followed by the others.
template <typename Order>
vector<int> FullOrder(const char* param, const char* name, const Order& order,
                      const Shape& bottom) {
  vector<int> full;
  vector<bool> named(bottom.size(), false);
  for (const int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(bottom.size())) {
      Fail(Error::Field{param}, ": ", name, " ", axis, " is out of range for a bottom of shape ",
           ShapeString(bottom));
    }
    Require(!named[axis], Error::Field{param}, ": ", name, " ", axis, " is given twice");
    named[axis] = true;
    full.push_back(static_cast<int>(axis));
  }
  for (size_t axis = 0; axis < bottom.size(); ++axis) {
    if (!named[axis]) full.push_back(static_cast<int>(axis));
  }
  return full;
}

vector<int> PermuteOrder(const LayerParameter& layer, const Shape& bottom) {
  return FullOrder("permute_param", "order", layer.permute_param().order(), bottom);
}

vector<int> TransposeOrder(const LayerParameter& layer, const Shape& bottom) {
  const TransposeParameter& param = layer.transpose_param();
  Require(param.dim_size() == static_cast<int>(bottom.size()), Error::Field{"transpose_param"},
          ": dim is given ", param.dim_size(),
          " times: give it once for each axis of a bottom of shape ", ShapeString(bottom));
  return FullOrder("transpose_param", "dim", param.dim(), bottom);
}

Shape Permuted(const Shape& bottom, const vector<int>& order) {
  Shape top;
  for (const int axis : order) top.push_back(bottom[axis]);
  return top;
}

Operation Permutation(const char* type, vector<int> (*order)(const LayerParameter&, const Shape&)) {
  return Operation(type)
      .Shapes([order](const LayerParameter& layer, const std::vector<Shape>& bottoms) {
        return std::vector<Shape>{Permuted(bottoms.at(0), order(layer, bottoms[0]))};
      })
      .BackwardReads(Operation::kNothing)
      .Native()
      .Homogeneous()
      .TypeAgnostic();
}

const bool permute_registered = OperationTable::Add(Permutation("Permute", PermuteOrder)) &&
                                OperationTable::Add(Permutation("Transpose", TransposeOrder));

}  // namespace

template <typename Dtype>
vector<int> PermuteLayer<Dtype>::Order(const Shape& bottom) const {
  return PermuteOrder(this->layer_param_, bottom);
}

template <typename Dtype>
vector<int> TransposeLayer<Dtype>::Order(const Shape& bottom) const {
  return TransposeOrder(this->layer_param_, bottom);
}

template <typename Dtype>
vector<StridedPart> PermuteLayer<Dtype>::Parts(const vector<Shape>& bottoms,
                                               const Shape& top) const {
  const kernels::Strides strides = kernels::ContiguousStrides(bottoms[0]);
  kernels::Strides permuted;
  for (const int axis : Order(bottoms[0])) permuted.push_back(strides[axis]);
  return {StridedPart::WholeTop(top, permuted)};
}

INSTANTIATE_CLASS(PermuteLayer);
REGISTER_LAYER_CLASS(Permute);
INSTANTIATE_CLASS(TransposeLayer);
REGISTER_LAYER_CLASS(Transpose);

}  // namespace caffe
