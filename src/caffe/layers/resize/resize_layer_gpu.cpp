#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/resize.hpp"
#include "caffe/layers/resize/resizing.hpp"
#include "caffe/layers/resize_layer.hpp"

namespace caffe {

namespace {

/// A list of terms for each output of an axis, on the host and the device.
template <typename Dtype>
struct Terms {
  Blob<int> start, index;
  Blob<Dtype> weight;

  /// (input, weight) of each output.
  void Set(const std::vector<std::vector<std::pair<int, double>>>& outputs) {
    int count = 0;
    for (const auto& terms : outputs) count += static_cast<int>(terms.size());
    start.Reshape({static_cast<int>(outputs.size()) + 1});
    index.Reshape({std::max(count, 1)});
    weight.Reshape({std::max(count, 1)});
    int* starts = start.mutable_cpu_data();
    int* indices = index.mutable_cpu_data();
    Dtype* weights = weight.mutable_cpu_data();
    int at = 0;
    for (const auto& terms : outputs) {
      *starts++ = at;
      for (const auto& [input, value] : terms) {
        indices[at] = input;
        weights[at++] = static_cast<Dtype>(value);
      }
    }
    *starts = at;
  }
  cuda::ResizeAxis<Dtype> Axis(int inputs) const {
    return {inputs, start.count() - 1, start.gpu_data(), index.gpu_data(), weight.gpu_data()};
  }
};

/// One axis and its transpose.
template <typename Dtype>
struct AxisTables {
  kernels::ResizeAxis axis;
  Terms<Dtype> forward, backward;

  void Set(const kernels::ResizeAxis& given) {
    axis = given;
    std::vector<std::vector<std::pair<int, double>>> terms(axis.output()), transposed(axis.input);
    for (int i = 0; i < axis.output(); ++i) {
      for (int k = axis.start[i]; k < axis.start[i + 1]; ++k) {
        const int input = axis.first[i] + k - axis.start[i];
        terms[i].emplace_back(input, axis.weights[k]);
        transposed[input].emplace_back(i, axis.weights[k]);
      }
    }
    forward.Set(terms);
    backward.Set(transposed);
  }
  cuda::ResizeAxis<Dtype> Forward() const { return forward.Axis(axis.input); }
  cuda::ResizeAxis<Dtype> Backward() const { return backward.Axis(axis.output()); }
};

bool Same(const kernels::ResizeAxis& a, const kernels::ResizeAxis& b) {
  return a.input == b.input && a.first == b.first && a.start == b.start && a.weights == b.weights;
}

}  // namespace

template <typename Dtype>
struct ResizeLayer<Dtype>::GpuTables {
  AxisTables<Dtype> h, w;
};

/// Those of resizing_, made again where it has changed.
template <typename Dtype>
const typename ResizeLayer<Dtype>::GpuTables& ResizeLayer<Dtype>::Tables() {
  if (gpu_tables_ && Same(gpu_tables_->h.axis, resizing_->h) &&
      Same(gpu_tables_->w.axis, resizing_->w)) {
    return *gpu_tables_;
  }
  gpu_tables_ = std::make_shared<GpuTables>();
  gpu_tables_->h.Set(resizing_->h);
  gpu_tables_->w.Set(resizing_->w);
  return *gpu_tables_;
}

template <typename Dtype>
int ResizeLayer<Dtype>::PlanesOf(const Blob<Dtype>& bottom) const {
  return bottom.count() / (resizing_->h.input * resizing_->w.input);
}

template <typename Dtype>
void ResizeLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    const GpuTables& tables = Tables();
    cuda::Resize(cuda::CurrentStream(), PlanesOf(*bottom[0]), tables.h.Forward(),
                 tables.w.Forward(), x, top[0]->template overwrite_gpu_data_as<T>());
  });
}

template <typename Dtype>
void ResizeLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template gpu_diff_as<D>();
    const GpuTables& tables = Tables();
    cuda::Resize(cuda::CurrentStream(), PlanesOf(*bottom[0]), tables.h.Backward(),
                 tables.w.Backward(), dy, bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ResizeLayer);

}  // namespace caffe
