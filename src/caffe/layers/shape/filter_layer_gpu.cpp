#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/shapes.hpp"
#include "caffe/layers/filter_layer.hpp"

namespace caffe {

template <typename Dtype>
void FilterLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  // Which items are selected decided the tops' shapes: the host knows.
  const int rows = static_cast<int>(selected_.size());
  if (rows == 0) return;
  gpu_selected_.Reshape({rows});
  std::copy(selected_.begin(), selected_.end(),
            gpu_selected_.template overwrite_cpu_data_as<int>());
  for (size_t i = 0; i < top.size(); ++i) {
    const Dtype* x = bottom[i]->gpu_data();
    cuda::GatherRows(cuda::CurrentStream(), rows, bottom[i]->count(1), bottom[i]->shape(0),
                     gpu_selected_.gpu_data(), x, top[i]->template overwrite_gpu_data_as<Dtype>());
  }
}

template <typename Dtype>
void FilterLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down.back(), "Filter has no gradient for its selector");
  Stream& stream = cuda::CurrentStream();
  const int rows = static_cast<int>(selected_.size()), items = bottom.back()->shape(0);
  cuda::Buffer<int> order(stream, rows), begin(stream, items + 1);
  cuda::GroupRows(stream, rows, items, rows > 0 ? gpu_selected_.gpu_data() : nullptr, order.get(),
                  begin.get());
  for (size_t i = 0; i < top.size(); ++i) {
    if (!propagate_down[i]) continue;
    cuda::SumGroups(stream, items, bottom[i]->count(1), order.get(), begin.get(),
                    rows > 0 ? top[i]->gpu_diff() : nullptr,
                    bottom[i]->template overwrite_gpu_diff_as<Dtype>());
  }
}

INSTANTIATE_LAYER_GPU_FUNCS(FilterLayer);

}  // namespace caffe
