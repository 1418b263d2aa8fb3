#ifndef CAFFE_INFERENCE_ENGINE_COMPARISON_HPP_
#define CAFFE_INFERENCE_ENGINE_COMPARISON_HPP_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/evaluation/error_measure.hpp"
#include "caffe/net.hpp"

namespace caffe::inference {

/// A blob that an engine and the net in FLOAT both have.
struct BlobComparison {
  std::string blob;
  std::string layer;  ///< of the engine, which makes it
  ElementType math = ElementType::FLOAT;
  bool is_output = false;
  ErrorMeasure error;
  /// For detections, whose rows may come in another order or number, instead of `error`: the share
  /// of boxes without a partner (UnmatchedShare), the mean of the batches.
  std::optional<double> unmatched;

  /// The error relative to the values: `unmatched`, or ErrorMeasure::Relative.
  double Relative() const;
  /// The same in decibels, as ErrorMeasure::SignalToNoise.
  double SignalToNoise() const;
};

/// Compares an engine with its net, blob by blob, batch after batch.
class EngineComparison {
 public:
  /// `reference` is the net in FLOAT with its weights, in the TEST phase. Throws Error if it has no
  /// such inputs as the engine, or they have no blob in common that is computed.
  EngineComparison(Net<float>* reference, std::shared_ptr<const Engine> engine);

  /// Runs both on the reference's inputs, written by the caller, or its data layers' next batch.
  void Add();

  /// In the order in which the engine makes them.
  const std::vector<BlobComparison>& blobs() const { return blobs_; }
  /// The largest of the outputs' errors (BlobComparison::Relative).
  double OutputError() const;

  /// Layers of the engine that do not compute in FLOAT and have layers of the net in them, by how
  /// much error they add to what they read: those that add most first.
  std::vector<std::string> LayersByOwnError() const;
  /// The net's layers in a layer of the engine: itself, those that were merged, those that were
  /// fused into it.
  std::vector<std::string> NetLayersIn(const std::string& layer) const;

 private:
  void Compare(const std::string& blob, const Shape& shape, const float* values);

  Net<float>* const reference_;
  const std::shared_ptr<const Engine> engine_;
  const InputSource source_;
  ExecutionContext context_;
  std::vector<BlobComparison> blobs_;
  std::map<std::string, size_t> index_;  // by blob
  std::vector<int> blob_of_value_;       // of the engine's graph: which of blobs_, -1: none
  int batches_ = 0;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_COMPARISON_HPP_
