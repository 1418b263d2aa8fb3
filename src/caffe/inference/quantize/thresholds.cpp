#include "caffe/inference/quantize/thresholds.hpp"

#include <algorithm>

#include "caffe/error.hpp"

namespace caffe {
namespace {

int64_t FiniteCount(const Histogram& histogram) { return histogram.nonzeros() + histogram.zeros(); }

/// The histogram's magnitudes as a density that is constant inside each bin, in units of the bins'
/// width: the integrals of the density, of x times it and of x^2 times it from 0 to any point. The
/// last bin ends at the largest magnitude.
class Density {
 public:
  explicit Density(const Histogram& histogram)
      : used_(histogram.used_bins()),
        // A last bin without width would have no density.
        end_(std::max(histogram.largest() / histogram.width(), used_ - 1 + 1e-3)) {
    Moments sum;
    for (int i = 0; i < used_; ++i) {
      const double upper = std::min<double>(i + 1, end_);
      const double density = double(histogram.bins()[i]) / (upper - i);
      prefix_.push_back(sum);
      density_.push_back(density);
      sum += Part(density, i, upper);
    }
    prefix_.push_back(sum);
  }

  struct Moments {
    double count = 0, first = 0, second = 0;
    Moments& operator+=(const Moments& other) {
      count += other.count;
      first += other.first;
      second += other.second;
      return *this;
    }
    Moments operator-(const Moments& other) const {
      return {count - other.count, first - other.first, second - other.second};
    }
    /// The integral of (x - center)^2 times the density.
    double SquareAround(double center) const {
      return second - 2 * center * first + center * center * count;
    }
  };

  /// From 0 to x.
  Moments UpTo(double x) const {
    if (x >= end_) return prefix_[used_];
    const int bin = static_cast<int>(x);
    Moments moments = prefix_[bin];
    moments += Part(density_[bin], bin, x);
    return moments;
  }
  Moments all() const { return prefix_[used_]; }
  /// The largest magnitude.
  double end() const { return end_; }

 private:
  static Moments Part(double density, double from, double to) {
    return {density * (to - from), density * (to * to - from * from) / 2,
            density * (to * to * to - from * from * from) / 3};
  }

  const int used_;
  const double end_;
  std::vector<Moments> prefix_;  // up to the beginning of each bin
  std::vector<double> density_;
};

/// The sum of squared errors. The magnitudes that are rounded to k steps lie between k - 1/2 and
/// k + 1/2 steps; those above the threshold become the last one, too.
double SquaredError(const Density& density, double threshold, int steps) {
  const double step = threshold / steps;
  Density::Moments before;
  double error = 0;
  for (int k = 0; k <= steps; ++k) {
    const Density::Moments up_to = k < steps ? density.UpTo((k + 0.5) * step) : density.all();
    error += std::max(0.0, (up_to - before).SquareAround(k * step));
    before = up_to;
    if (before.count >= density.all().count) break;
  }
  return error;
}

}  // namespace

double MinMaxThreshold(const Histogram& histogram) { return histogram.largest(); }

double PercentileThreshold(const Histogram& histogram, double percent) {
  Require(percent > 0 && percent <= 100, "a percentile lies above 0 and at most at 100, not at ",
          percent);
  if (percent == 100 || histogram.nonzeros() == 0) return histogram.largest();
  const double wanted = percent / 100 * double(FiniteCount(histogram));
  double below = double(histogram.zeros());
  for (int i = 0; i < histogram.used_bins(); ++i) {
    const double count = double(histogram.bins()[i]);
    if (count > 0 && below + count >= wanted) {
      const double part = std::max(0.0, wanted - below) / count;
      const double threshold = (i + part) * histogram.width();
      // A share of zeros above `percent` asks for a threshold of 0: one bin is the least.
      return std::min<double>(std::max(threshold, histogram.width()), histogram.largest());
    }
    below += count;
  }
  return histogram.largest();
}

double MseThreshold(const Histogram& histogram, int steps) {
  if (histogram.nonzeros() == 0) return 0;
  const Density density(histogram);
  int best = kMseCandidates;
  double least = SquaredError(density, density.end(), steps);
  for (int i = kMseCandidates - 1; i > 0; --i) {
    const double error = SquaredError(density, density.end() * i / kMseCandidates, steps);
    if (error < least) {
      least = error;
      best = i;
    }
  }
  return double(histogram.largest()) * best / kMseCandidates;
}

double QuantizationError(const Histogram& histogram, double threshold, int steps) {
  if (histogram.nonzeros() == 0) return 0;
  const double width = histogram.width();
  return SquaredError(Density(histogram), threshold / width, steps) * width * width /
         double(FiniteCount(histogram));
}

double MeanSquare(const Histogram& histogram) {
  if (histogram.nonzeros() == 0) return 0;
  const double width = histogram.width();
  return Density(histogram).all().second * width * width / double(FiniteCount(histogram));
}

double SaturatedShare(const Histogram& histogram, double threshold) {
  if (histogram.nonzeros() == 0 || threshold >= histogram.largest()) return 0;
  const Density density(histogram);
  const double above = density.all().count - density.UpTo(threshold / histogram.width()).count;
  return above / double(FiniteCount(histogram));
}

}  // namespace caffe
