#ifndef CAFFE_INFERENCE_CALIBRATION_TABLE_HPP_
#define CAFFE_INFERENCE_CALIBRATION_TABLE_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "caffe/inference/net_fingerprint.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// How the values of one blob become 8-bit integers: q = round(x / scale()), saturated.
struct BlobCalibration {
  /// The magnitude that becomes the largest integer; above 0.
  double threshold = 0;
  bool is_unsigned = false;         ///< uint8 (0 to 255) instead of int8 (-127 to 127)
  double minimum = 0, maximum = 0;  ///< values that were seen; both 0 if unknown
  std::string method;               ///< how the threshold was chosen; "" if unknown

  int steps() const;
  /// The factor of an integer: threshold / 127 for int8, threshold / 255 for uint8.
  double scale() const { return threshold / steps(); }
};

/// The outcome of a calibration: what INT8 needs to know about each blob of a net, by the blob's
/// name. A blob that layers change in place has the range of its final values.
///
/// The file is text, meant to be read and edited (docs/calibration.md describes it):
///
///     cortado calibration table 1
///     net: 90b1d0e3a1f3c5d7
///     weights: 0f3a64c09b1e2d48
///     images: 1000
///     # error of the outputs on 32 images: mse 1.24 %, entropy 5.61 %: mse
///
///     activations:
///     # blob   threshold    type  minimum  maximum     method
///     "data"   0.99609375   u8    0        0.99609375  entropy
///     "conv1"  3.38647461   s8    -3.1525  3.94210052  entropy
///
///     weight scales:
///     "conv1"  0.00303 0.00271
///
///     channel ranges:
///     "conv1"  3.39 0.524
///
///     channel means:
///     "conv1"  0.71 -0.012
///
/// '#' begins a comment; those before the first section are kept. Names are in quotes; \"
/// \\ \n \t and \xHH stand for what they do in C. Only threshold and type are required.
class CalibrationTable {
 public:
  /// Throws Error with the file, the line, and what is wrong there. `name` stands for the file in
  /// messages.
  static CalibrationTable Parse(const std::string& text, const std::string& name);
  static CalibrationTable Read(const std::string& file);

  std::string Text() const;
  /// The file is written aside, then renamed.
  void Write(const std::string& file) const;

  /// Appends a blob, or replaces its entry. Numbers are rounded to 9 digits, so that the file holds
  /// them exactly. Throws Error if the threshold is not between 1e-30 and 3e38, the range in which
  /// scales are normal floats.
  void Set(const std::string& blob, BlobCalibration calibration);
  /// The same with every digit, for thresholds that come from a file.
  void SetExactly(const std::string& blob, const BlobCalibration& calibration);
  void Remove(const std::string& blob);

  /// Null if the table lacks the blob.
  const BlobCalibration* Find(const std::string& blob) const;
  /// Throws Error that names table, blob and similar names.
  const BlobCalibration& At(const std::string& blob) const;
  /// In the order of the file.
  const std::vector<std::string>& blobs() const { return names_; }

  /// Scales of the weights per output channel, by layer. Optional: they follow from the weights
  /// (WeightScales).
  const std::map<std::string, std::vector<float>>& weight_scales() const { return weight_scales_; }
  /// Throws Error unless all are normal numbers above 0.
  void SetWeightScales(const std::string& layer, std::vector<float> scales);

  /// The largest magnitude seen in each channel (axis 1), by blob. Optional: without them channels
  /// are not equalized.
  const std::map<std::string, std::vector<float>>& channel_ranges() const {
    return channel_ranges_;
  }
  /// Rounded up to 3 digits. Throws Error unless all are finite and none negative.
  void SetChannelRanges(const std::string& blob, std::vector<float> largest);
  /// The mean of each channel, by blob. Optional: without them the means of 8-bit layers' outputs
  /// are not corrected.
  const std::map<std::string, std::vector<float>>& channel_means() const { return channel_means_; }
  /// Rounded to 5 digits. Throws Error unless all are finite.
  void SetChannelMeans(const std::string& blob, std::vector<float> means);

  /// What the table was made for; zeros if the file does not say.
  const NetFingerprint& fingerprint() const { return fingerprint_; }
  void set_fingerprint(const NetFingerprint& fingerprint) { fingerprint_ = fingerprint; }
  /// The number of images; 0 if unknown.
  int64_t images() const { return images_; }
  void set_images(int64_t images) { images_ = images; }
  /// The comment lines before the first section, without the '#'.
  const std::vector<std::string>& comments() const { return comments_; }
  /// Throws Error if it has more than one line.
  void AddComment(const std::string& line);
  /// Its name in messages: the file that it was read from, for example.
  const std::string& name() const { return name_; }
  void set_name(const std::string& name) { name_ = name; }

  /// "" if the table was made for this net and these weights, or does not say for which; else says
  /// what has changed.
  std::string WhatIsStale(const NetFingerprint& net) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, BlobCalibration> blobs_;
  std::map<std::string, std::vector<float>> weight_scales_, channel_ranges_, channel_means_;
  NetFingerprint fingerprint_;
  int64_t images_ = 0;
  std::vector<std::string> comments_;
  std::string name_ = "calibration table";
};

/// Reads a table of this library, a TensorRT cache or an ncnn table, recognised by the first line.
/// `net` (layers with bottoms and tops, after FilterNet) is what an ncnn table's layers are looked
/// up in.
CalibrationTable ReadAnyCalibrationTable(const std::string& file, const NetParameter& net);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_CALIBRATION_TABLE_HPP_
