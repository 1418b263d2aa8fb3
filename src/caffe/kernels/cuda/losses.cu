#include "caffe/kernels/cuda/losses.hpp"

#include "caffe/kernels/cuda/shapes.hpp"
#include "numbers.hpp"
#include "reduce.hpp"

namespace caffe::cuda {
namespace {

template <typename T>
struct PenaltyFunction {
  Penalty::Kind kind;
  T sigma2;

  explicit PenaltyFunction(const Penalty& penalty)
      : kind(penalty.kind), sigma2(static_cast<T>(penalty.sigma2)) {}

  __host__ __device__ T Value(T d) const {
    const T size = d < 0 ? -d : d;
    if (kind == Penalty::SQUARE) return d * d / 2;
    if (kind == Penalty::ABSOLUTE) return size;
    return size < 1 / sigma2 ? sigma2 * d * d / 2 : size - 1 / (2 * sigma2);
  }
  __host__ __device__ T Slope(T d) const {
    const T size = d < 0 ? -d : d, sign = T(d > 0) - T(d < 0);
    if (kind == Penalty::SQUARE) return d;
    if (kind == Penalty::ABSOLUTE) return sign;
    return size < 1 / sigma2 ? sigma2 * d : sign;
  }
};

}  // namespace

template <typename T>
void DifferenceLoss(Stream& stream, int n, const Penalty& penalty, double divisor, const T* a,
                    const T* b, const T* inside, const T* outside, T* difference, T* loss) {
  const PenaltyFunction<T> function(penalty);
  SumLosses<T>(
      stream, n, divisor,
      [=] __host__ __device__(int i) {
        const T d = inside ? inside[i] * (a[i] - b[i]) : a[i] - b[i];
        difference[i] = d;
        const double value = function.Value(d);
        return LossSum{outside ? outside[i] * value : value, 1};
      },
      loss, nullptr);
}

template <typename T>
void DifferenceLossGradient(Stream& stream, int n, const Penalty& penalty, double divisor,
                            const T* difference, const T* inside, const T* outside,
                            const T* top_diff, T* da, T* db) {
  const PenaltyFunction<T> function(penalty);
  const T by = static_cast<T>(divisor);
  ForEach(stream, n, [=] __host__ __device__(int i) {
    T slope = *top_diff / by * function.Slope(difference[i]);
    if (inside) slope *= inside[i];
    if (outside) slope *= outside[i];
    if (da) da[i] = slope;
    if (db) db[i] = -slope;
  });
}

template <typename T>
void PenaltyOfEach(Stream& stream, int outer, int channels, int inner, const Penalty& penalty,
                   const T* difference, T* each) {
  const PenaltyFunction<T> function(penalty);
  ForEach(stream, outer * inner, [=] __host__ __device__(int i) {
    const T* first = difference + i / inner * channels * inner + i % inner;
    T sum = 0;
    for (int c = 0; c < channels; ++c) sum += function.Value(first[c * inner]);
    each[i] = sum;
  });
}

namespace {

template <typename T>
__host__ __device__ bool Counts(const Targets<T>& targets, int i) {
  return !targets.has_ignored || trunc(targets.values[i]) != T(targets.ignored);
}

}  // namespace

// As on the CPU: max(x, 0) - x t + log(1 + e^-|x|).
template <typename T>
void SigmoidLoss(Stream& stream, int n, const T* x, const Targets<T>& targets, double divisor,
                 T* loss, T* divided_by) {
  SumLosses(
      stream, n, divisor,
      [=] __host__ __device__(int i) {
        if (!Counts(targets, i)) return LossSum{0, 0};
        const T value = x[i], size = value < 0 ? -value : value;
        const T above = value < 0 ? T(0) : value;
        return LossSum{double(above - value * targets.values[i] + log1p(exp(-size))), 1};
      },
      loss, divided_by);
}

template <typename T>
void SigmoidLossGradient(Stream& stream, int n, const T* x, const Targets<T>& targets,
                         const T* top_diff, const T* divided_by, T* dx) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    const T p = T(1) / (T(1) + exp(-x[i]));
    dx[i] = Counts(targets, i) ? *top_diff / *divided_by * (p - targets.values[i]) : T(0);
  });
}

namespace {

/// Element i's contribution to HingeLoss.
template <typename T>
struct Violation {
  T sign, margin;
  bool invalid;

  __host__ __device__ Violation(const Labels<T>& labels, const T* x, int i) {
    const int label = LabelAt(labels, i / labels.classes);
    invalid = label < 0;
    sign = i % labels.classes == label ? T(1) : T(-1);
    margin = T(1) - sign * x[i];
  }
};

}  // namespace

template <typename T>
void HingeLoss(Stream& stream, int items, bool squared, const T* x, const Labels<T>& labels,
               T* loss) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SumLosses<T>(
      stream, items * labels.classes, items,
      [=] __host__ __device__(int i) {
        const Violation<T> v(labels, x, i);
        if (v.invalid) return LossSum{nan, 1};
        const double margin = v.margin <= 0 ? T(0) : v.margin;
        return LossSum{squared ? margin * margin : margin, 1};
      },
      loss, nullptr);
}

template <typename T>
void HingeLossGradient(Stream& stream, int items, bool squared, const T* x, const Labels<T>& labels,
                       const T* top_diff, T* dx) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ForEach(stream, items * labels.classes, [=] __host__ __device__(int i) {
    const Violation<T> v(labels, x, i);
    const T slope = v.margin <= 0 ? T(0) : -v.sign * (squared ? 2 * v.margin : T(1));
    dx[i] = v.invalid ? nan : *top_diff / items * slope;
  });
}

template <typename T>
void LogisticLoss(Stream& stream, int items, T least, const T* p, const Labels<T>& labels,
                  T* loss) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SumLosses<T>(
      stream, items, items,
      [=] __host__ __device__(int item) {
        const int label = LabelAt(labels, item);
        if (label < 0) return LossSum{nan, 1};
        return LossSum{-double(log(Max(p[item * labels.classes + label], least))), 1};
      },
      loss, nullptr);
}

template <typename T>
void LogisticLossGradient(Stream& stream, int items, T least, const T* p, const Labels<T>& labels,
                          const T* top_diff, T* dp) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ForEach(stream, items * labels.classes, [=] __host__ __device__(int i) {
    const int label = LabelAt(labels, i / labels.classes);
    const T slope = i % labels.classes == label ? T(-1) / Max(p[i], least) : T(0);
    dp[i] = label < 0 ? nan : *top_diff / items * slope;
  });
}

template <typename T>
void ContrastiveLoss(Stream& stream, const Pairs<T>& pairs, const T* a, const T* b, T* difference,
                     T* squares, T* loss) {
  SumRows<double>(
      stream, pairs.count, pairs.values,
      [=] __host__ __device__(int pair, int k) {
        const int i = pair * pairs.values + k;
        const T d = a[i] - b[i];
        difference[i] = d;
        return double(d) * d;
      },
      [=] __host__ __device__(int pair, double sum) { squares[pair] = static_cast<T>(sum); });
  SumLosses<T>(
      stream, pairs.count, 2. * pairs.count,
      [=] __host__ __device__(int pair) {
        const T square = squares[pair];
        if (trunc(pairs.similar[pair]) != 0) return LossSum{square, 1};
        const T missing = Max(pairs.margin - (pairs.legacy ? square : sqrt(square)), T(0));
        return LossSum{pairs.legacy ? missing : missing * missing, 1};
      },
      loss, nullptr);
}

template <typename T>
void ContrastiveLossGradient(Stream& stream, const Pairs<T>& pairs, const T* difference,
                             const T* squares, const T* top_diff, T* da, T* db) {
  ForEach(stream, pairs.count * pairs.values, [=] __host__ __device__(int i) {
    const int pair = i / pairs.values;
    T slope = 1;
    if (trunc(pairs.similar[pair]) == 0) {
      const T d = pairs.legacy ? squares[pair] : sqrt(squares[pair]);
      const T missing = pairs.margin - d;
      slope = !(missing > 0) ? T(0) : pairs.legacy ? T(-1) : -missing / (d + T(1e-4));
    }
    const T gradient = *top_diff / pairs.count * slope * difference[i];
    if (da) da[i] = gradient;
    if (db) db[i] = -gradient;
  });
}

template <typename T>
void CenterLoss(Stream& stream, int items, int values, const T* x, const Labels<T>& labels,
                const T* centers, T* distance, T* loss) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  SumLosses<T>(
      stream, items * values, 2. * items,
      [=] __host__ __device__(int i) {
        const int label = LabelAt(labels, i / values);
        const T d = label < 0 ? nan : x[i] - centers[label * values + i % values];
        distance[i] = d;
        return LossSum{double(d) * d, 1};
      },
      loss, nullptr);
}

template <typename T>
void CenterGradient(Stream& stream, int items, int values, const Labels<T>& labels,
                    const T* distance, T* d_centers) {
  Buffer<int> label_memory(stream, items), order_memory(stream, items);
  Buffer<int> begin_memory(stream, labels.classes + 1);
  int* label = label_memory.get();
  int* order = order_memory.get();
  int* begin = begin_memory.get();
  ForEach(stream, items, [=] __host__ __device__(int i) { label[i] = LabelAt(labels, i); });
  GroupRows(stream, items, labels.classes, label, order, begin);
  ForEach(stream, labels.classes * values, [=] __host__ __device__(int i) {
    const int first = begin[i / values], last = begin[i / values + 1];
    T sum = 0;
    for (int k = first; k < last; ++k) sum += distance[order[k] * values + i % values];
    d_centers[i] -= sum / (1 + last - first);
  });
}

template <typename T>
void ScaledBy(Stream& stream, int n, double factor, const T* top_diff, const T* x, T* dx) {
  const T constant = static_cast<T>(factor);
  ForEach(stream, n, [=] __host__ __device__(int i) { dx[i] = *top_diff * constant * x[i]; });
}

#define INSTANTIATE(T)                                                                             \
  template void DifferenceLoss(Stream&, int, const Penalty&, double, const T*, const T*, const T*, \
                               const T*, T*, T*);                                                  \
  template void DifferenceLossGradient(Stream&, int, const Penalty&, double, const T*, const T*,   \
                                       const T*, const T*, T*, T*);                                \
  template void PenaltyOfEach(Stream&, int, int, int, const Penalty&, const T*, T*);               \
  template void SigmoidLoss(Stream&, int, const T*, const Targets<T>&, double, T*, T*);            \
  template void SigmoidLossGradient(Stream&, int, const T*, const Targets<T>&, const T*, const T*, \
                                    T*);                                                           \
  template void HingeLoss(Stream&, int, bool, const T*, const Labels<T>&, T*);                     \
  template void HingeLossGradient(Stream&, int, bool, const T*, const Labels<T>&, const T*, T*);   \
  template void LogisticLoss(Stream&, int, T, const T*, const Labels<T>&, T*);                     \
  template void LogisticLossGradient(Stream&, int, T, const T*, const Labels<T>&, const T*, T*);   \
  template void ContrastiveLoss(Stream&, const Pairs<T>&, const T*, const T*, T*, T*, T*);         \
  template void ContrastiveLossGradient(Stream&, const Pairs<T>&, const T*, const T*, const T*,    \
                                        T*, T*);                                                   \
  template void CenterLoss(Stream&, int, int, const T*, const Labels<T>&, const T*, T*, T*);       \
  template void CenterGradient(Stream&, int, int, const Labels<T>&, const T*, T*);                 \
  template void ScaledBy(Stream&, int, double, const T*, const T*, T*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace caffe::cuda
