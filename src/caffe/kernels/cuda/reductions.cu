#include "caffe/kernels/cuda/reductions.hpp"

#include "caffe/kernels/instances.hpp"
#include "numbers.hpp"
#include "reduce.hpp"

namespace caffe::cuda {

template <typename T, typename Y>
void ReduceTo(Stream& stream, Term term, int rows, int columns, double coefficient, const T* x,
              Y* y) {
  SumRows<double>(
      stream, rows, columns,
      [=] __host__ __device__(int row, int column) {
        const double value = Load(x + row * columns + column);
        return term == Term::SQUARE                   ? value * value
               : term == Term::ABSOLUTE && value < 0. ? -value
                                                      : value;
      },
      [=] __host__ __device__(int row, double sum) { y[row] = static_cast<Y>(coefficient * sum); });
}

template <typename T, typename D, typename Y>
void ReduceToGradient(Stream& stream, Term term, int rows, int columns, double coefficient,
                      const T* x, const Y* dy, D* dx) {
  using F = Math<D>;
  ForEach(stream, rows * columns, [=] __host__ __device__(int i) {
    const F slope = static_cast<F>(coefficient * dy[i / columns]);
    if (term == Term::VALUE) {
      Store(dx + i, slope);
      return;
    }
    const F value = Load(x + i);
    Store(dx + i, term == Term::SQUARE ? 2 * slope * value : slope * (F(value > 0) - F(value < 0)));
  });
}

namespace {

/// A value to compare by, and its index.
template <typename F>
struct Ranked {
  F rank;
  int index;
  __host__ __device__ bool operator<(const Ranked& other) const {
    return rank < other.rank || (rank == other.rank && index < other.index);
  }
};

}  // namespace

template <typename T, typename Y>
void ArgMax(Stream& stream, int outer, int extent, int inner, int top_k, const T* x, Found<Y> y) {
  using F = Math<T>;
  const F least = -std::numeric_limits<F>::infinity();
  const Ranked<F> none = {least, -1};
  Buffer<Ranked<F>> memory(stream, size_t(outer) * inner);
  Ranked<F>* found = memory.get();
  // One after the other: the largest of those below the last one found.
  for (int j = 0; j < top_k; ++j) {
    ReduceEach(
        stream, outer * inner, extent, inner > 1, none,
        [=] __host__ __device__(int column, int i) {
          const F value = Load(x + (column / inner * extent + i) * inner + column % inner);
          const Ranked<F> candidate = {value != value ? least : value, i};
          return j == 0 || candidate < found[column] ? candidate : none;
        },
        [] __host__ __device__(const Ranked<F>& a, const Ranked<F>& b) { return a < b ? b : a; },
        [=] __host__ __device__(int column, const Ranked<F>& best) {
          found[column] = best;
          const int at = column / inner * y.outer_stride + j * y.rank_stride + column % inner;
          const int from = (column / inner * extent + best.index) * inner + column % inner;
          if (y.indices) y.indices[at] = static_cast<Y>(best.index);
          if (y.values) y.values[at] = static_cast<Y>(Load(x + from));
        });
  }
}

template <typename T, typename Y>
void Accuracy(Stream& stream, int outer, int classes, int inner, int top_k, bool least,
              const T* scores, const Labels<Y>& labels, Y* accuracy, Y* of_class) {
  using F = Math<T>;
  const int positions = outer * inner;
  Buffer<int> memory(stream, positions);
  int* hits = memory.get();
  ReduceEach(
      stream, positions, classes, inner > 1, 0,
      [=] __host__ __device__(int position, int c) {
        const int label = LabelAt(labels, position);
        if (label < 0) return 0;
        const T* first = scores + position / inner * classes * inner + position % inner;
        const F own = Load(first + label * inner), score = Load(first + c * inner);
        return int(least ? score <= own : score >= own);
      },
      [] __host__ __device__(int a, int b) { return a + b; },
      // The label's own score is among those that are as good, unless it is NaN.
      [=] __host__ __device__(int position, int rank) {
        hits[position] = rank >= 1 && rank <= top_k;
      });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SumLosses<Y>(
      stream, positions, -1.,
      [=] __host__ __device__(int position) {
        const int label = LabelAt(labels, position);
        if (label == kIgnored) return LossSum{0, 0};
        return LossSum{label == kInvalid ? nan : hits[position], 1};
      },
      accuracy, nullptr);
  if (!of_class) return;
  ReduceRows(
      stream, classes, positions, LossSum{0, 0},
      [=] __host__ __device__(int c, int position) {
        const int label = LabelAt(labels, position);
        if (label == kInvalid) return LossSum{nan, 1};
        return label == c ? LossSum{double(hits[position]), 1} : LossSum{0, 0};
      },
      [] __host__ __device__(LossSum a, LossSum b) {
        return LossSum{a.loss + b.loss, a.count + b.count};
      },
      [=] __host__ __device__(int c, LossSum sum) {
        of_class[c] = static_cast<Y>(sum.count == 0 ? 0. : sum.loss / sum.count);
      });
}

#define INSTANTIATE_PAIR(T, D)                                                                 \
  template void ReduceToGradient(Stream&, Term, int, int, double, const T*, const float*, D*); \
  template void ReduceToGradient(Stream&, Term, int, int, double, const T*, const double*, D*);
#define INSTANTIATE_RESULT(T, Y)                                         \
  template void ReduceTo(Stream&, Term, int, int, double, const T*, Y*); \
  template void ArgMax(Stream&, int, int, int, int, const T*, Found<Y>); \
  template void Accuracy(Stream&, int, int, int, int, bool, const T*, const Labels<Y>&, Y*, Y*);
#define INSTANTIATE(T)         \
  INSTANTIATE_RESULT(T, float) \
  INSTANTIATE_RESULT(T, double)
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
CAFFE_FOR_EACH_PAIR(INSTANTIATE_PAIR)

}  // namespace caffe::cuda
