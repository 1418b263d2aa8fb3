#ifndef CAFFE_INFERENCE_ACCURACY_LOSS_HPP_
#define CAFFE_INFERENCE_ACCURACY_LOSS_HPP_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"

namespace caffe::inference {

/// Batches of inputs with what FLOAT makes of them: judges how much an engine loses
/// (BuilderConfig::accuracy_loss).
class AccuracyLoss {
 public:
  /// `expected` are the outputs of an engine that computes in FLOAT. `labels` are those of the
  /// batch's items, -1 where they are unknown; items after the last label are padding. Throws Error
  /// if the outputs are not the same ones as before.
  void Add(const Tensors& inputs, const Tensors& expected, const std::vector<int>& labels);

  /// True if every item has a label and there is one output, with a score for each class.
  bool HasLabels() const;
  /// The share of items whose label has the largest score in FLOAT.
  double FloatAccuracy() const;
  size_t items() const;

  /// With labels: the share of items that FLOAT recognises, less the engine's; below 0 where it
  /// recognises more. Without: the largest error of an output, relative to its values
  /// (ErrorMeasure::Relative), of detections the share of boxes without a partner (UnmatchedShare).
  double operator()(const std::shared_ptr<const Engine>& engine) const;
  /// That error or share of each output.
  std::map<std::string, double> OutputErrors(const std::shared_ptr<const Engine>& engine) const;

 private:
  struct Batch {
    Tensors inputs, expected;
    std::vector<int> labels;
  };
  double Accuracy(const std::shared_ptr<const Engine>& engine) const;

  std::vector<Batch> batches_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ACCURACY_LOSS_HPP_
