#ifndef CAFFE_KERNELS_WEIGHT_PAIRS_HPP_
#define CAFFE_KERNELS_WEIGHT_PAIRS_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace caffe::kernels {

/// The weights of a filter (channels, kernel...) of a convolution of bytes that are multiplied side
/// by side: those of two channels or, of an input in Caffe's order, of two columns of the kernel,
/// unless dilation keeps their inputs apart.
/// Processors without VNNI add their products in 16 bits and saturate (vpmaddubsw), in which twice
/// 255 times 127 does not fit.
class WeightPairs {
 public:
  /// The sum of two weights at most, and at least its negative: 255 times that fits 16 bits.
  static constexpr int kMost = 128;
  /// True if the sum of their products with unsigned bytes fits, whatever these are. Weights of
  /// different signs always do.
  static bool Fits(int a, int b) { return std::abs(a + b) <= kMost; }

  WeightPairs(int channels, const std::vector<int>& kernel, int column_dilation, bool plain_input)
      : columns_(plain_input ? kernel.back() : channels) {
    size_t taps = 1;
    for (const int extent : kernel) taps *= extent;
    rows_ = plain_input ? channels * (taps / columns_) : taps;
    row_step_ = plain_input ? columns_ : 1;
    step_ = plain_input ? 1 : taps;
    if (plain_input && column_dilation > 1) rows_ = 0;
  }

  /// True if all pairs of a filter fit.
  bool AllFit(const int8_t* weights) const {
    bool fit = true;
    ForEach([&](size_t i, size_t j) { fit = fit && Fits(weights[i], weights[j]); });
    return fit;
  }

  /// Calls f(i, j) with the numbers of both weights in the filter.
  template <typename Function>
  void ForEach(Function&& f) const {
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t column = 0; column + 1 < columns_; column += 2) {
        const size_t i = row * row_step_ + column * step_;
        f(i, i + step_);
      }
    }
  }

 private:
  size_t columns_, rows_;   // pairs lie in a row
  size_t row_step_, step_;  // weights from one row, and one column, to the next
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_WEIGHT_PAIRS_HPP_
