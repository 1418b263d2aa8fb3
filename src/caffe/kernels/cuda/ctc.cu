#include "caffe/kernels/cuda/ctc.hpp"

#include "reduce.hpp"

namespace caffe::cuda {
namespace {

/// log(e^a + e^b); -infinity is log 0.
__host__ __device__ inline double LogAdd(double a, double b) {
  const double high = Max(a, b), low = Min(a, b);
  return high == low ? high + log(2.) : high + log1p(exp(low - high));
}

/// Arguments of the recursions over the steps. States of a target are its labels with a blank
/// before, between and after them; arrays of states are (..., sequences, count).
template <typename T>
struct Recursion {
  int classes, count;  ///< count: 2 most + 1 states, of which a sequence may have fewer
  CtcTargets targets;
  const T* logits;
  const double* log_sum;  ///< (steps, sequences): of softmax
  double impossible;      ///< -infinity
  double* alpha;          ///< (steps, sequences, count): all paths to a state, including its step

  __host__ __device__ int States(int n) const { return 2 * targets.length[n] + 1; }
  __host__ __device__ int ClassOf(int n, int s) const {
    return s % 2 == 0 ? targets.blank : targets.label[n * targets.most + s / 2];
  }
  __host__ __device__ bool MaySkipTo(int n, int s) const {
    return s >= 2 && s % 2 == 1 && ClassOf(n, s) != ClassOf(n, s - 2);
  }
  __host__ __device__ double LogP(int t, int n, int c) const {
    const int row = t * targets.sequences + n;
    return logits[row * classes + c] - log_sum[row];
  }
  __host__ __device__ double Emission(int t, int n, int s) const {
    return LogP(t, n, ClassOf(n, s));
  }
  __host__ __device__ double* Alpha(int t, int n) const {
    return alpha + (t * targets.sequences + n) * count;
  }
  __host__ __device__ void StepAlpha(int t, int n, int s) const {
    double sum = s < 2 && s < States(n) ? 0 : impossible;
    if (t > 0) {
      const double* before = Alpha(t - 1, n);
      sum = before[s];
      if (s >= 1) sum = LogAdd(sum, before[s - 1]);
      if (MaySkipTo(n, s)) sum = LogAdd(sum, before[s - 2]);
    }
    Alpha(t, n)[s] = sum + Emission(t, n, s);
  }
  __host__ __device__ double LogLikelihood(int n) const {
    const int steps = targets.steps[n], states = States(n);
    if (steps == 0) return impossible;
    const double* last = Alpha(steps - 1, n);
    return states == 1 ? last[0] : LogAdd(last[states - 1], last[states - 2]);
  }
};

template <typename T>
void LogSums(Stream& stream, int rows, int classes, const T* logits, double* log_sum) {
  const double lowest = -std::numeric_limits<double>::infinity();
  ReduceRows(
      stream, rows, classes, lowest,
      [=] __host__ __device__(int row, int c) { return double(logits[row * classes + c]); },
      [] __host__ __device__(double a, double b) { return Max(a, b); },
      [=] __host__ __device__(int row, double largest) { log_sum[row] = largest; });
  SumRows<double>(
      stream, rows, classes,
      [=] __host__ __device__(int row, int c) {
        return exp(logits[row * classes + c] - log_sum[row]);
      },
      [=] __host__ __device__(int row, double sum) { log_sum[row] += log(sum); });
}

/// Memory for a Recursion, and its forward half.
template <typename T>
class Forward {
 public:
  Forward(Stream& stream, int steps, int classes, const T* logits, const CtcTargets& targets)
      : log_sum_(stream, size_t(steps) * targets.sequences),
        alpha_(stream, size_t(steps) * targets.sequences * (2 * targets.most + 1)),
        recursion_{classes,     2 * targets.most + 1, targets,
                   logits,      log_sum_.get(),       -std::numeric_limits<double>::infinity(),
                   alpha_.get()} {
    LogSums(stream, steps * targets.sequences, classes, logits, log_sum_.get());
  }
  const Recursion<T>& recursion() const { return recursion_; }

 private:
  Buffer<double> log_sum_, alpha_;
  const Recursion<T> recursion_;
};

template <typename T>
void RunForward(Stream& stream, int steps, const Recursion<T>& r) {
  for (int t = 0; t < steps; ++t) {
    ForEach(stream, r.targets.sequences * r.count, [=] __host__ __device__(int i) {
      const int n = i / r.count, s = i % r.count;
      if (s < r.States(n)) r.StepAlpha(t, n, s);
    });
  }
}

}  // namespace

template <typename T>
void CtcLoss(Stream& stream, int steps, int classes, const T* logits, const CtcTargets& targets,
             T* loss) {
  const Forward<T> forward(stream, steps, classes, logits, targets);
  const Recursion<T> r = forward.recursion();
  RunForward(stream, steps, r);
  SumLosses<T>(
      stream, targets.sequences, targets.sequences,
      [=] __host__ __device__(int n) {
        const double value = r.LogLikelihood(n);
        return LossSum{value == r.impossible ? 0. : -value, 1};
      },
      loss, nullptr);
}

template <typename T>
void CtcLossGradient(Stream& stream, int steps, int classes, const T* logits,
                     const CtcTargets& targets, double divisor, const T* top_diff, T* gradient) {
  const Forward<T> forward(stream, steps, classes, logits, targets);
  const Recursion<T> r = forward.recursion();
  RunForward(stream, steps, r);
  // beta: all paths from a state to the end, excluding its own step.
  const int step = targets.sequences * r.count;
  Buffer<double> memory(stream, size_t(steps) * step);
  double* beta = memory.get();
  for (int t = steps - 1; t >= 0; --t) {
    ForEach(stream, step, [=] __host__ __device__(int i) {
      const int n = i / r.count, s = i % r.count, states = r.States(n);
      if (s >= states || t >= r.targets.steps[n]) return;
      double* now = beta + t * step + i;
      if (t == r.targets.steps[n] - 1) {
        *now = s >= states - 2 ? 0 : r.impossible;
        return;
      }
      const double* next = now + step;
      double sum = next[0] + r.Emission(t + 1, n, s);
      if (s + 1 < states) sum = LogAdd(sum, next[1] + r.Emission(t + 1, n, s + 1));
      if (s + 2 < states && r.MaySkipTo(n, s + 2)) {
        sum = LogAdd(sum, next[2] + r.Emission(t + 1, n, s + 2));
      }
      *now = sum;
    });
  }
  const T by = static_cast<T>(divisor);
  ForEach(stream, steps * targets.sequences * classes, [=] __host__ __device__(int i) {
    const int c = i % classes, n = i / classes % r.targets.sequences;
    const int t = i / classes / r.targets.sequences;
    const double likelihood = t < r.targets.steps[n] ? r.LogLikelihood(n) : r.impossible;
    if (likelihood == r.impossible) {
      gradient[i] = 0;
      return;
    }
    double share = 0;  // of the paths that are at class c at this step
    for (int s = 0; s < r.States(n); ++s) {
      if (r.ClassOf(n, s) != c) continue;
      share += exp(r.Alpha(t, n)[s] + beta[t * step + n * r.count + s] - likelihood);
    }
    gradient[i] = *top_diff / by * static_cast<T>(exp(r.LogP(t, n, c)) - share);
  });
}

#define INSTANTIATE(T)                                                                            \
  template void CtcLoss(Stream&, int, int, const T*, const CtcTargets&, T*);                      \
  template void CtcLossGradient(Stream&, int, int, const T*, const CtcTargets&, double, const T*, \
                                T*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace caffe::cuda
