#ifndef CAFFE_KERNELS_CPU_PLANES_HPP_
#define CAFFE_KERNELS_CPU_PLANES_HPP_

#include <memory>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"

namespace caffe::kernels {

/// Calls f(plane, x of the plane, y of the plane) for all planes, several threads taking a part
/// each; both as float for float16 (double for double). y is overwritten.
template <typename T, typename Function>
void ForEachPlane(size_t planes, size_t inputs, size_t outputs, const T* x, T* y, Function&& f) {
  using F = AccumulatorType<T>;
  const size_t grain =
      std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, std::max(inputs, outputs)));
  ParallelFor(planes, grain, [&](size_t begin, size_t end) {
    if constexpr (std::is_same<F, T>::value) {
      for (size_t plane = begin; plane < end; ++plane) {
        f(plane, x + plane * inputs, y + plane * outputs);
      }
    } else {
      const std::unique_ptr<F[]> wide_x(new F[inputs]), wide_y(new F[outputs]);
      for (size_t plane = begin; plane < end; ++plane) {
        Convert(inputs, x + plane * inputs, wide_x.get());
        f(plane, static_cast<const F*>(wide_x.get()), wide_y.get());
        Convert(outputs, wide_y.get(), y + plane * outputs);
      }
    }
  });
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PLANES_HPP_
