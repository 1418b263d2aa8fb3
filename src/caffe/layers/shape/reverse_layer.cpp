#include "caffe/layers/reverse_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/flip_layer.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {
namespace {

Operation Reversal(const char* type) {
  return Operation(type)
      .Shapes(SameShapes)
      .BackwardReads(Operation::kNothing)
      .Native()
      .Homogeneous()
      .TypeAgnostic();
}

const bool registered =
    OperationTable::Add(Reversal("Reverse")) && OperationTable::Add(Reversal("Flip"));

}  // namespace

template <typename Dtype>
vector<int> ReverseLayer<Dtype>::Axes(const Shape& bottom) const {
  return {CheckedAxis("reverse_param: axis", this->layer_param_.reverse_param().axis(), bottom)};
}

template <typename Dtype>
vector<int> FlipLayer<Dtype>::Axes(const Shape& bottom) const {
  const FlipParameter& param = this->layer_param_.flip_param();
  Require(bottom.size() == 4, "Flip takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  vector<int> axes;
  if (param.flip_height()) axes.push_back(2);
  if (param.flip_width()) axes.push_back(3);
  return axes;
}

template <typename Dtype>
void ReverseLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  Axes(bottom[0]->shape());
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
kernels::Strides ReverseLayer<Dtype>::Backwards(const Shape& shape, std::ptrdiff_t* first) const {
  kernels::Strides strides = kernels::ContiguousStrides(shape);
  *first = 0;
  for (const int axis : Axes(shape)) {
    *first += (shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  return strides;
}

/// `to` = `from` from the last to the first along Axes().
template <typename Dtype>
template <typename T>
void ReverseLayer<Dtype>::Copy(const Shape& shape, const T* from, T* to) const {
  std::ptrdiff_t first;
  const kernels::Strides backwards = Backwards(shape, &first);
  kernels::CopyStrided(shape, from + first, backwards, to, kernels::ContiguousStrides(shape));
}

template <typename Dtype>
void ReverseLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    Copy(bottom[0]->shape(), bottom[0]->template cpu_data_as<T>(),
         top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void ReverseLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    Copy(bottom[0]->shape(), top[0]->template cpu_diff_as<D>(),
         bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ReverseLayer);
REGISTER_LAYER_CLASS(Reverse);
INSTANTIATE_CLASS(FlipLayer);
REGISTER_LAYER_CLASS(Flip);

}  // namespace caffe
