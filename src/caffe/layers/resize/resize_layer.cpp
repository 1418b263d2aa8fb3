#include "caffe/layers/resize_layer.hpp"

#include <algorithm>
#include <limits>

#include "caffe/layers/resize/resizing.hpp"

namespace caffe {

ResizedExtents::ResizedExtents(const char* parameter, const Shape& bottom, double height,
                               double width)
    : height(0), width(0) {
  const auto check = [&](const char* axis, double extent) {
    Require(extent >= 1 && extent <= std::numeric_limits<int>::max(), parameter, ": the ", axis,
            " of the output is ", extent, ": it must be at least 1 and fit an int");
  };
  check("height", height);
  check("width", width);
  double planes = 1;
  for (size_t axis = 0; axis + 2 < bottom.size(); ++axis) planes *= std::max(1, bottom[axis]);
  Require(planes * height * width <= std::numeric_limits<int>::max(), parameter, ": the output of ",
          height, " x ", width, " for a bottom of shape ", ShapeString(bottom),
          " has more than 2^31 - 1 elements");
  this->height = static_cast<int>(height);
  this->width = static_cast<int>(width);
}

template <typename Dtype>
void ResizeLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  vector<Shape> shapes;
  for (const Blob<Dtype>* blob : bottom) shapes.push_back(blob->shape());
  const Shape& shape = shapes[0];
  const bool as_before = resizing_ && bottom.size() == 1 && shape.size() >= 2 &&
                         resizing_->h.input == shape[shape.size() - 2] &&
                         resizing_->w.input == shape[shape.size() - 1];
  if (!as_before) resizing_ = std::make_shared<const Resizing>(ResizingOf(shapes));
  top[0]->Reshape(ResizedShapes(shape, *resizing_)[0]);
}

template <typename Dtype>
void ResizeLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const size_t plane = size_t(resizing_->h.input) * resizing_->w.input;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::ResizeForward(bottom[0]->count() / plane, resizing_->h, resizing_->w,
                           bottom[0]->template cpu_data_as<T>(),
                           top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void ResizeLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const size_t plane = size_t(resizing_->h.input) * resizing_->w.input;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    kernels::ResizeBackward(bottom[0]->count() / plane, resizing_->h, resizing_->w,
                            top[0]->template cpu_diff_as<D>(),
                            bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ResizeLayer);

}  // namespace caffe
