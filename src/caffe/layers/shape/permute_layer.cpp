#include "caffe/layers/permute_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/transpose_layer.hpp"

namespace caffe {
namespace {

/// `order`, which names some axes of `bottom`, followed by the others.
template <typename Order>
vector<int> FullOrder(const char* field, const Order& order, const Shape& bottom) {
  vector<int> full;
  vector<bool> named(bottom.size(), false);
  for (const int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(bottom.size())) {
      Fail(field, " ", axis, " is out of range for a bottom of shape ", ShapeString(bottom));
    }
    Require(!named[axis], field, " ", axis, " is given twice");
    named[axis] = true;
    full.push_back(static_cast<int>(axis));
  }
  for (size_t axis = 0; axis < bottom.size(); ++axis) {
    if (!named[axis]) full.push_back(static_cast<int>(axis));
  }
  return full;
}

vector<int> PermuteOrder(const LayerParameter& layer, const Shape& bottom) {
  return FullOrder("permute_param: order", layer.permute_param().order(), bottom);
}

vector<int> TransposeOrder(const LayerParameter& layer, const Shape& bottom) {
  const TransposeParameter& param = layer.transpose_param();
  Require(param.dim_size() == static_cast<int>(bottom.size()), "transpose_param: dim is given ",
          param.dim_size(), " times: give it once for each axis of a bottom of shape ",
          ShapeString(bottom));
  return FullOrder("transpose_param: dim", param.dim(), bottom);
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

const bool registered = OperationTable::Add(Permutation("Permute", PermuteOrder)) &&
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
kernels::Strides PermuteLayer<Dtype>::BottomStrides(const Shape& bottom) const {
  const kernels::Strides strides = kernels::ContiguousStrides(bottom);
  kernels::Strides permuted;
  for (const int axis : Order(bottom)) permuted.push_back(strides[axis]);
  return permuted;
}

template <typename Dtype>
void PermuteLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(Permuted(bottom[0]->shape(), Order(bottom[0]->shape())));
}

template <typename Dtype>
void PermuteLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const Shape& shape = bottom[0]->shape();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::CopyStrided(top[0]->shape(), bottom[0]->template cpu_data_as<T>(),
                         BottomStrides(shape), top[0]->template overwrite_cpu_data_as<T>(),
                         kernels::ContiguousStrides(top[0]->shape()));
  });
}

template <typename Dtype>
void PermuteLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Shape& shape = bottom[0]->shape();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    kernels::CopyStrided(top[0]->shape(), top[0]->template cpu_diff_as<D>(),
                         kernels::ContiguousStrides(top[0]->shape()),
                         bottom[0]->template overwrite_cpu_diff_as<D>(), BottomStrides(shape));
  });
}

INSTANTIATE_CLASS(PermuteLayer);
REGISTER_LAYER_CLASS(Permute);
INSTANTIATE_CLASS(TransposeLayer);
REGISTER_LAYER_CLASS(Transpose);

}  // namespace caffe
