// Entropy calibration. thresholds.hpp says what is computed and how ambiguities are resolved.
#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/kernels/ceil_div.hpp"

namespace caffe {
namespace {

double XLogX(double x) { return x > 0 ? x * std::log(x) : 0; }

/// The first bin of a level; the last level ends where the one behind it would begin.
int LevelBegin(int level, int kept, int levels) {
  return static_cast<int>(kernels::CeilDiv(int64_t(level) * kept, levels));
}

/// Sums over the first bins, from which the sums over any level follow by one subtraction.
class PrefixSums {
 public:
  explicit PrefixSums(const std::vector<int64_t>& bins) {
    for (int64_t count : bins) {
      counts_.push_back(counts_.back() + double(count));
      filled_.push_back(filled_.back() + (count > 0));
      x_log_x_.push_back(x_log_x_.back() + XLogX(double(count)));
    }
  }
  double total() const { return counts_.back(); }
  double Count(int begin, int end) const { return counts_[end] - counts_[begin]; }
  int Filled(int begin, int end) const { return filled_[end] - filled_[begin]; }
  double XLogXSum(int end) const { return x_log_x_[end]; }

 private:
  std::vector<double> counts_{0}, x_log_x_{0};
  std::vector<int> filled_{0};
};

// With the counts P of the reference, which add up to N, and Q of the levels, which add up to M:
//   sum of P/N log((P/N) / (Q/M)) = (sum of P log P - sum of P log Q) / N - log N + log M.
// P log P is known for all prefixes; log Q is the same for all filled bins of a level.
double Divergence(const std::vector<int64_t>& bins, const PrefixSums& sums, int kept, int levels) {
  const double last = double(bins[kept - 1]);
  const double outliers = sums.total() - sums.Count(0, kept);
  const bool lost = outliers > 0 && last == 0;
  const double within = sums.Count(0, kept);
  if (lost || within == 0 || within < outliers) return std::numeric_limits<double>::infinity();
  const double p_log_p = sums.XLogXSum(kept) - XLogX(last) + XLogX(last + outliers);
  double p_log_q = 0, log_of_last = 0;
  int begin = 0;
  for (int level = 0; level < levels; ++level) {
    const int end = LevelBegin(level + 1, kept, levels);
    const double count = sums.Count(begin, end);
    if (count > 0) {
      log_of_last = std::log(count / sums.Filled(begin, end));
      p_log_q += count * log_of_last;
    }
    begin = end;
  }
  if (outliers > 0) p_log_q += outliers * log_of_last;  // the last level is filled: `last` > 0
  const double divergence =
      (p_log_p - p_log_q) / sums.total() + std::log(sums.Count(0, kept) / sums.total());
  return std::max(0.0, divergence);  // rounding may make it negative
}

}  // namespace

std::vector<double> EntropyDivergences(const std::vector<int64_t>& bins, int levels) {
  const PrefixSums sums(bins);
  const int all = static_cast<int>(bins.size());
  std::vector<double> divergences;
  for (int kept = std::min(levels, all); kept <= all; ++kept) {
    divergences.push_back(kept > 0 ? Divergence(bins, sums, kept, std::min(levels, kept)) : 0);
  }
  return divergences;
}

int ChooseByEntropy(const std::vector<int64_t>& bins, int levels) {
  const std::vector<double> divergences = EntropyDivergences(bins, levels);
  size_t best = divergences.size() - 1;
  for (size_t i = best; i-- > 0;) {
    if (divergences[i] < divergences[best]) best = i;
  }
  return std::min(levels, static_cast<int>(bins.size())) + static_cast<int>(best);
}

std::vector<double> QuantizedDistribution(const std::vector<int64_t>& bins, int kept, int levels) {
  std::vector<double> quantized(kept, 0);
  for (int level = 0; level < levels; ++level) {
    const int begin = LevelBegin(level, kept, levels), end = LevelBegin(level + 1, kept, levels);
    double count = 0;
    int filled = 0;
    for (int i = begin; i < end; ++i) {
      count += double(bins[i]);
      filled += bins[i] > 0;
    }
    for (int i = begin; i < end; ++i) {
      if (bins[i] > 0) quantized[i] = count / filled;
    }
  }
  return quantized;
}

double EntropyThreshold(const Histogram& histogram, bool is_unsigned) {
  const int used = histogram.used_bins();
  if (used == 0) return 0;
  const std::vector<int64_t> bins(histogram.bins().begin(), histogram.bins().begin() + used);
  const int kept = ChooseByEntropy(bins, is_unsigned ? kUint8Levels : kInt8Levels);
  return std::min<double>(kept * histogram.width(), histogram.largest());
}

}  // namespace caffe
