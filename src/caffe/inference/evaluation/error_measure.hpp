#ifndef CAFFE_INFERENCE_ERROR_MEASURE_HPP_
#define CAFFE_INFERENCE_ERROR_MEASURE_HPP_

#include <cstddef>
#include <cstdint>

namespace caffe::inference {

/// The error of values against a reference, over any number of pieces.
class ErrorMeasure {
 public:
  void Add(const float* reference, const float* values, size_t count);
  /// A piece of another shape than its reference, as of detections: it cannot be compared.
  void AddOtherShape() { ++other_shapes_; }

  size_t count() const { return count_; }
  int other_shapes() const { return other_shapes_; }
  /// Values that are finite on one side only: no part of other measures, but SignalToNoise and
  /// Relative are as bad as possible.
  int64_t not_finite() const { return not_finite_; }
  /// Values that are finite on neither side, which are no part of any measure.
  int64_t not_compared() const { return not_compared_; }

  double largest_reference() const { return largest_reference_; }  ///< magnitude
  double max_error() const { return max_error_; }                  ///< magnitude
  double mean_error() const;                                       ///< of the magnitudes
  /// The cosine of the angle between the two as vectors; 1 where both are zero, 0 where one is.
  double Cosine() const;
  /// The mean square of the references over that of the errors, in decibels: infinity for no error,
  /// -infinity for errors in what should be zero.
  double SignalToNoise() const;
  /// The root mean square of the errors over that of the references: 0 to infinity.
  double Relative() const;

 private:
  bool IsHopeless() const { return not_finite_ > 0 || other_shapes_ > 0; }

  size_t count_ = 0;
  int64_t not_finite_ = 0, not_compared_ = 0;
  int other_shapes_ = 0;
  double largest_reference_ = 0, max_error_ = 0, sum_error_ = 0;
  double reference_squares_ = 0, value_squares_ = 0, error_squares_ = 0, products_ = 0;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ERROR_MEASURE_HPP_
