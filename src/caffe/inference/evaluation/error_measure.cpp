#include "caffe/inference/evaluation/error_measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace caffe::inference {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

void ErrorMeasure::Add(const float* reference, const float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double x = reference[i], y = values[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      ++(std::isfinite(x) == std::isfinite(y) ? not_compared_ : not_finite_);
      continue;
    }
    const double error = std::abs(x - y);
    ++count_;
    largest_reference_ = std::max(largest_reference_, std::abs(x));
    max_error_ = std::max(max_error_, error);
    sum_error_ += error;
    reference_squares_ += x * x;
    value_squares_ += y * y;
    error_squares_ += error * error;
    products_ += x * y;
  }
}

double ErrorMeasure::mean_error() const { return count_ == 0 ? 0 : sum_error_ / count_; }

double ErrorMeasure::Cosine() const {
  if (reference_squares_ == 0 && value_squares_ == 0) return 1;
  if (reference_squares_ == 0 || value_squares_ == 0) return 0;
  return products_ / std::sqrt(reference_squares_) / std::sqrt(value_squares_);
}

double ErrorMeasure::SignalToNoise() const {
  if (IsHopeless()) return -kInfinity;
  if (error_squares_ == 0) return kInfinity;
  return 10 * std::log10(reference_squares_ / error_squares_);
}

double ErrorMeasure::Relative() const {
  if (IsHopeless()) return kInfinity;
  if (error_squares_ == 0) return 0;
  return std::sqrt(error_squares_ / reference_squares_);
}

}  // namespace caffe::inference
