#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/fake_quantization.hpp"
#include "caffe/layers/elementwise/fake_quantization_layer.hpp"
#include "caffe/syncedmem.hpp"

namespace caffe {

// The host waits for the range once a pass: the grid follows from it, and values that are not
// finite are an Error at once.
template <typename Dtype>
void FakeQuantizationLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const int count = bottom[0]->count();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const T* x = cuda::ReadData<T>(*bottom[0], layout);
    Prepare(*bottom[0], [&](float* least, float* most) {
      SyncedMemory memory(sizeof(cuda::ValueRange));
      cuda::RangeWithZero(stream, count, x,
                          static_cast<cuda::ValueRange*>(memory.overwrite_gpu_data()));
      const auto range = *static_cast<const cuda::ValueRange*>(memory.cpu_data());
      *least = range.least;
      *most = range.most;
      return range.finite;
    });
    T* y = cuda::OverwriteData<T>(layout, top[0]);
    if (rounds_) {
      cuda::FakeQuantize(stream, count, grid_, x, y);
    } else {
      cuda::Convert(stream, count, x, y);
    }
  });
}

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                                const vector<bool>& propagate_down,
                                                const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Stream& stream = cuda::CurrentStream();
  const int count = bottom[0]->count();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = cuda::StoredLayout<T>(*bottom[0]);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    D* dx = cuda::OverwriteDiff<D>(layout, bottom[0]);
    if (rounds_) {
      cuda::FakeQuantizeGradient(stream, count, grid_, cuda::ReadData<T>(*bottom[0], layout), dy,
                                 dx);
    } else {
      cuda::Convert(stream, count, dy, dx);
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(FakeQuantizationLayer);

}  // namespace caffe
