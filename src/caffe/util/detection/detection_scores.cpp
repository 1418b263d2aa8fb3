#include "caffe/util/detection/detection_scores.hpp"

#include "caffe/util/bbox_util.hpp"

namespace caffe {

template <typename Dtype>
void DetectionScores::Add(const Blob<Dtype>& top) {
  constexpr int kColumns = 5;
  Require(top.num_axes() == 4 && top.width() == kColumns,
          "detections are scored from the top of a DetectionEvaluate layer, (1, 1, N, 5), not one "
          "of shape ",
          top.shape_string());
  const Dtype* row = top.cpu_data();
  for (int i = 0; i < top.height(); ++i, row += kColumns) {
    Class& own = classes_[static_cast<int>(row[1])];
    if (row[0] == -1) {
      if (row[2] > 0) own.boxes += static_cast<int>(row[2]);
      continue;
    }
    const float score = static_cast<float>(row[2]);
    own.hits.emplace_back(score, static_cast<int>(row[3]));
    own.misses.emplace_back(score, static_cast<int>(row[4]));
  }
}

std::map<int, float> DetectionScores::AveragePrecisions(const std::string& version) const {
  std::map<int, float> precisions;
  for (const auto& entry : classes_) {
    const Class& own = entry.second;
    if (own.boxes == 0) continue;
    float& precision = precisions[entry.first];
    precision = 0;
    vector<float> precision_at, recall_at;
    ComputeAP(own.hits, own.boxes, own.misses, version, &precision_at, &recall_at, &precision);
  }
  return precisions;
}

float DetectionScores::Mean(const std::string& version) const {
  const std::map<int, float> precisions = AveragePrecisions(version);
  float sum = 0;
  for (const auto& entry : precisions) sum += entry.second;
  return precisions.empty() ? 0 : sum / precisions.size();
}

void RequireApVersion(const std::string& version) {
  Require(version == "11point" || version == "MaxIntegral" || version == "Integral",
          Error::Field{"ap_version"}, " '", version,
          "' is unknown: give 11point, MaxIntegral or Integral");
}

void LogDetectionScores(const DetectionScores& scores, const std::string& version, bool per_class,
                        int output, const std::string& name) {
  if (!Caffe::root_solver()) return;
  if (per_class) {
    for (const auto& entry : scores.AveragePrecisions(version)) {
      LOG(INFO) << "class" << entry.first << ": " << entry.second;
    }
  }
  LOG(INFO) << "    Test net output #" << output << ": " << name << " = " << scores.Mean(version);
}

template void DetectionScores::Add(const Blob<float>&);
template void DetectionScores::Add(const Blob<double>&);

}  // namespace caffe
