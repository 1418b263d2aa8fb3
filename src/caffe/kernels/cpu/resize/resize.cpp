#include "caffe/kernels/resize.hpp"

#include "caffe/kernels/cpu/convolution/planes.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

template <typename F>
std::vector<F> WeightsAs(const ResizeAxis& axis) {
  return std::vector<F>(axis.weights.begin(), axis.weights.end());
}

}  // namespace

// Rows of the input are combined first, whole rows at once, then the columns of the sum.
template <typename T>
void ResizeForward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const T* x, T* y) {
  using F = AccumulatorType<T>;
  const std::vector<F> row_weights = WeightsAs<F>(h), column_weights = WeightsAs<F>(w);
  const size_t inputs = size_t(h.input) * w.input, outputs = size_t(h.output()) * w.output();
  const auto weighted_sum = Loops<F>().weighted_sum;
  ForEachPlane(planes, inputs, outputs, x, y, [&](size_t, const F* in, F* out) {
    std::vector<F> sums(w.input);
    std::vector<const F*> rows;
    for (int i = 0; i < h.output(); ++i) {
      const F* row = in + size_t(h.first[i]) * w.input;
      if (h.terms(i) != 1 || row_weights[h.start[i]] != F(1)) {
        rows.resize(h.terms(i));
        for (int k = 0; k < h.terms(i); ++k) rows[k] = row + size_t(k) * w.input;
        weighted_sum(w.input, rows.size(), row_weights.data() + h.start[i], rows.data(), F(0),
                     sums.data());
        row = sums.data();
      }
      for (int j = 0; j < w.output(); ++j) {
        const F* from = row + w.first[j];
        const F* weights = column_weights.data() + w.start[j];
        F sum = 0;
        for (int k = 0; k < w.terms(j); ++k) sum += weights[k] * from[k];
        *out++ = sum;
      }
    }
  });
}

template <typename D>
void ResizeBackward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const D* dy, D* dx) {
  ResizeForward(planes, h.Transposed(), w.Transposed(), dy, dx);
}

#define CAFFE_RESIZE(T)                                                                    \
  template void ResizeForward(size_t, const ResizeAxis&, const ResizeAxis&, const T*, T*); \
  template void ResizeBackward(size_t, const ResizeAxis&, const ResizeAxis&, const T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_RESIZE)
#undef CAFFE_RESIZE

}  // namespace caffe::kernels
