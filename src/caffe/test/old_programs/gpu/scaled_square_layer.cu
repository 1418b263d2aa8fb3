#include <vector>

#include "scaled_square_layer.hpp"

#include "caffe/util/gpu_util.cuh"
#include "caffe/util/math_functions.hpp"

namespace caffe {

template <typename Dtype>
__global__ void ScaledSquareForward(const int n, const Dtype scale, const Dtype* in, Dtype* out) {
  CUDA_KERNEL_LOOP(index, n) { out[index] = scale * in[index] * in[index]; }
}

// A kernel on the default stream, then the library's functions and cuBLAS by its handle.
template <typename Dtype>
void ScaledSquareLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const int count = bottom[0]->count();
  const Dtype* bottom_data = bottom[0]->gpu_data();
  Dtype* top_data = top[0]->mutable_gpu_data();
  // NOLINT_NEXT_LINE(whitespace/operators)
  ScaledSquareForward<Dtype>
      <<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS>>>(count, scale_, bottom_data, top_data);
  CUDA_POST_KERNEL_CHECK;
  caffe_gpu_axpy(count, shift_, ones_.gpu_data(), top_data);
  CUBLAS_CHECK(cublasSetPointerMode(Caffe::cublas_handle(), CUBLAS_POINTER_MODE_HOST));
  CURAND_CHECK(curandSetGeneratorOffset(Caffe::curand_generator(), 0));
}

template <typename Dtype>
void ScaledSquareLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) {
    return;
  }
  const int count = bottom[0]->count();
  Dtype* bottom_diff = bottom[0]->mutable_gpu_diff();
  caffe_copy(count, top[0]->gpu_diff(), bottom_diff);
  caffe_gpu_mul(count, bottom_diff, bottom[0]->gpu_data(), bottom_diff);
  caffe_gpu_scal(count, Dtype(2) * scale_, bottom_diff);
}

INSTANTIATE_LAYER_GPU_FUNCS(ScaledSquareLayer);

}  // namespace caffe
