#ifndef CAFFE_DETECTION_EVALUATE_LAYER_HPP_
#define CAFFE_DETECTION_EVALUATE_LAYER_HPP_

#include <map>
#include <vector>

#include "caffe/layers/forward_only_layer.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/label_map.hpp"

namespace caffe {

/// Which detections are right: what average precision is computed from (ComputeAP).
///
/// Bottoms: detections (1, 1, N, 7), rows of item, label, score, corners; true boxes (1, 1, M, 8),
/// rows of item, label, instance, corners, difficult. Top: (1, 1, classes + detections, 5). First,
/// for each label but the background, -1, label, number of true boxes, -1, -1; then for each
/// detection item, label, score, 1 if it is a true positive, 1 if it is a false one. Each true box
/// counts for the detection with the best score whose overlap with it is at least
/// overlap_threshold; a detection of a difficult one that is not evaluated is neither.
///
/// With name_size_file the boxes are compared in whole pixels of the images.
template <typename Dtype>
class DetectionEvaluateLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit DetectionEvaluateLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DetectionEvaluate"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  void Judge(int item, const LabelBBox& detections, const LabelBBox& truths, Dtype** row);
  void InPixels(vector<NormalizedBBox>* boxes) const;

  int num_classes_ = 0, background_label_id_ = 0;
  float overlap_threshold_ = 0;
  bool evaluate_difficult_gt_ = true;
  vector<NamedSize> sizes_;
  size_t image_ = 0;  // in sizes_
};

}  // namespace caffe

#endif  // CAFFE_DETECTION_EVALUATE_LAYER_HPP_
