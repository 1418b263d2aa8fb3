#include "caffe/kernels/fake_quantization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/instances.hpp"
#include "caffe/kernels/quantize.hpp"

namespace caffe::kernels {
namespace {

IntegerGrid WithScale(double scale, IntegerGrid grid) {
  // The reciprocal of a subnormal step would be infinite.
  grid.scale = scale < std::numeric_limits<float>::min() ? 0.f : static_cast<float>(scale);
  return grid;
}

}  // namespace

IntegerGrid AffineGrid(double minimum, double maximum, int32_t least, int32_t most) {
  minimum = std::min(minimum, 0.);
  maximum = std::max(maximum, 0.);
  const double scale = (maximum - minimum) / (most - least);
  IntegerGrid grid;
  grid.least = grid.zero_point = least;
  grid.most = most;
  grid = WithScale(scale, grid);
  if (grid.scale == 0) return grid;
  const double zero = std::round(least - minimum / scale);
  grid.zero_point = static_cast<int32_t>(std::clamp<double>(zero, least, most));
  return grid;
}

IntegerGrid SymmetricGrid(double magnitude, int32_t steps, bool is_unsigned) {
  IntegerGrid grid;
  grid.least = is_unsigned ? 0 : -steps;
  grid.most = steps;
  return WithScale(magnitude / steps, grid);
}

template <typename T>
void FakeQuantize(size_t n, const IntegerGrid& grid, const T* x, T* y) {
  using C = LoopType<T>;
  if (grid.scale == 0) {
    std::fill_n(y, n, T(0));
    return;
  }
  const GridRounding<C> round(grid);
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<C, T> input;
    OutputChunk<C, T> output;
    const C* from = input.Load(x + offset, length);
    C* to = output.Begin(y + offset);
    for (size_t i = 0; i < length; ++i) to[i] = round(from[i]);
    output.Store(y + offset, length);
  });
}

template <typename T, typename D>
void FakeQuantizeGradient(size_t n, const IntegerGrid& grid, const T* x, const D* dy, D* dx) {
  using C = LoopType<T>;
  const C low = grid.low(), high = grid.high();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<C, T> input;
    const C* from = input.Load(x + offset, length);
    for (size_t i = 0; i < length; ++i) {
      dx[offset + i] = from[i] >= low && from[i] <= high ? dy[offset + i] : D(0);
    }
  });
}

template <typename T>
bool RangeWithZero(size_t n, const T* x, float* least, float* most) {
  struct Part {
    float least = 0, most = 0;
    bool finite = true;
  };
  std::vector<Part> parts(ParallelParts(n, kLoopGrain));
  ParallelParts(n, kLoopGrain, [&](size_t index, size_t begin, size_t end) {
    Part& part = parts[index];
    InputChunk<float, T> chunk;
    for (size_t i = begin; i < end; i += kChunk) {
      const size_t count = std::min(kChunk, end - i);
      const ValueSummary summary = Summarize(count, chunk.Load(x + i, count));
      part.least = std::min(part.least, summary.least);
      part.most = std::max(part.most, summary.most);
      part.finite = part.finite && summary.infinite == 0 && summary.not_a_number == 0;
    }
  });
  *least = *most = 0;
  bool finite = true;
  for (const Part& part : parts) {
    *least = std::min(*least, part.least);
    *most = std::max(*most, part.most);
    finite = finite && part.finite;
  }
  return finite;
}

#define CAFFE_FAKE_QUANTIZATION(T)                                                                \
  template void FakeQuantize(size_t, const IntegerGrid&, const T*, T*);                           \
  template void FakeQuantizeGradient(size_t, const IntegerGrid&, const T*, const float*, float*); \
  template void FakeQuantizeGradient(size_t, const IntegerGrid&, const T*, const double*,         \
                                     double*);                                                    \
  template void FakeQuantizeGradient(size_t, const IntegerGrid&, const T*, const float16*,        \
                                     float16*);                                                   \
  template bool RangeWithZero(size_t, const T*, float*, float*);
CAFFE_FOR_EACH_FLOAT(CAFFE_FAKE_QUANTIZATION)
#undef CAFFE_FAKE_QUANTIZATION

}  // namespace caffe::kernels
