#ifndef CAFFE_INFERENCE_HISTOGRAM_HPP_
#define CAFFE_INFERENCE_HISTOGRAM_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caffe {

/// A histogram of the magnitudes of a blob's values, with exact counts of special values.
///
/// Values may arrive in any order and number: when one exceeds the range, the range doubles and
/// neighbouring bins are merged, so that one pass over the data is enough. Bins are a power of two
/// wide. So every value falls into its bin exactly, and the result depends on the values alone, not
/// on their order, batches or threads. Of the kBins bins more than half lie below the largest
/// value: at least as many as the 2048 of the published recipe for entropy calibration, which has
/// to know the largest value before it begins.
class Histogram {
 public:
  static constexpr int kBins = 4096;

  /// Counts `count` values, on all cores.
  void Add(const float* values, size_t count);
  /// Adds another histogram's counts, as if its values had been added here.
  void Merge(const Histogram& other);

  /// Values seen, and those of them that are exactly 0, below 0, infinite, not a number.
  int64_t count() const { return count_; }
  int64_t zeros() const { return zeros_; }
  int64_t negatives() const { return negatives_; }
  int64_t infinite() const { return infinite_; }
  int64_t not_a_number() const { return not_a_number_; }
  /// Finite values that are not 0: what is in the bins.
  int64_t nonzeros() const { return count_ - zeros_ - infinite_ - not_a_number_; }

  /// The smallest and the largest finite value, and the largest magnitude; 0 if there is none.
  float minimum() const { return minimum_; }
  float maximum() const { return maximum_; }
  float largest() const;
  /// No value is below 0: an unsigned integer can represent the blob.
  bool IsNonNegative() const { return negatives_ == 0; }
  /// All finite values are equal (or there is none).
  bool IsConstant() const { return minimum_ == maximum_; }

  /// Bin i counts the finite values, without zeros, with i * width() <= |x| < (i + 1) * width().
  /// Empty before the first one.
  const std::vector<int64_t>& bins() const { return bins_; }
  double width() const;
  /// Bins up to that of the largest magnitude; those after it are empty.
  int used_bins() const;

 private:
  void AddSerial(const float* values, size_t count);
  void CountFinite(const float* values, size_t count, std::vector<uint32_t>* counts);
  void GrowTo(int exponent);
  void SeeRange(float least, float most);

  int exponent_ = 0;  // bins are 2^exponent_ wide
  std::vector<int64_t> bins_;
  int64_t count_ = 0, zeros_ = 0, negatives_ = 0, infinite_ = 0, not_a_number_ = 0;
  bool any_finite_ = false;
  float minimum_ = 0, maximum_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_INFERENCE_HISTOGRAM_HPP_
