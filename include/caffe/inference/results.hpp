#ifndef CAFFE_INFERENCE_RESULTS_HPP_
#define CAFFE_INFERENCE_RESULTS_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/inference/engine_batches.hpp"

namespace caffe::inference {

// Engines' outputs as classes and boxes.

struct Ranked {
  int index;  ///< the class
  float score;
};
/// The `k` largest scores (all if there are fewer), in descending order, equal ones by index. NaN
/// comes last.
std::vector<Ranked> TopOf(const float* scores, size_t count, int k);

struct Detection {
  int item;   ///< of the batch
  int label;  ///< -1 in the row that stands for no detections
  float score;
  float xmin, ymin, xmax, ymax;  ///< 0 to 1 in SSD's nets
};
/// Rows of (1, 1, N, 7) whose score is `least_score` or more, without those that stand for no
/// detections.
std::vector<Detection> DetectionsOf(const NamedTensor& output, float least_score);

/// Intersection over union, 0 to 1.
double Overlap(const Detection& a, const Detection& b);

/// The share of boxes, of both sides together, without a partner on the other side: one of the same
/// item and label which overlaps by 0.9 or more and whose score is within 0.02. Boxes with a score
/// below `least_score` are not counted, but may be partners. 0 if there are no boxes.
double UnmatchedShare(const NamedTensor& expected, const NamedTensor& actual,
                      float least_score = 0.3f);

/// Names of classes: lines of a text file, or a LabelMap (.prototxt) of detectors.
class ClassNames {
 public:
  ClassNames() = default;
  /// Throws Error if the file cannot be read or has none.
  explicit ClassNames(const std::string& file);
  /// By label.
  explicit ClassNames(std::vector<std::string> names)
      : source_("the list of names"), names_(std::move(names)) {}
  /// Those of an engine; empty if it has none.
  explicit ClassNames(const Engine& engine) : source_("the plan"), names_(engine.class_names()) {}

  /// By label.
  const std::vector<std::string>& names() const { return names_; }
  bool empty() const { return names_.empty(); }
  /// "" if unknown.
  std::string Of(int label) const;
  /// Throws Error, naming the file (or the plan) and the output, if there are fewer than classes.
  void RequireFor(const std::string& output, int classes) const;

 private:
  std::string source_;              // for messages
  std::vector<std::string> names_;  // by label
};

/// How results are shown.
struct ResultOptions {
  bool raw = false;          ///< all values, whatever they are
  int top = 5;               ///< of classes
  float least_score = 0.5f;  ///< of boxes
};

/// The values of an output that belong to one item of a batch. Of detections, those of the item,
/// with item 0.
NamedTensor ItemOf(const Engine& engine, const std::string& output, const NamedTensor& batch,
                   int item);

/// Collects results and writes them, as text or JSON.
///
/// Text, for each item its name, then for each output: a class a line (score, class, name), a box a
/// line (the item's name, class, score, xmin, ymin, xmax, ymax), or the values. JSON:
///
///     {"results": [{"name": "cat.jpg", "outputs": [
///       {"output": "prob", "top": [{"class": 281, "label": "tabby cat", "score": 0.93}]},
///       {"output": "detection_out", "boxes": [{"class": 8, "label": "cat", "score": 0.9,
///                                              "box": [0.1, 0.2, 0.5, 0.6]}]},
///       {"output": "conv", "shape": [1, 2, 2], "values": [1, 2, 3, 4]}]}]}
class Results {
 public:
  Results(std::shared_ptr<const Engine> engine, ClassNames names, const ResultOptions& options);
  ~Results();

  /// The batch's items, by name; further ones in `outputs` are padding.
  void Add(const std::vector<std::string>& items, const Tensors& outputs);

  std::string Text() const;
  std::string Json() const;

 private:
  struct Item;

  std::shared_ptr<const Engine> engine_;
  const ClassNames names_;
  const ResultOptions options_;
  std::vector<Item> items_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_RESULTS_HPP_
