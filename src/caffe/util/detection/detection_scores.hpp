#ifndef CAFFE_UTIL_DETECTION_SCORES_HPP_
#define CAFFE_UTIL_DETECTION_SCORES_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"

namespace caffe {

/// Adds up what DetectionEvaluate finds in batch after batch, for the average precision of each
/// class and their mean.
class DetectionScores {
 public:
  /// A top of DetectionEvaluate, (1, 1, N, 5): rows of (-1, class, true boxes, -1, -1), and of
  /// (image, class, score, true positive, false positive). Throws Error for another shape.
  template <typename Dtype>
  void Add(const Blob<Dtype>& top);

  /// By class that has true boxes; `version` as for ComputeAP. A class without detections has 0.
  std::map<int, float> AveragePrecisions(const std::string& version) const;
  /// Their mean, 0 if there are none.
  float Mean(const std::string& version) const;

 private:
  using Flags = std::vector<std::pair<float, int>>;  // score, 1 or 0
  struct Class {
    int boxes = 0;
    Flags hits, misses;
  };
  std::map<int, Class> classes_;
};

/// Throws Error unless `version` is one that ComputeAP knows.
void RequireApVersion(const std::string& version);

/// Logs the mean average precision of output number `output`, as Caffe's SSD fork does, and with
/// `per_class` that of each class.
void LogDetectionScores(const DetectionScores& scores, const std::string& version, bool per_class,
                        int output, const std::string& name);

}  // namespace caffe

#endif  // CAFFE_UTIL_DETECTION_SCORES_HPP_
