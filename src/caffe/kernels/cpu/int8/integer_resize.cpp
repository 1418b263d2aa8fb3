#include "caffe/kernels/integer_resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

/// The largest sum of absolute weights of an output.
int64_t LargestSum(const ResizeAxis& axis, const std::vector<int32_t>& weights) {
  int64_t largest = 0;
  for (int i = 0; i < axis.output(); ++i) {
    int64_t sum = 0;
    for (int k = axis.start[i]; k < axis.start[i + 1]; ++k) sum += std::abs(weights[k]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Calls f(first row of x, output row, first element of y, scratch for a row of x) for all rows of
/// y.
template <typename Sum, typename Function>
void ForEachRow(size_t planes, size_t block, const ResizeAxis& h, const ResizeAxis& w,
                Function&& f) {
  const size_t length = w.output() * block;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, 4 * length));
  ParallelFor(planes * h.output(), grain, [&](size_t begin, size_t end) {
    std::vector<Sum> room(w.input * block);
    for (size_t i = begin; i < end; ++i) {
      const int out = static_cast<int>(i % h.output());
      f((i / h.output() * h.input + h.first[out]) * w.input * block, out, i * length, room.data());
    }
  });
}

/// Vectorised, if sums fit 32 bits.
template <typename T>
void ResizeShort(size_t planes, int block, const ResizeAxis& h, const ResizeAxis& w,
                 const std::vector<int32_t>& rows, const ResizedRow& row, const T* x, T* y) {
  const IntegerLoops& loops = ChosenKernels().integers;
  const size_t pitch = size_t(w.input) * block;
  const auto resize = loops.resize_row[std::is_unsigned<T>::value][block / 8];
  const auto weigh = loops.weigh_rows[std::is_unsigned<T>::value];
  ForEachRow<int32_t>(planes, block, h, w, [&](size_t from, int out, size_t to, int32_t* sums) {
    weigh(pitch, {h.terms(out), pitch, rows.data() + h.start[out], row.zero_point}, x + from, sums);
    resize(row, sums, y + to);
  });
}

template <typename T>
void ResizeAny(size_t planes, int block, const ResizeAxis& h, const ResizeAxis& w,
               const std::vector<int32_t>& rows, const ResizedRow& row, const T* x, T* y) {
  const size_t pitch = size_t(w.input) * block;
  ForEachRow<int64_t>(planes, block, h, w, [&](size_t from, int out, size_t to, int64_t* sums) {
    std::fill_n(sums, pitch, 0);
    for (int k = 0; k < h.terms(out); ++k) {
      const int64_t weight = rows[h.start[out] + k];
      for (size_t i = 0; i < pitch; ++i) {
        sums[i] += weight * (x[from + k * pitch + i] - row.zero_point);
      }
    }
    for (size_t i = 0; i < size_t(row.outputs) * block; ++i) {
      const size_t v = i / block;
      int64_t sum = 0;
      for (int k = 0; k < w.terms(static_cast<int>(v)); ++k) {
        sum += row.weights[w.start[v] + k] * sums[(size_t(w.first[v]) + k) * block + i % block];
      }
      y[to + i] = static_cast<T>(ResizedByte(sum, row.zero_point, row.least, row.most));
    }
  });
}

}  // namespace

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
void ResizeIntegers(size_t planes, int block, const ResizeAxis& h, const ResizeAxis& w,
                    int32_t zero_point, int32_t least, int32_t most, const T* x, T* y) {
  const std::vector<int32_t> rows = ResizeWeights(h), columns = ResizeWeights(w);
  const ResizedRow row = {w.output(),     w.first.data(), w.start.data(),
                          columns.data(), kResizeHalf,    kResizeShift,
                          zero_point,     least,          most};
  const int64_t largest = LargestSum(h, rows) * LargestSum(w, columns) * 255 + kResizeHalf;
  const bool has_lanes = block == 1 || block == 8 || block == 16;
  const auto resize =
      has_lanes && largest <= std::numeric_limits<int32_t>::max() ? ResizeShort<T> : ResizeAny<T>;
  resize(planes, block, h, w, rows, row, x, y);
}

template void ResizeIntegers(size_t, int, const ResizeAxis&, const ResizeAxis&, int32_t, int32_t,
                             int32_t, const int8_t*, int8_t*);
template void ResizeIntegers(size_t, int, const ResizeAxis&, const ResizeAxis&, int32_t, int32_t,
                             int32_t, const uint8_t*, uint8_t*);

}  // namespace caffe::kernels
