#include "caffe/kernels/cuda/embed.hpp"

#include "caffe/cuda/buffer.hpp"
#include "launch.hpp"

namespace caffe::cuda {
namespace {

/// The index as an int, -1 if invalid.
template <typename Index>
__host__ __device__ inline int RowOf(Index index, int rows) {
  return index >= 0 && index < rows && index == static_cast<int>(index) ? static_cast<int>(index)
                                                                        : -1;
}

}  // namespace

template <typename T, typename Index>
void LookUp(Stream& stream, int count, int rows, int columns, const Index* indices, const T* table,
            const T* bias, T* y) {
  using F = Math<T>;
  const F nan = std::numeric_limits<F>::quiet_NaN();
  ForEach(stream, count * columns, [=] __host__ __device__(int at) {
    const int row = RowOf(indices[at / columns], rows), column = at % columns;
    const F value = row < 0 ? nan : Load(table + static_cast<size_t>(row) * columns + column);
    Store(y + at, bias ? value + Load(bias + column) : value);
  });
}

// Equal indices are chained: the first of them adds up all of their rows.
template <typename D, typename Index>
void LookUpGradient(Stream& stream, int count, int rows, int columns, const Index* indices,
                    const D* dy, AccumulatorType<D>* d_table) {
  const Buffer<int> next_buffer(stream, count), first_buffer(stream, count);
  int* next = next_buffer.get();    // the next place with the same index, or `count`
  int* first = first_buffer.get();  // 1 if no place before has the same index
  ForEach(stream, count, [=] __host__ __device__(int i) {
    int after = i + 1, before = i - 1;
    while (after < count && indices[after] != indices[i]) ++after;
    while (before >= 0 && indices[before] != indices[i]) --before;
    next[i] = after;
    first[i] = before < 0;
  });
  ForEach(stream, count * columns, [=] __host__ __device__(int at) {
    const int i = at / columns, column = at % columns;
    const int row = RowOf(indices[i], rows);
    if (!first[i] || row < 0) return;
    Math<D> sum = 0;
    for (int j = i; j < count; j = next[j]) sum += Load(dy + j * columns + column);
    d_table[static_cast<size_t>(row) * columns + column] += sum;
  });
}

#define INSTANTIATE(T, Index)                                                         \
  template void LookUp(Stream&, int, int, int, const Index*, const T*, const T*, T*); \
  template void LookUpGradient(Stream&, int, int, int, const Index*, const T*, AccumulatorType<T>*);
INSTANTIATE(float, float)
INSTANTIATE(float, double)
INSTANTIATE(double, float)
INSTANTIATE(double, double)
INSTANTIATE(float16, float)
INSTANTIATE(float16, double)
#undef INSTANTIATE

}  // namespace caffe::cuda
