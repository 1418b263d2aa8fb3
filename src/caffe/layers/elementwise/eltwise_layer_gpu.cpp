#include "caffe/cuda/as_stored.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/eltwise.hpp"
#include "caffe/layers/eltwise_layer.hpp"

namespace caffe {

namespace {

template <typename T, typename Dtype>
std::vector<const T*> GpuDataOf(const vector<Blob<Dtype>*>& blobs, const Layout& layout) {
  std::vector<const T*> data;
  for (const Blob<Dtype>* blob : blobs) data.push_back(cuda::ReadData<T>(*blob, layout));
  return data;
}

}  // namespace

template <typename Dtype>
void EltwiseLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const int count = top[0]->count();
  by_onednn_ = false;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const Layout layout = cuda::CommonLayout<T>(bottom);
    const std::vector<const T*> x = GpuDataOf<T>(bottom, layout);
    T* y = cuda::OverwriteData<T>(layout, top[0]);
    switch (op_) {
      case EltwiseParameter_EltwiseOp_PROD:
        cuda::Product(stream, count, x, y);
        return;
      case EltwiseParameter_EltwiseOp_SUM:
        cuda::WeightedSum(stream, count, x, std::vector<F>(coeffs_.begin(), coeffs_.end()), y);
        return;
      case EltwiseParameter_EltwiseOp_MAX:
        cuda::Maximum(stream, count, x, y, nullptr);
        return;
    }
  });
}

template <typename Dtype>
void EltwiseLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const int count = top[0]->count();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using F = AccumulatorType<D>;
    const Layout layout = cuda::StoredLayout<T>(*top[0]);
    const D* dy = cuda::ReadDiff<D>(*top[0], layout);
    const bool maximum = op_ == EltwiseParameter_EltwiseOp_MAX;
    cuda::Buffer<int> which(stream, maximum ? count : 0);
    std::vector<const T*> x;
    if (op_ != EltwiseParameter_EltwiseOp_SUM) x = GpuDataOf<T>(bottom, layout);
    if (maximum) cuda::Maximum<T>(stream, count, x, nullptr, which.get());
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      D* dx = cuda::OverwriteDiff<D>(layout, bottom[i]);
      if (maximum) {
        cuda::MaximumGradient(stream, count, which.get(), static_cast<int>(i), dy, dx);
      } else if (op_ == EltwiseParameter_EltwiseOp_PROD) {
        cuda::ProductGradient(stream, count, x, i, dy, dx);
      } else {
        cuda::WeightedSum<D>(stream, count, {dy}, {static_cast<F>(coeffs_[i])}, dx);
      }
    }
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(EltwiseLayer);

}  // namespace caffe
