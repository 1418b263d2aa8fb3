#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/direct_recurrent_layer.hpp"
#include "caffe/layers/dispatch_half_or.hpp"

namespace caffe {

// What the steps do not change of the gates' inputs: x W_x + b, and the static input's part.
template <typename Dtype>
template <typename T>
void DirectRecurrentLayer<Dtype>::GpuAddInputs(const vector<Blob<Dtype>*>& bottom) {
  Stream& stream = cuda::CurrentStream();
  const int rows = T_ * N_, columns = gates() * D_;
  Dtype* all = gpu_gate(0);
  cuda::SpreadRow(stream, rows, columns, this->blobs_[bias_]->gpu_data(), false, all);
  const auto multiply = [&](int items, int weights_index, const Blob<Dtype>& blob, Dtype beta,
                            Dtype* y) {
    const Blob<Dtype>& weights = *this->blobs_[weights_index];
    cuda::Gemm<T, Dtype>(stream, false, true, items, columns, weights.shape(1), 1,
                         blob.template gpu_data_as<T>(), weights.template gpu_data_as<T>(), beta,
                         y);
  };
  multiply(rows, input_weights_, *bottom[0], 1, all);
  if (!static_input_) return;
  cuda::Buffer<Dtype> part(stream, size_t(N_) * columns);
  multiply(N_, static_weights_, *bottom[2], 0, part.get());
  cuda::SpreadRow(stream, T_, N_ * columns, part.get(), true, all);
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::GpuPropagate(int items, const Dtype* d_rows, int weights_index,
                                               bool to_blob, Blob<Dtype>* blob) {
  Stream& stream = cuda::CurrentStream();
  Blob<Dtype>& weights = *this->blobs_[weights_index];
  const int inputs = weights.shape(1), columns = gates() * D_;
  if (this->param_propagate_down(weights_index)) {
    cuda::Gemm<Dtype, Dtype>(stream, true, false, columns, inputs, items, 1, d_rows,
                             blob->gpu_data(), 1, weights.mutable_gpu_diff());
  }
  if (!to_blob) return;
  cuda::Buffer<Dtype> dx(stream, size_t(items) * inputs);
  cuda::Gemm<Dtype, Dtype>(stream, false, false, items, inputs, columns, 1, d_rows,
                           weights.gpu_data(), 0, dx.get());
  DispatchHalfOr<Dtype>(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    cuda::Convert(stream, items * inputs, dx.get(), blob->template overwrite_gpu_diff_as<D>());
  });
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  Stream& stream = cuda::CurrentStream();
  const int row = N_ * D_, columns = gates() * D_;
  const Dtype* cont = GpuContinuation(bottom);
  for (int i = 0; i < states(); ++i) {
    if (expose_hidden_ || KeepsState(bottom)) {
      cuda::Convert(stream, row, StateBefore(i, bottom).gpu_data(), gpu_state(i, 0));
    } else {
      cuda::Fill<Dtype>(stream, row, 0, gpu_state(i, 0));
    }
  }
  DispatchHalfOr<Dtype>(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    this->template GpuAddInputs<T>(bottom);
    cuda::Buffer<Dtype> weights(stream, size_t(columns) * D_);
    cuda::Convert(stream, columns * D_, this->blobs_[hidden_weights_]->template gpu_data_as<T>(),
                  weights.get());
    for (int t = 0; t < T_; ++t) {
      Dtype* conted = conted_.mutable_gpu_data() + t * row;
      cuda::TimesCont(stream, N_, D_, cont + t * N_, gpu_state(0, t), false, conted);
      cuda::Gemm<Dtype, Dtype>(stream, false, true, N_, columns, D_, 1, conted, weights.get(), 1,
                               gpu_gate(t));
      GpuStep(t, cont + t * N_);
    }
    cuda::Convert(stream, row * T_, GpuOutputs(), top[0]->template overwrite_gpu_data_as<T>());
    for (int i = 0; i < states() && expose_hidden_; ++i) {
      cuda::Convert(stream, row, gpu_state(i, T_), top[1 + i]->template overwrite_gpu_data_as<T>());
    }
  });
  if (Parameters().debug_info()) WriteDebugInfo(top[0]->cpu_data());  // waits
  for (int i = 0; i < states(); ++i) {
    cuda::Convert(stream, row, gpu_state(i, T_), kept_[i].template overwrite_gpu_data_as<Dtype>());
  }
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  Require(bottom.size() < 2 || !propagate_down[1], this->type(),
          " has no gradient for its continuation indicators");
  Stream& stream = cuda::CurrentStream();
  const int row = N_ * D_, rows = T_ * N_, columns = gates() * D_;
  const Dtype* cont = GpuContinuation(bottom);
  const Dtype* hidden_weights = this->blobs_[hidden_weights_]->gpu_data();
  for (int i = 0; i < states(); ++i) {
    cuda::Fill<Dtype>(stream, row * (T_ + 1), 0, gpu_state_diff(i, 0));
  }
  cuda::Convert(stream, row * T_, top[0]->gpu_diff(), gpu_state_diff(0, 1));
  GpuOutputGradient(gpu_state_diff(0, 1));
  for (int i = 0; i < states() && expose_hidden_; ++i) {
    cuda::Axpby<Dtype, Dtype>(stream, row, 1, top[1 + i]->gpu_diff(), 1, gpu_state_diff(i, T_));
  }
  cuda::Buffer<Dtype> d_conted(stream, row);
  for (int t = T_ - 1; t >= 0; --t) {
    GpuStepGradient(t, cont + t * N_);
    cuda::Gemm<Dtype, Dtype>(stream, false, false, N_, D_, columns, 1, gpu_gate_diff(t),
                             hidden_weights, 0, d_conted.get());
    cuda::TimesCont(stream, N_, D_, cont + t * N_, d_conted.get(), true, gpu_state_diff(0, t));
  }
  const Dtype* d_gates = gpu_gate_diff(0);
  if (this->param_propagate_down(hidden_weights_)) {
    cuda::Gemm<Dtype, Dtype>(stream, true, false, columns, D_, rows, 1, d_gates, conted_.gpu_data(),
                             1, this->blobs_[hidden_weights_]->mutable_gpu_diff());
  }
  if (this->param_propagate_down(bias_)) {
    cuda::SumOfRows(stream, rows, columns, d_gates, true, this->blobs_[bias_]->mutable_gpu_diff());
  }
  GpuPropagate(rows, d_gates, input_weights_, propagate_down[0], bottom[0]);
  if (static_input_) {
    cuda::Buffer<Dtype> sum(stream, size_t(N_) * columns);
    cuda::SumOfRows(stream, T_, N_ * columns, d_gates, false, sum.get());
    GpuPropagate(N_, sum.get(), static_weights_, propagate_down[2], bottom[2]);
  }
  for (int i = 0; i < states() && expose_hidden_; ++i) {
    const int index = FirstStateBottom() + i;
    if (!propagate_down[index]) continue;
    cuda::Convert(stream, row, gpu_state_diff(i, 0),
                  bottom[index]->template overwrite_gpu_diff_as<Dtype>());
  }
}

INSTANTIATE_LAYER_GPU_FUNCS(DirectRecurrentLayer);

}  // namespace caffe
