#ifndef CAFFE_INFERENCE_QUANTIZE_OUTPUT_SAMPLE_HPP_
#define CAFFE_INFERENCE_QUANTIZE_OUTPUT_SAMPLE_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/accuracy_loss.hpp"
#include "caffe/inference/network_definition.hpp"

namespace caffe {
namespace inference {

/// How far the outputs of an INT8 engine are from those in FLOAT.
struct OutputError {
  /// The largest of the outputs: of detections the share of boxes without a partner
  /// (UnmatchedShare), of others the error relative to their values (ErrorMeasure::Relative).
  double outputs = 0;
  /// The largest relative error of the blobs that detections are made of, which tells engines apart
  /// that find the same boxes; 0 without detections.
  double box_inputs = 0;

  bool operator<(const OutputError& other) const {
    return outputs != other.outputs ? outputs < other.outputs : box_inputs < other.box_inputs;
  }
};

/// A few of the images that a net is calibrated on, spread evenly over all of them: calibration
/// tables are compared by what they do to the outputs on these.
class OutputSample {
 public:
  static constexpr int64_t kMaxImages = 32;               ///< or one batch, where that is larger
  static constexpr size_t kMaxBytes = size_t(512) << 20;  ///< of inputs; one batch may have more

  /// `net` is in the TEST phase and has the shapes of the first batch. Throws Error if it cannot be
  /// an engine, or has no inputs.
  explicit OutputSample(const Net<float>& net);

  /// Takes images of the batch that the net runs next, if it needs any of them. Returns the first
  /// layer that has not run yet. Items of another shape than those of the first batch are left out.
  int Offer(int64_t images, Net<float>* net);
  /// What FLOAT makes of the images, once all have been offered.
  void ComputeReference();

  int64_t images() const { return static_cast<int64_t>(items_.size()); }
  bool has_detections() const { return !box_inputs_.empty(); }
  /// Of the engine that is built with this table. Throws Error if it cannot be built.
  OutputError ErrorOf(const CalibrationTable& table) const;

 private:
  void Keep(int64_t number, Tensors item);
  /// Batch after batch of the kept items; the last one is filled up with the first items.
  std::vector<Tensors> Batches() const;

  NetworkDefinition definition_;
  std::shared_ptr<const Engine> reference_;
  InputSource source_;
  std::map<std::string, Shape> shapes_;  // of the inputs
  std::set<std::string> box_inputs_;
  int64_t max_items_;

  int64_t offered_ = 0, stride_ = 1;
  std::map<int64_t, Tensors> items_;  // by the image's number, a multiple of stride_
  AccuracyLoss expected_;
};

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_QUANTIZE_OUTPUT_SAMPLE_HPP_
