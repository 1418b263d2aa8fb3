#include "caffe/inference/evaluation/accuracy_loss.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/inference/evaluation/error_measure.hpp"
#include "caffe/inference/results.hpp"

namespace caffe::inference {
namespace {

/// How many items have their label's score as the largest one.
int CountRight(const NamedTensor& scores, const std::vector<int>& labels) {
  const size_t classes = CountOf(scores.shape) / scores.shape[0];
  int right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    right += TopOf(scores.values.data() + i * classes, classes, 1)[0].index == labels[i];
  }
  return right;
}

}  // namespace

void AccuracyLoss::Add(const Tensors& inputs, const Tensors& expected,
                       const std::vector<int>& labels) {
  if (!batches_.empty()) {
    const Tensors& before = batches_[0].expected;
    const bool same = before.size() == expected.size() &&
                      std::equal(before.begin(), before.end(), expected.begin(),
                                 [](const auto& a, const auto& b) { return a.first == b.first; });
    Require(same, "accuracy loss: the batches have other outputs than those before");
  }
  batches_.push_back({inputs, expected, labels});
}

bool AccuracyLoss::HasLabels() const {
  return !batches_.empty() && std::all_of(batches_.begin(), batches_.end(), [](const Batch& batch) {
    if (batch.expected.size() != 1 || batch.labels.empty()) return false;
    const NamedTensor& scores = batch.expected.begin()->second;
    const size_t items = batch.labels.size();
    return *std::min_element(batch.labels.begin(), batch.labels.end()) >= 0 &&
           !scores.shape.empty() && size_t(scores.shape[0]) >= items &&
           CountOf(scores.shape) > size_t(scores.shape[0]);
  });
}

size_t AccuracyLoss::items() const {
  size_t items = 0;
  for (const Batch& batch : batches_) items += batch.labels.size();
  return items;
}

double AccuracyLoss::FloatAccuracy() const {
  double right = 0;
  for (const Batch& batch : batches_) {
    right += CountRight(batch.expected.begin()->second, batch.labels);
  }
  return right / items();
}

double AccuracyLoss::Accuracy(const std::shared_ptr<const Engine>& engine) const {
  ExecutionContext context(engine);
  double right = 0;
  for (const Batch& batch : batches_) {
    right += CountRight(RunInPieces(batch.inputs, &context).begin()->second, batch.labels);
  }
  return right / items();
}

std::map<std::string, double> AccuracyLoss::OutputErrors(
    const std::shared_ptr<const Engine>& engine) const {
  ExecutionContext context(engine);
  std::map<std::string, ErrorMeasure> errors;
  std::map<std::string, double> result;
  for (const Batch& batch : batches_) {
    for (const auto& output : RunInPieces(batch.inputs, &context)) {
      const NamedTensor& actual = output.second;
      const NamedTensor& expected = batch.expected.at(output.first);
      if (IsDetections(*engine, output.first)) {
        result[output.first] += UnmatchedShare(expected, actual) / batches_.size();
      } else if (expected.shape != actual.shape) {
        errors[output.first].AddOtherShape();
      } else {
        errors[output.first].Add(expected.values.data(), actual.values.data(),
                                 actual.values.size());
      }
    }
  }
  for (const auto& error : errors) result[error.first] = error.second.Relative();
  return result;
}

double AccuracyLoss::operator()(const std::shared_ptr<const Engine>& engine) const {
  Require(!batches_.empty(), "accuracy loss: there is no data to judge engines by");
  if (HasLabels()) return FloatAccuracy() - Accuracy(engine);
  double largest = 0;
  for (const auto& error : OutputErrors(engine)) largest = std::max(largest, error.second);
  return largest;
}

}  // namespace caffe::inference
