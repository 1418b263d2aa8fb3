#ifndef CAFFE_INFERENCE_QUANTIZE_OUTPUT_COMPARISON_HPP_
#define CAFFE_INFERENCE_QUANTIZE_OUTPUT_COMPARISON_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/evaluation/accuracy_loss.hpp"
#include "caffe/inference/network_definition.hpp"

namespace caffe::inference {

/// A few of the images that a net is calibrated on, spread evenly over all of them.
class ImageSample {
 public:
  /// Or one batch, where that is larger. Of more images every second one, every fourth one, ... is
  /// kept, half of this at least.
  static constexpr int64_t kMaxImages = 64;
  static constexpr size_t kMaxBytes = size_t(512) << 20;  ///< of inputs; one batch may have more

  /// `net` is in the TEST phase.
  explicit ImageSample(const Net<float>& net) : source_(net) {}

  /// Takes the images that it needs from the net's next batch. Returns the first layer that has not
  /// run yet. Images of another shape than the first one are skipped.
  int Offer(int64_t images, Net<float>* net);

  int64_t images() const { return static_cast<int64_t>(items_.size()); }
  /// The shapes of the first batch, by input.
  const std::map<std::string, Shape>& shapes() const { return shapes_; }
  /// Batches in the shape of the first one, of all kept images; the last batch is filled with the
  /// first images.
  std::vector<Tensors> Batches() const;

 private:
  void Keep(int64_t number, Tensors item);

  const InputSource source_;
  std::map<std::string, Shape> shapes_;
  int batch_ = 1;  // of the first batch
  int64_t max_images_ = kMaxImages;
  int64_t offered_ = 0, stride_ = 1;
  std::map<int64_t, Tensors> items_;  // by the image's number, a multiple of stride_
};

/// How far the outputs of an INT8 engine are from those in FLOAT.
struct OutputError {
  /// The largest of the outputs' errors: for detections the share of boxes without a partner
  /// (UnmatchedShare), for others ErrorMeasure::Relative.
  double outputs = 0;
  /// The largest relative error of the blobs that detections are computed from, which distinguishes
  /// engines that find the same boxes; 0 without detections.
  double box_inputs = 0;

  bool operator<(const OutputError& other) const {
    return outputs != other.outputs ? outputs < other.outputs : box_inputs < other.box_inputs;
  }
};

/// Compares calibration tables by the errors of a net's outputs.
class OutputComparison {
 public:
  /// The net's parameters must not change, nor may it run, while this lives. Throws Error if the
  /// net cannot be an engine, or the sample has no images.
  OutputComparison(const Net<float>& net, const ImageSample& sample);

  bool has_detections() const { return !box_inputs_.empty(); }
  /// The error of the engine that is built with this table. Throws Error if it cannot be built.
  OutputError ErrorOf(const CalibrationTable& table) const;

 private:
  NetworkDefinition definition_;
  const std::map<std::string, Shape> shapes_;  // of the inputs
  std::set<std::string> box_inputs_;
  AccuracyLoss expected_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_OUTPUT_COMPARISON_HPP_
