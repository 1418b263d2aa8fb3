#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/eltwise.hpp"
#include "caffe/layers/axpy_layer.hpp"

namespace caffe {

template <typename Dtype>
void AxpyLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const int rows = bottom[0]->count(), length = bottom[1]->count(2);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const F* a = bottom[0]->template gpu_data_as<F>();
    const T* x = bottom[1]->template gpu_data_as<T>();
    const T* b = bottom[2]->template gpu_data_as<T>();
    cuda::ScaleRowsAdd(cuda::CurrentStream(), rows, length, a, x, b,
                       top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void AxpyLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const int rows = bottom[0]->count(), length = bottom[1]->count(2);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    using G = AccumulatorType<D>;
    if (propagate_down[0]) {
      cuda::RowDots(stream, rows, length, bottom[1]->template gpu_data_as<T>(), dy,
                    bottom[0]->template overwrite_gpu_diff_as<D>());
    }
    if (propagate_down[1]) {
      cuda::ScaleRows(stream, rows, length, bottom[0]->template gpu_data_as<G>(), dy,
                      bottom[1]->template overwrite_gpu_diff_as<D>());
    }
    if (propagate_down[2]) {
      cuda::Convert(stream, rows * length, dy, bottom[2]->template overwrite_gpu_diff_as<D>());
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(AxpyLayer);

}  // namespace caffe
