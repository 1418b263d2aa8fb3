#ifndef CAFFE_KERNELS_CUDA_REDUCE_HPP_
#define CAFFE_KERNELS_CUDA_REDUCE_HPP_

// For .cu files: reductions of shapes that ReduceRows is not good at.

#include "caffe/cuda/buffer.hpp"
#include "launch.hpp"

namespace caffe::cuda {

/// ReduceRows; a single thread handles a row if rows are short, or if there are many and
/// neighbouring rows lie `side_by_side` in memory.
template <typename Value, typename Map, typename Combine, typename Finish>
void ReduceEach(Stream& stream, int rows, int columns, bool side_by_side, Value identity, Map map,
                Combine combine, Finish finish) {
  constexpr int kFewColumns = 32, kManyRows = 2048;
  if (columns >= kFewColumns && !(side_by_side && rows >= kManyRows)) {
    ReduceRows(stream, rows, columns, identity, map, combine, finish);
    return;
  }
  ForEach(stream, rows, [=] __host__ __device__(int row) {
    Value value = identity;
    for (int column = 0; column < columns; ++column) value = combine(value, map(row, column));
    finish(row, value);
  });
}

/// finish(combined) of map(0), ..., map(n - 1): in two steps for large n, to use the whole GPU.
/// `map` is called once for each i.
template <typename Value, typename Map, typename Combine, typename Finish>
void ReduceAll(Stream& stream, int n, Value identity, Map map, Combine combine, Finish finish) {
  constexpr int kRows = 512, kAtOnce = 4096;
  if (n <= kAtOnce) {
    ReduceRows(
        stream, 1, n, identity, [=] __host__ __device__(int, int i) { return map(i); }, combine,
        [=] __host__ __device__(int, Value value) { finish(value); });
    return;
  }
  const int columns = (n - 1) / kRows + 1;
  Buffer<Value> partial(stream, kRows);
  Value* parts = partial.get();
  ReduceRows(
      stream, kRows, columns, identity,
      [=] __host__ __device__(int row, int column) {
        const long long i = static_cast<long long>(row) * columns + column;
        return i < n ? map(static_cast<int>(i)) : identity;
      },
      combine, [=] __host__ __device__(int row, Value value) { parts[row] = value; });
  ReduceRows(
      stream, 1, kRows, identity, [=] __host__ __device__(int, int i) { return parts[i]; }, combine,
      [=] __host__ __device__(int, Value value) { finish(value); });
}

/// A sum of losses, and their count.
struct LossSum {
  double loss;
  int count;
};

/// *loss = the sum of term(i).loss over i in [0, n), divided by `divisor`, or, if that is negative,
/// by the sum of the counts, at least 1. *divided_by, if not null, becomes the divisor.
template <typename Value, typename Term>
void SumLosses(Stream& stream, int n, double divisor, Term term, Value* loss, Value* divided_by) {
  ReduceAll(
      stream, n, LossSum{0, 0}, term,
      [] __host__ __device__(LossSum a, LossSum b) {
        return LossSum{a.loss + b.loss, a.count + b.count};
      },
      [=] __host__ __device__(LossSum sum) {
        const double by = divisor >= 0 ? divisor : sum.count > 1 ? sum.count : 1;
        *loss = static_cast<Value>(sum.loss / by);
        if (divided_by) *divided_by = static_cast<Value>(by);
      });
}

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_REDUCE_HPP_
