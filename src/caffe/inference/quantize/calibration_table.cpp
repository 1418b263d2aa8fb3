#include "caffe/inference/calibration_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {
namespace {

constexpr double kMinThreshold = 1e-30, kMaxThreshold = 3e38;

/// Nine significant digits: enough to tell all floats apart.
double Rounded(double value) { return std::strtod(Formatted("%.9g", value).c_str(), nullptr); }

/// Three significant digits, upwards; what has three stays as it is.
float RoundedUp(float value) {
  if (value == 0) return 0;
  const auto rounded = [](double number) {
    return std::strtof(ThreeDigits(number).c_str(), nullptr);
  };
  const float nearest = rounded(value);
  if (nearest >= value) return nearest;
  return rounded(value + 0.5 * std::pow(10.0, std::floor(std::log10(value)) - 2));
}

}  // namespace

int BlobCalibration::steps() const { return StepsOf(is_unsigned); }

void CalibrationTable::Set(const std::string& blob, BlobCalibration calibration) {
  calibration.threshold = Rounded(calibration.threshold);
  calibration.minimum = Rounded(calibration.minimum);
  calibration.maximum = Rounded(calibration.maximum);
  SetExactly(blob, calibration);
}

void CalibrationTable::SetExactly(const std::string& blob, const BlobCalibration& calibration) {
  Require(!blob.empty(), "a blob without a name");
  Require(calibration.threshold >= kMinThreshold && calibration.threshold <= kMaxThreshold,
          "blob '", blob, "': the threshold ", calibration.threshold, " does not lie between ",
          kMinThreshold, " and ", kMaxThreshold);
  Require(std::isfinite(calibration.minimum) && std::isfinite(calibration.maximum) &&
              calibration.minimum <= calibration.maximum,
          "blob '", blob, "': there is no range from ", calibration.minimum, " to ",
          calibration.maximum);
  Require(calibration.method.find_first_of(" \t\r\n#") == std::string::npos, "blob '", blob,
          "': the method '", calibration.method, "' is not one word");
  if (blobs_.count(blob) == 0) names_.push_back(blob);
  blobs_[blob] = calibration;
}

void CalibrationTable::Remove(const std::string& blob) {
  if (blobs_.erase(blob) > 0) names_.erase(std::find(names_.begin(), names_.end(), blob));
}

const BlobCalibration* CalibrationTable::Find(const std::string& blob) const {
  const auto found = blobs_.find(blob);
  return found == blobs_.end() ? nullptr : &found->second;
}

const BlobCalibration& CalibrationTable::At(const std::string& blob) const {
  const BlobCalibration* found = Find(blob);
  if (found == nullptr) {
    Fail(Error::File{name_}, ": the table lacks blob '", blob, "'", DidYouMean(blob, names_),
         " Calibrate the net again, or add the blob by hand");
  }
  return *found;
}

void CalibrationTable::SetWeightScales(const std::string& layer, std::vector<float> scales) {
  Require(!layer.empty(), "weight scales of a layer without a name");
  Require(!scales.empty(), "layer '", layer, "': no weight scales");
  for (float scale : scales) {
    Require(std::isnormal(scale) && scale > 0, "layer '", layer, "': the weight scale ", scale,
            " is no normal number above 0");
  }
  weight_scales_[layer] = std::move(scales);
}

void CalibrationTable::SetChannelRanges(const std::string& blob, std::vector<float> largest) {
  Require(!blob.empty(), "channel ranges of a blob without a name");
  Require(!largest.empty(), "blob '", blob, "': no channel ranges");
  for (float& range : largest) {
    Require(std::isfinite(range) && range >= 0, "blob '", blob, "': the channel range ", range,
            " is no magnitude");
    range = RoundedUp(range);
  }
  channel_ranges_[blob] = std::move(largest);
}

void CalibrationTable::SetChannelMeans(const std::string& blob, std::vector<float> means) {
  Require(!blob.empty(), "channel means of a blob without a name");
  Require(!means.empty(), "blob '", blob, "': no channel means");
  for (float& mean : means) {
    Require(std::isfinite(mean), "blob '", blob, "': the channel mean ", mean, " is not a number");
    mean = std::strtof(Formatted("%.5g", mean).c_str(), nullptr);
  }
  channel_means_[blob] = std::move(means);
}

void CalibrationTable::AddComment(const std::string& line) {
  Require(line.find_first_of("\r\n") == std::string::npos, "a comment of one line, not '", line,
          "'");
  comments_.push_back(line);
}

std::string CalibrationTable::WhatIsStale(const NetFingerprint& net) const {
  const auto differs = [](uint64_t ours, uint64_t theirs) { return ours != 0 && ours != theirs; };
  const bool other_net = differs(fingerprint_.net, net.net);
  const bool other_weights = differs(fingerprint_.weights, net.weights);
  if (!other_net && !other_weights) return "";
  return Join(name_, " was made for ",
              other_net ? other_weights ? "another net" : "a net that is connected or set otherwise"
                        : "other weights");
}

}  // namespace caffe
