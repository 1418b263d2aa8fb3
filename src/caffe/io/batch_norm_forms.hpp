#ifndef CAFFE_IO_BATCH_NORM_FORMS_HPP_
#define CAFFE_IO_BATCH_NORM_FORMS_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace caffe {

// A trained batch normalization of C channels lies in files in one of four forms:
//
//   BVLC            BatchNorm: mean * factor (C), variance * factor (C), factor (1);
//                   followed by a Scale layer: scale (C), bias (C)
//   NVCaffe, 3      mean (C), variance (C), one reserved value (1)
//   NVCaffe, 5      mean (C), variance (C), factor (1), scale (C), bias (C)
//   DIGITS          scale (C), bias (C), mean (C), variance (C), reserved (1): NVCaffe 0.15's order
//
// Three blobs mean BVLC's form: the statistics are divided by the third. NVCaffe stores 1 there,
// so its files read right too, except those of NVCaffe before 0.16.5, which hold 0; BVLC Caffe
// takes such statistics as zeros (no batch was seen yet), and so does this. The third of NVCaffe's
// five is 1, too; where it is not, statistics are divided by it as BVLC's are, but for 0, which
// counts as 1.

/// The statistics with the factor taken out: each divided by `factor`; zeros if it is 0.
void NormalizeStatistics(float factor, float* mean, float* variance, size_t channels);

/// All of a batch normalization with its scale and bias, statistics normalized.
struct BatchNormBlobs {
  std::vector<float> mean, variance, scale, bias;
};

/// From BVLC's BatchNorm and Scale blobs. An empty scale means ones, an empty bias zeros. Throws
/// Error unless mean and variance, and scale and bias where given, have equal lengths.
BatchNormBlobs FromBvlcBatchNorm(const std::vector<float>& mean, const std::vector<float>& variance,
                                 float factor, const std::vector<float>& scale = {},
                                 const std::vector<float>& bias = {});

/// NVCaffe's five blobs: mean, variance, {1}, scale, bias.
std::array<std::vector<float>, 5> ToNvcaffeBatchNorm(const BatchNormBlobs& blobs);

/// From NVCaffe's five blobs in today's order, statistics divided by the third unless it is 0, or
/// in DIGITS's order, whose reserved value is not looked at, as in loading. Throws Error unless the
/// lengths are those of one of the two.
BatchNormBlobs FromNvcaffeBatchNorm(const std::array<std::vector<float>, 5>& blobs);

/// True if five blobs with these numbers of elements are in DIGITS's order. With one channel both
/// orders have the same lengths, and today's is assumed.
bool IsDigitsOrder(const std::vector<int64_t>& counts);

/// Which of the blobs in DIGITS's order comes first, second, ... in today's.
constexpr std::array<int, 5> kFromDigitsOrder = {2, 3, 4, 0, 1};

}  // namespace caffe

#endif  // CAFFE_IO_BATCH_NORM_FORMS_HPP_
