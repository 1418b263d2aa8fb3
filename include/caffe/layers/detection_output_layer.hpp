#ifndef CAFFE_DETECTION_OUTPUT_LAYER_HPP_
#define CAFFE_DETECTION_OUTPUT_LAYER_HPP_

#include <memory>
#include <utility>
#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

class DetectionResults;
struct Box;
struct BoxCode;
struct Prior;
struct SoftSuppression;

/// An SSD detector's predictions as a list of boxes: decoded, those of each class above
/// confidence_threshold (the nms_param.top_k best) thinned out by non-maximum suppression, and of
/// all classes the keep_top_k best (Liu et al., "SSD: Single Shot MultiBox Detector"). With
/// soft_nms scores of boxes that overlap better ones decay instead, until they are not above
/// confidence_threshold.
///
/// Bottoms: locations (N, priors * classes * 4), the classes being one with share_location; scores
/// (N, priors * num_classes); priors (1, 2, priors * 4); possibly the images, which are not used.
/// Or, with five bottoms, those of RefineDet (Zhang, Wen, Bian, Lei and Li 2018), whose second
/// stage these locations and scores are: behind the priors the first stage's probabilities (N,
/// priors * 2) of background and object, and its locations (N, priors * 4). Priors are moved by
/// these first, and those whose probability of an object is below objectness_score are background.
/// Top: (1, 1, detections, 7), rows of item, label, score, xmin, ymin, xmax, ymax, by item and
/// label, the best first. Without any detection there is a row (item, -1, ..., -1) for each item.
///
/// Writes files as save_output_param says; output_directory is not emptied. `visualize` does
/// nothing.
template <typename Dtype>
class DetectionOutputLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit DetectionOutputLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DetectionOutput"; }
  int MinBottomBlobs() const override { return 3; }
  int MaxBottomBlobs() const override { return 5; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  int num_classes_ = 0, num_loc_classes_ = 0, num_priors_ = 0;
  bool share_location_ = true;
  int background_label_id_ = 0;
  std::shared_ptr<const BoxCode> code_;
  float confidence_threshold_ = 0, nms_threshold_ = 0, eta_ = 1;
  int top_k_ = -1, keep_top_k_ = -1;

 private:
  /// One item's part of the bottoms.
  struct Item {
    const Dtype* locations;
    const Dtype* scores;
    const Dtype* priors;
    const Dtype* objectness = nullptr;       // of a first stage, if there is one
    const Dtype* first_locations = nullptr;  // its
  };
  struct Detection;
  using ScoredIndex = std::pair<float, int>;
  Item ItemOf(const vector<Blob<Dtype>*>& bottom, int i) const;
  vector<vector<ScoredIndex>> Candidates(const Item& item) const;
  Prior PriorOf(const Item& item, int p) const;
  vector<Box> DecodeBoxes(const Item& item, const vector<vector<ScoredIndex>>& candidates) const;
  vector<ScoredIndex> Kept(const Box* boxes, const vector<ScoredIndex>& candidates) const;
  vector<Detection> DetectItem(const Item& item) const;
  void Save(const vector<vector<Detection>>& items);

  bool soft_ = false;
  std::shared_ptr<const SoftSuppression> soft_suppression_;
  std::shared_ptr<DetectionResults> results_;
};

}  // namespace caffe

#endif  // CAFFE_DETECTION_OUTPUT_LAYER_HPP_
