#include "caffe/layers/axpy_layer.hpp"

#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfAxpy(const LayerParameter&, const std::vector<Shape>& bottoms) {
  const Shape &a = bottoms.at(0), &x = bottoms.at(1), &b = bottoms.at(2);
  const bool fits = a.size() >= 2 && x.size() >= 2 && a[0] == x[0] && a[1] == x[1] &&
                    CountOf(a, 2, a.size()) == 1;
  Require(fits, "Axpy takes one factor for each image and channel: bottom 0 is ", ShapeString(a),
          ", bottom 1 is ", ShapeString(x));
  Require(x == b, "Axpy needs bottoms 1 and 2 of one shape: they are ", ShapeString(x), " and ",
          ShapeString(b));
  return {x};
}

const bool axpy_registered = OperationTable::Add(Operation("Axpy")
                                                     .Shapes(TopShapesOfAxpy)
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void AxpyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfAxpy(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
void AxpyLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const size_t rows = bottom[0]->count(), length = bottom[1]->count(2);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const F* a = bottom[0]->template cpu_data_as<F>();
    const T* x = bottom[1]->template cpu_data_as<T>();
    const T* b = bottom[2]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    kernels::ChannelAffine(1, rows, length, a, nullptr, x, y);
    kernels::Add(rows * length, y, b, y);
  });
}

template <typename Dtype>
void AxpyLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  const size_t rows = bottom[0]->count(), length = bottom[1]->count(2);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    if (propagate_down[0]) {
      vector<double> dots(rows);
      kernels::ChannelSums(1, rows, length, dy, bottom[1]->template cpu_data_as<T>(), nullptr,
                           dots.data());
      std::copy(dots.begin(), dots.end(), bottom[0]->template overwrite_cpu_diff_as<D>());
    }
    if (propagate_down[1]) {
      kernels::ChannelAffine<D>(1, rows, length, bottom[0]->template cpu_data_as<G>(), nullptr, dy,
                                bottom[1]->template overwrite_cpu_diff_as<D>());
    }
    if (propagate_down[2]) {
      std::copy_n(dy, rows * length, bottom[2]->template overwrite_cpu_diff_as<D>());
    }
  });
}

INSTANTIATE_CLASS(AxpyLayer);
REGISTER_LAYER_CLASS(Axpy);

}  // namespace caffe
