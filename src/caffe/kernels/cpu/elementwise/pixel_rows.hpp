#ifndef CAFFE_KERNELS_CPU_PIXEL_ROWS_HPP_
#define CAFFE_KERNELS_CPU_PIXEL_ROWS_HPP_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"

namespace caffe::kernels {

/// Sums are taken in at most so many parts.
constexpr size_t kMaxSegments = 32;

/// An array of pixels as rows of `period` numbers, which vectors divide unless there are very many
/// channels: of one pixel or of several. `rest` numbers are behind the last row.
struct PixelRows {
  PixelRows(size_t pixels, size_t channels) : channels(channels) {
    constexpr size_t kVectorLanes = 16;  // of the widest vectors
    constexpr size_t kManyChannels = 256, kFewNumbers = 64;
    period = channels >= kManyChannels ? channels : std::lcm(channels, kVectorLanes);
    // Sums of more numbers wait less for one another.
    if (period < kFewNumbers) period *= CeilDiv(kFewNumbers, period);
    rows = pixels * channels / period;
    rest = pixels * channels % period;
  }
  size_t offset_of_rest() const { return rows * period; }
  /// Values of each channel, repeated for all pixels of a row; 0 if they are null.
  std::vector<float> OfRow(const float* values) const {
    std::vector<float> row(period, 0.f);
    for (size_t i = 0; values && i < period; i += channels) {
      std::copy_n(values, channels, row.begin() + i);
    }
    return row;
  }

  size_t channels, period, rows, rest;
};

/// The moments of some values.
struct ValueMoments {
  double count = 0, mean = 0, squares = 0;
  void Add(const ValueMoments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, difference = other.mean - mean;
    squares += other.squares + difference * difference * count * other.count / all;
    mean += difference * other.count / all;
    count = all;
  }
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PIXEL_ROWS_HPP_
