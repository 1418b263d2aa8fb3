#include "caffe/kernels/ctc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace caffe::kernels {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double LogAdd(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

/// The labels with a blank before, between and after them; a path goes from one of the first two
/// states to one of the last two.
class States {
 public:
  States(const int* labels, int length, int blank) : states_(2 * length + 1, blank) {
    for (int i = 0; i < length; ++i) states_[2 * i + 1] = labels[i];
  }
  int size() const { return static_cast<int>(states_.size()); }
  int operator[](int s) const { return states_[s]; }
  /// A path may skip the blank between two different labels.
  bool MaySkipTo(int s) const { return s >= 2 && s % 2 == 1 && states_[s] != states_[s - 2]; }

 private:
  std::vector<int> states_;
};

/// log p (steps, classes): the logarithm of the softmax of each step.
template <typename T>
std::vector<double> LogSoftmax(int steps, int classes, size_t stride, const T* logits) {
  std::vector<double> log_p(size_t(steps) * classes);
  for (int t = 0; t < steps; ++t) {
    const T* x = logits + t * stride;
    const double largest = *std::max_element(x, x + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    for (int c = 0; c < classes; ++c) {
      log_p[size_t(t) * classes + c] = x[c] - largest - std::log(sum);
    }
  }
  return log_p;
}

}  // namespace

template <typename T>
double CtcLoss(int steps, int classes, size_t stride, const T* logits, const int* labels,
               int length, int blank, T scale, T* gradient) {
  const States states(labels, length, blank);
  const int count = states.size();
  const std::vector<double> log_p = LogSoftmax(steps, classes, stride, logits);
  const auto emission = [&](int t, int s) { return log_p[size_t(t) * classes + states[s]]; };

  // alpha(t, s): all paths to state s at step t, including that step.
  std::vector<double> alphas(size_t(steps) * count, kImpossible);
  const auto alpha = [&](int t, int s) -> double& { return alphas[size_t(t) * count + s]; };
  for (int s = 0; s < std::min(2, count) && steps > 0; ++s) alpha(0, s) = emission(0, s);
  for (int t = 1; t < steps; ++t) {
    for (int s = 0; s < count; ++s) {
      double sum = alpha(t - 1, s);
      if (s >= 1) sum = LogAdd(sum, alpha(t - 1, s - 1));
      if (states.MaySkipTo(s)) sum = LogAdd(sum, alpha(t - 1, s - 2));
      alpha(t, s) = sum + emission(t, s);
    }
  }
  double log_likelihood = kImpossible;
  for (int s = std::max(0, count - 2); s < count && steps > 0; ++s) {
    log_likelihood = LogAdd(log_likelihood, alpha(steps - 1, s));
  }
  if (!gradient) return -log_likelihood;

  // beta(s): all paths from state s at step t to the end, excluding that step.
  std::vector<double> beta(count, kImpossible), later(count);
  for (int s = std::max(0, count - 2); s < count; ++s) beta[s] = 0;
  for (int t = steps - 1; t >= 0; --t) {
    T* dx = gradient + t * stride;
    if (log_likelihood == kImpossible) {
      std::fill_n(dx, classes, T(0));
      continue;
    }
    if (t < steps - 1) {
      for (int s = 0; s < count; ++s) later[s] = beta[s] + emission(t + 1, s);
      for (int s = 0; s < count; ++s) {
        beta[s] = later[s];
        if (s + 1 < count) beta[s] = LogAdd(beta[s], later[s + 1]);
        if (s + 2 < count && states.MaySkipTo(s + 2)) beta[s] = LogAdd(beta[s], later[s + 2]);
      }
    }
    for (int c = 0; c < classes; ++c) {
      dx[c] = static_cast<T>(scale * std::exp(log_p[size_t(t) * classes + c]));
    }
    for (int s = 0; s < count; ++s) {
      dx[states[s]] -= static_cast<T>(scale * std::exp(alpha(t, s) + beta[s] - log_likelihood));
    }
  }
  return -log_likelihood;
}

template double CtcLoss(int, int, size_t, const float*, const int*, int, int, float, float*);
template double CtcLoss(int, int, size_t, const double*, const int*, int, int, double, double*);

}  // namespace caffe::kernels
