#include "caffe/kernels/integer_resize.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
std::vector<int32_t> ResizeWeights(const ResizeAxis& axis) {
  std::vector<int32_t> weights;
  for (int i = 0; i < axis.output(); ++i) {
    double sum = 0;
    int32_t whole = 0;
    size_t largest = axis.start[i];
    for (int k = axis.start[i]; k < axis.start[i + 1]; ++k) {
      sum += axis.weights[k];
      weights.push_back(
          static_cast<int32_t>(std::lround(std::ldexp(axis.weights[k], kResizeWeightBits))));
      whole += weights.back();
      if (weights[k] > weights[largest]) largest = k;
    }
    if (axis.terms(i) == 0) continue;
    weights[largest] +=
        static_cast<int32_t>(std::lround(std::ldexp(sum, kResizeWeightBits))) - whole;
  }
  return weights;
}

template <typename T>
void ResizeIntegers(size_t planes, const ResizeAxis& h, const ResizeAxis& w, int32_t zero_point,
                    int32_t least, int32_t most, const T* x, T* y) {
  const std::vector<int32_t> rows = ResizeWeights(h), columns = ResizeWeights(w);
  const size_t width = w.input, out_width = w.output();
  ParallelFor(planes * h.output(), 1, [&](size_t begin, size_t end) {
    std::vector<int64_t> row(width);
    for (size_t i = begin; i < end; ++i) {
      const int out = static_cast<int>(i % h.output());
      const T* plane = x + i / h.output() * h.input * width;
      std::fill(row.begin(), row.end(), 0);
      for (int k = 0; k < h.terms(out); ++k) {
        const T* from = plane + size_t(h.first[out] + k) * width;
        const int32_t weight = rows[h.start[out] + k];
        for (size_t v = 0; v < width; ++v) row[v] += weight * (from[v] - zero_point);
      }
      for (size_t v = 0; v < out_width; ++v) {
        int64_t sum = 0;
        for (int k = 0; k < w.terms(static_cast<int>(v)); ++k) {
          sum += columns[w.start[v] + k] * row[w.first[v] + k];
        }
        y[i * out_width + v] = static_cast<T>(ResizedByte(sum, zero_point, least, most));
      }
    }
  });
}

template void ResizeIntegers(size_t, const ResizeAxis&, const ResizeAxis&, int32_t, int32_t,
                             int32_t, const int8_t*, int8_t*);
template void ResizeIntegers(size_t, const ResizeAxis&, const ResizeAxis&, int32_t, int32_t,
                             int32_t, const uint8_t*, uint8_t*);

}  // namespace kernels
}  // namespace caffe
