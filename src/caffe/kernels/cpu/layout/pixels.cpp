#include "caffe/kernels/pixels.hpp"

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {

template <typename T>
void NormalizePixels(size_t n, const uint8_t* x, size_t step, const T* means, T mean, T scale,
                     T* y) {
  Loops<T>().pixels(n, x, step, means, mean, scale, y);
}

template void NormalizePixels(size_t, const uint8_t*, size_t, const float*, float, float, float*);
template void NormalizePixels(size_t, const uint8_t*, size_t, const double*, double, double,
                              double*);

}  // namespace caffe::kernels
