#ifndef CAFFE_INFERENCE_THRESHOLDS_HPP_
#define CAFFE_INFERENCE_THRESHOLDS_HPP_

#include <cstdint>
#include <vector>

#include "caffe/inference/histogram.hpp"

namespace caffe {

/// The number of positive steps of an 8-bit activation: 127 of int8, 255 of uint8. A value x
/// becomes round(x / scale), saturated, with scale = threshold / steps.
constexpr int kInt8Steps = 127;
constexpr int kUint8Steps = 255;
constexpr int StepsOf(bool is_unsigned) { return is_unsigned ? kUint8Steps : kInt8Steps; }

/// Each chooses the threshold at which a blob's magnitudes saturate. They are pure functions of the
/// histogram and return a number above 0 and at most histogram.largest(), or 0 if the blob has no
/// finite value but 0.

/// The largest magnitude: nothing saturates.
double MinMaxThreshold(const Histogram& histogram);

/// The smallest threshold that `percent` percent of all finite values, zeros included, do not
/// exceed; within a bin magnitudes are spread evenly. Throws Error unless 0 < percent <= 100.
double PercentileThreshold(const Histogram& histogram, double percent);

/// The threshold with the least mean squared error of rounding and saturation together, among
/// kMseCandidates equal parts of the largest magnitude. Within a bin magnitudes are assumed to be
/// spread evenly. Exact zeros have no error.
double MseThreshold(const Histogram& histogram, int steps);
constexpr int kMseCandidates = 1024;

/// That error: the mean over all finite values, zeros included, of (x - quantized x)^2.
double QuantizationError(const Histogram& histogram, double threshold, int steps);

/// The mean of x^2 over all finite values, estimated from the histogram; its ratio to
/// QuantizationError is the signal-to-noise ratio.
double MeanSquare(const Histogram& histogram);

/// The share (0 to 1) of finite values above the threshold.
double SaturatedShare(const Histogram& histogram, double threshold);

/// Entropy calibration: the threshold after which the distribution of the quantized magnitudes has
/// the least Kullback-Leibler divergence from that of the magnitudes. After S. Migacz, 8-bit
/// Inference with TensorRT, GTC 2017. A candidate keeps the first m bins. P is the histogram's
/// first m bins, its last one also counting all outliers behind. Q is the same m bins without the
/// outliers, merged to `levels` levels, each level's count then spread over those of its bins that
/// are not empty. Where the talk is silent or ambiguous this is done, each with a unit test:
///
///   zero bin       the talk keeps it. Zeros are exact after quantization: they are not in the
///                  histogram's bins, so that the many zeros behind a ReLU do not pass for an error
///                  of the lowest level. Small values that are not 0 stay in bin 0.
///   outliers       P counts them in bin m - 1, Q does not. If that bin is empty otherwise, Q is 0
///                  where P is not: the divergence is infinite and the candidate is not taken.
///   few kept       a candidate behind which more values lie than it keeps is not taken: where
///   small
///                  values are rare, one that keeps a single filled bin has P and Q of one bin
///                  each, whose divergence is 0.
///   empty bins     of P stay empty in Q and add nothing to the divergence (0 log 0 = 0): no
///                  epsilon is added, whose weight would depend on how much data there is.
///   uneven merge   bin j belongs to level floor(j * levels / m): levels are as equal as whole bins
///                  allow, and no bin is split or left over.
///   no clipping    m = all used bins is a candidate (the talk's loop ends before it); it has no
///                  outliers, so there always is a finite candidate.
///   half bin       the threshold is the upper edge of the last kept bin, m * width, and for all
///                  bins the largest magnitude itself; the talk adds half a bin.
///   levels         128 for int8, as published; 256 for blobs without negative values, which get
///                  twice as many steps.
///   ties           of equal divergences the larger threshold: less is clipped.
///   range          needs no pass of its own (see Histogram).
double EntropyThreshold(const Histogram& histogram, bool is_unsigned);

constexpr int kInt8Levels = 128;
constexpr int kUint8Levels = 256;

/// The divergence for each number of kept bins, m = levels to bins.size(), at index m - levels;
/// infinity for candidates that are not taken. Without a bin beyond `levels` there is one
/// candidate, which keeps them all. Takes O(levels) for a candidate.
std::vector<double> EntropyDivergences(const std::vector<int64_t>& bins, int levels);

/// The number of bins to keep, by the rules above.
int ChooseByEntropy(const std::vector<int64_t>& bins, int levels);

/// Q of the candidate that keeps the first `kept` bins, not normalized: its sum is that of the
/// bins.
std::vector<double> QuantizedDistribution(const std::vector<int64_t>& bins, int kept, int levels);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_THRESHOLDS_HPP_
