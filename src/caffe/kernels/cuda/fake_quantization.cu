#include "caffe/kernels/cuda/fake_quantization.hpp"

#include "caffe/kernels/instances.hpp"
#include "map.hpp"
#include "reduce.hpp"

namespace caffe::cuda {

using kernels::IntegerGrid;

template <typename T>
void FakeQuantize(Stream& stream, int n, const IntegerGrid& grid, const T* x, T* y) {
  using C = Math<T>;
  if (grid.scale == 0) {
    ForEach(stream, n, [=] __host__ __device__(int i) { Store(y + i, C(0)); });
    return;
  }
  const kernels::GridRounding<C> round(grid);
  Map(stream, n, x, y, [=] __host__ __device__(C value) { return round(value); });
}

template <typename T, typename D>
void FakeQuantizeGradient(Stream& stream, int n, const IntegerGrid& grid, const T* x, const D* dy,
                          D* dx) {
  using C = Math<T>;
  const C low = grid.low(), high = grid.high();
  Map(stream, n, x, dy, dx, [=] __host__ __device__(C value, Math<D> gradient) {
    return value >= low && value <= high ? gradient : Math<D>(0);
  });
}

template <typename T>
void RangeWithZero(Stream& stream, int n, const T* x, ValueRange* range) {
  ReduceAll(
      stream, n, ValueRange{},
      [=] __host__ __device__(int i) {
        const float value = static_cast<float>(Load(x + i));
        // For an infinity or a NaN, value - value is NaN.
        return value - value == 0 ? ValueRange{Min(value, 0.f), Max(value, 0.f), true}
                                  : ValueRange{0, 0, false};
      },
      [] __host__ __device__(const ValueRange& a, const ValueRange& b) {
        return ValueRange{Min(a.least, b.least), Max(a.most, b.most), a.finite && b.finite};
      },
      [=] __host__ __device__(const ValueRange& all) { *range = all; });
}

#define INSTANTIATE_GRADIENT(T, D) \
  template void FakeQuantizeGradient(Stream&, int, const IntegerGrid&, const T*, const D*, D*);
#define INSTANTIATE(T)                                                        \
  template void FakeQuantize(Stream&, int, const IntegerGrid&, const T*, T*); \
  template void RangeWithZero(Stream&, int, const T*, ValueRange*);           \
  INSTANTIATE_GRADIENT(T, float)                                              \
  INSTANTIATE_GRADIENT(T, double)                                             \
  INSTANTIATE_GRADIENT(T, float16)
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE
#undef INSTANTIATE_GRADIENT

}  // namespace caffe::cuda
