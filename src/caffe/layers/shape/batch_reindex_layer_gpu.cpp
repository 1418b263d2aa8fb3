#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/batch_reindex_layer.hpp"

namespace caffe {

template <typename Dtype>
void BatchReindexLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const int rows = top[0]->shape(0), items = bottom[0]->shape(0);
  // Where the host has the indices anyway, a bad one is refused as on the CPU; the kernel makes
  // NaN.
  if (bottom[1]->data()->head() != SyncedMemory::HEAD_AT_GPU) {
    for (int i = 0; i < rows; ++i) Index(bottom[1]->cpu_data(), i, items);
  }
  const Dtype* indices = bottom[1]->gpu_data();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::GatherRows(cuda::CurrentStream(), rows, bottom[0]->count(1), items, indices, x,
                     top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void BatchReindexLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[1], "BatchReindex has no gradient for its indices");
  if (!propagate_down[0]) return;
  Stream& stream = cuda::CurrentStream();
  const int rows = top[0]->shape(0), items = bottom[0]->shape(0);
  cuda::Buffer<int> order(stream, rows), begin(stream, items + 1);
  cuda::GroupRows(stream, rows, items, bottom[1]->gpu_data(), order.get(), begin.get());
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    cuda::SumGroups(stream, items, bottom[0]->count(1), order.get(), begin.get(), dy,
                    bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(BatchReindexLayer);

}  // namespace caffe
