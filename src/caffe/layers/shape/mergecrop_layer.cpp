#include "caffe/layers/mergecrop_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter&, const std::vector<Shape>& bottoms) {
  const Shape &a = bottoms.at(0), &b = bottoms.at(1);
  bool fits = a.size() >= 2 && a.size() == b.size() && a[0] == b[0];
  for (size_t i = 2; fits && i < a.size(); ++i) fits = a[i] <= b[i];
  Require(fits, "MergeCrop takes bottoms (N, C, ...) of one batch, the second one at least as ",
          "large as the first: they are ", ShapeString(a), " and ", ShapeString(b));
  Shape top = a;
  top[1] = CheckedExtent("MergeCrop", int64_t(a[1]) + b[1]);
  return {top};
}

const bool registered = OperationTable::Add(Operation("MergeCrop")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

void ReadFlags(const char* name, const google::protobuf::RepeatedField<bool>& given, bool* flags) {
  Require(given.empty() || given.size() == 2, "mergecrop_param: ", name, " is given ", given.size(),
          " time(s): give it once per bottom, or not at all");
  std::copy(given.begin(), given.end(), flags);
}

}  // namespace

template <typename Dtype>
MergeCropLayer<Dtype>::Window::Window(const vector<Blob<Dtype>*>& bottom, int which)
    : shape(bottom[0]->shape()), in_bottom(shape.size(), 0), in_top(shape.size(), 0) {
  shape[1] = bottom[which]->shape(1);
  in_top[1] = which == 0 ? 0 : bottom[0]->shape(1);
  for (size_t i = 2; i < shape.size(); ++i) {
    in_bottom[i] = (bottom[which]->shape(static_cast<int>(i)) - shape[i]) / 2;
  }
}

template <typename Dtype>
void MergeCropLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  ReadFlags("forward", this->layer_param_.mergecrop_param().forward(), forward_);
  ReadFlags("backward", this->layer_param_.mergecrop_param().backward(), backward_);
}

template <typename Dtype>
void MergeCropLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapes(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
void MergeCropLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const kernels::Strides to = kernels::ContiguousStrides(top[0]->shape());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    if (!forward_[0] || !forward_[1]) std::fill_n(y, top[0]->count(), T(0.f));
    for (int i = 0; i < 2; ++i) {
      if (!forward_[i]) continue;
      const Window window(bottom, i);
      const T* x = bottom[i]->template cpu_data_as<T>() + bottom[i]->offset(window.in_bottom);
      kernels::CopyStrided(window.shape, x, kernels::ContiguousStrides(bottom[i]->shape()),
                           y + top[0]->offset(window.in_top), to);
    }
  });
}

template <typename Dtype>
void MergeCropLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const kernels::Strides from = kernels::ContiguousStrides(top[0]->shape());
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    for (int i = 0; i < 2; ++i) {
      if (!propagate_down[i]) continue;
      D* dx = bottom[i]->template overwrite_cpu_diff_as<D>();
      std::fill_n(dx, bottom[i]->count(), D(0.f));
      if (!backward_[i]) continue;
      const Window window(bottom, i);
      kernels::CopyStrided(window.shape, dy + top[0]->offset(window.in_top), from,
                           dx + bottom[i]->offset(window.in_bottom),
                           kernels::ContiguousStrides(bottom[i]->shape()));
    }
  });
}

INSTANTIATE_CLASS(MergeCropLayer);
REGISTER_LAYER_CLASS(MergeCrop);

}  // namespace caffe
