#include "caffe/kernels/cuda/softmax.hpp"

#include "caffe/kernels/instances.hpp"
#include "numbers.hpp"
#include "reduce.hpp"

namespace caffe::cuda {
namespace {

/// Softmax's statistics of the scores of one position.
template <typename F>
struct Scores {
  F largest;
  F sum;    ///< of exp(x - largest)
  F total;  ///< of x

  __host__ __device__ F LogSum() const { return largest + log(sum); }
  __host__ __device__ F Probability(F x) const { return exp(x - largest) / sum; }
};

template <typename F>
__host__ __device__ Scores<F> Joined(const Scores<F>& a, const Scores<F>& b) {
  const bool a_is_higher = !(a.largest < b.largest);  // also if one is NaN
  const Scores<F>& high = a_is_higher ? a : b;
  const Scores<F>& low = a_is_higher ? b : a;
  // The difference of two infinities would be NaN.
  const F factor = low.largest == high.largest ? F(1) : exp(low.largest - high.largest);
  return {high.largest, high.sum + low.sum * factor, a.total + b.total};
}

/// scores[position] for all positions.
template <typename T>
void ReadScores(Stream& stream, int outer, int channels, int inner, const T* x,
                Scores<Math<T>>* scores) {
  using F = Math<T>;
  const Scores<F> none = {-std::numeric_limits<F>::infinity(), F(0), F(0)};
  ReduceEach(
      stream, outer * inner, channels, inner > 1, none,
      [=] __host__ __device__(int position, int c) {
        const F value = Load(x + (position / inner * channels + c) * inner + position % inner);
        return Scores<F>{value, F(1), value};
      },
      [] __host__ __device__(const Scores<F>& a, const Scores<F>& b) { return Joined(a, b); },
      [=] __host__ __device__(int position, const Scores<F>& all) { scores[position] = all; });
}

/// The indices of an element number i of an array of shape (outer, channels, inner).
struct Place {
  int position, channel;
  __host__ __device__ Place(int i, int channels, int inner)
      : position(i / inner / channels * inner + i % inner), channel(i / inner % channels) {}
};

}  // namespace

template <typename T>
void Softmax(Stream& stream, int outer, int channels, int inner, const T* x, T* y) {
  Buffer<Scores<Math<T>>> memory(stream, size_t(outer) * inner);
  Scores<Math<T>>* scores = memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    Store(y + i, scores[Place(i, channels, inner).position].Probability(Load(x + i)));
  });
}

template <typename T, typename D>
void SoftmaxGradient(Stream& stream, int outer, int channels, int inner, const T* y, const D* dy,
                     D* dx) {
  using F = Math<D>;
  Buffer<F> memory(stream, size_t(outer) * inner);
  F* dots = memory.get();
  ReduceEach(
      stream, outer * inner, channels, inner > 1, F(0),
      [=] __host__ __device__(int position, int c) {
        const int at = (position / inner * channels + c) * inner + position % inner;
        return static_cast<F>(Load(y + at)) * static_cast<F>(Load(dy + at));
      },
      [] __host__ __device__(F a, F b) { return a + b; },
      [=] __host__ __device__(int position, F sum) { dots[position] = sum; });
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const F dot = dots[Place(i, channels, inner).position];
    Store(dx + i, static_cast<F>(Load(y + i)) * (static_cast<F>(Load(dy + i)) - dot));
  });
}

template <typename T, typename Label>
void SoftmaxLoss(Stream& stream, int outer, int channels, int inner, const T* x,
                 const SoftmaxTargets<Label>& targets, double divisor, Label* loss,
                 Label* divided_by) {
  Buffer<Scores<Math<T>>> memory(stream, size_t(outer) * inner);
  Scores<Math<T>>* scores = memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  const Labels<Label> labels = targets.labels;
  const float* weights = targets.weights;
  const double smoothing = targets.smoothing, nan = std::numeric_limits<double>::quiet_NaN();
  SumLosses(
      stream, outer * inner, divisor,
      [=] __host__ __device__(int position) {
        const int label = LabelAt(labels, position);
        if (label == kIgnored) return LossSum{0, 0};
        if (label == kInvalid) return LossSum{nan, 1};
        const Scores<Math<T>>& all = scores[position];
        const double log_sum = all.LogSum();
        const int at = (position / inner * channels + label) * inner + position % inner;
        double value = (1 - smoothing) * (log_sum - Load(x + at));
        if (smoothing != 0) value += smoothing * (log_sum - all.total / channels);
        return LossSum{weights ? weights[label] * value : value, 1};
      },
      loss, divided_by);
}

template <typename T, typename D, typename Label>
void SoftmaxLossGradient(Stream& stream, int outer, int channels, int inner, const T* x,
                         const SoftmaxTargets<Label>& targets, const Label* top_diff,
                         const Label* divided_by, D* dx) {
  using F = Math<D>;
  Buffer<Scores<Math<T>>> memory(stream, size_t(outer) * inner);
  Scores<Math<T>>* scores = memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  const Labels<Label> labels = targets.labels;
  const float* weights = targets.weights;
  const F smoothing = targets.smoothing, nan = std::numeric_limits<F>::quiet_NaN();
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const Place place(i, channels, inner);
    const int label = LabelAt(labels, place.position);
    if (label < 0) {
      Store(dx + i, label == kIgnored ? F(0) : nan);
      return;
    }
    const F factor = static_cast<F>(*top_diff / *divided_by) * (weights ? weights[label] : F(1));
    const F target = (place.channel == label ? F(1) - smoothing : F(0)) + smoothing / channels;
    const F probability = scores[place.position].Probability(Load(x + i));
    Store(dx + i, factor * (probability - target));
  });
}

template <typename Label>
void SoftmaxLossOfEach(Stream& stream, int outer, int channels, int inner, const Label* x,
                       const Labels<Label>& labels, Label* each) {
  Buffer<Scores<Label>> memory(stream, size_t(outer) * inner);
  Scores<Label>* scores = memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  const Label nan = std::numeric_limits<Label>::quiet_NaN();
  ForEach(stream, outer * inner, [=] __host__ __device__(int position) {
    const int label = LabelAt(labels, position);
    const int at = (position / inner * channels + label) * inner + position % inner;
    each[position] = label == kIgnored   ? Label(0)
                     : label == kInvalid ? nan
                                         : scores[position].LogSum() - x[at];
  });
}

template <typename T>
void InfogainLoss(Stream& stream, int outer, int channels, int inner, const T* x,
                  const Labels<T>& labels, const T* matrix, double divisor, T* loss,
                  T* divided_by) {
  Buffer<Scores<T>> memory(stream, size_t(outer) * inner);
  Scores<T>* scores = memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SumLosses(
      stream, outer * channels * inner, divisor,
      [=] __host__ __device__(int i) {
        const Place place(i, channels, inner);
        const int label = LabelAt(labels, place.position), one = place.channel == 0;
        if (label == kIgnored) return LossSum{0, 0};
        if (label == kInvalid) return LossSum{nan, one};
        const double minus_log = scores[place.position].LogSum() - x[i];
        return LossSum{matrix[label * channels + place.channel] * minus_log, one};
      },
      loss, divided_by);
}

template <typename T>
void InfogainLossGradient(Stream& stream, int outer, int channels, int inner, const T* x,
                          const Labels<T>& labels, const T* matrix, const T* top_diff,
                          const T* divided_by, T* dx) {
  Buffer<Scores<T>> memory(stream, size_t(outer) * inner);
  Buffer<T> row_memory(stream, channels);
  Scores<T>* scores = memory.get();
  T* row_sums = row_memory.get();
  ReadScores(stream, outer, channels, inner, x, scores);
  SumRows<T>(
      stream, channels, channels,
      [=] __host__ __device__(int row, int k) { return matrix[row * channels + k]; },
      [=] __host__ __device__(int row, T sum) { row_sums[row] = sum; });
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ForEach(stream, outer * channels * inner, [=] __host__ __device__(int i) {
    const Place place(i, channels, inner);
    const int label = LabelAt(labels, place.position);
    if (label < 0) {
      dx[i] = label == kIgnored ? T(0) : nan;
      return;
    }
    const T probability = scores[place.position].Probability(x[i]);
    dx[i] = *top_diff / *divided_by *
            (probability * row_sums[label] - matrix[label * channels + place.channel]);
  });
}

#define INSTANTIATE_LABEL(T, Label)                                                         \
  template void SoftmaxLoss(Stream&, int, int, int, const T*, const SoftmaxTargets<Label>&, \
                            double, Label*, Label*);
#define INSTANTIATE_PAIR(T, D)                                                                     \
  template void SoftmaxGradient(Stream&, int, int, int, const T*, const D*, D*);                   \
  template void SoftmaxLossGradient(Stream&, int, int, int, const T*,                              \
                                    const SoftmaxTargets<float>&, const float*, const float*, D*); \
  template void SoftmaxLossGradient(Stream&, int, int, int, const T*,                              \
                                    const SoftmaxTargets<double>&, const double*, const double*,   \
                                    D*);
#define INSTANTIATE(T)                                         \
  template void Softmax(Stream&, int, int, int, const T*, T*); \
  INSTANTIATE_LABEL(T, float)                                  \
  INSTANTIATE_LABEL(T, double)
#define INSTANTIATE_LAYER(T)                                                                       \
  template void SoftmaxLossOfEach(Stream&, int, int, int, const T*, const Labels<T>&, T*);         \
  template void InfogainLoss(Stream&, int, int, int, const T*, const Labels<T>&, const T*, double, \
                             T*, T*);                                                              \
  template void InfogainLossGradient(Stream&, int, int, int, const T*, const Labels<T>&, const T*, \
                                     const T*, const T*, T*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
CAFFE_FOR_EACH_PAIR(INSTANTIATE_PAIR)
INSTANTIATE_LAYER(float)
INSTANTIATE_LAYER(double)

}  // namespace caffe::cuda
