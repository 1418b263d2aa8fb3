#include "caffe/io/batch_norm_forms.hpp"

#include "caffe/error.hpp"

namespace caffe {

namespace {

void RequireLength(const std::vector<float>& blob, size_t channels, const char* name) {
  Require(blob.size() == channels, "batch normalization: ", name, " has ", blob.size(),
          " elements, and the mean has ", channels);
}

}  // namespace

void NormalizeStatistics(float factor, float* mean, float* variance, size_t channels) {
  const float scale = factor == 0 ? 0 : 1 / factor;
  for (size_t c = 0; c < channels; ++c) {
    mean[c] *= scale;
    variance[c] *= scale;
  }
}

BatchNormBlobs FromBvlcBatchNorm(const std::vector<float>& mean, const std::vector<float>& variance,
                                 float factor, const std::vector<float>& scale,
                                 const std::vector<float>& bias) {
  const size_t channels = mean.size();
  BatchNormBlobs blobs{mean, variance, scale, bias};
  if (scale.empty()) blobs.scale.assign(channels, 1);
  if (bias.empty()) blobs.bias.assign(channels, 0);
  RequireLength(blobs.variance, channels, "the variance");
  RequireLength(blobs.scale, channels, "the scale");
  RequireLength(blobs.bias, channels, "the bias");
  NormalizeStatistics(factor, blobs.mean.data(), blobs.variance.data(), channels);
  return blobs;
}

std::array<std::vector<float>, 5> ToNvcaffeBatchNorm(const BatchNormBlobs& blobs) {
  return {blobs.mean, blobs.variance, {1.f}, blobs.scale, blobs.bias};
}

BatchNormBlobs FromNvcaffeBatchNorm(const std::array<std::vector<float>, 5>& blobs) {
  std::vector<int64_t> counts;
  for (const auto& blob : blobs) counts.push_back(static_cast<int64_t>(blob.size()));
  const bool digits = IsDigitsOrder(counts);
  const auto at = [&](int i) { return blobs[digits ? kFromDigitsOrder[i] : i]; };
  Require(at(2).size() == 1, "batch normalization: five blobs need one with a single value");
  BatchNormBlobs result{at(0), at(1), at(3), at(4)};
  RequireLength(result.variance, result.mean.size(), "the variance");
  RequireLength(result.scale, result.mean.size(), "the scale");
  RequireLength(result.bias, result.mean.size(), "the bias");
  const float factor = digits || at(2)[0] == 0 ? 1 : at(2)[0];
  NormalizeStatistics(factor, result.mean.data(), result.variance.data(), result.mean.size());
  return result;
}

bool IsDigitsOrder(const std::vector<int64_t>& counts) {
  return counts.size() == 5 && counts[4] == 1 && counts[2] != 1;
}

}  // namespace caffe
