#ifndef CAFFE_YOLO_DETECTION_OUTPUT_LAYER_HPP_
#define CAFFE_YOLO_DETECTION_OUTPUT_LAYER_HPP_

#include <vector>

#include "caffe/layers/yolo_output_layer.hpp"

namespace caffe {

/// YOLO version 2 (Redmon and Farhadi, "YOLO9000"; the layer is MobileNet-YOLO's): a box's class is
/// the one of the largest softmax score, its score that times the objectness, at least
/// confidence_threshold; biases are the anchors' widths and heights in cells. One map or two with
/// the same anchors.
template <typename Dtype>
class YoloDetectionOutputLayer : public YoloOutputLayer<Dtype> {
 public:
  explicit YoloDetectionOutputLayer(const LayerParameter& param) : YoloOutputLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "YoloDetectionOutput"; }
  int MaxBottomBlobs() const override { return 2; }

 protected:
  using typename YoloOutputLayer<Dtype>::Cell;
  using typename YoloOutputLayer<Dtype>::Found;
  void Read(int map, const Cell& cell, const Found& found) const override;
};

}  // namespace caffe

#endif  // CAFFE_YOLO_DETECTION_OUTPUT_LAYER_HPP_
