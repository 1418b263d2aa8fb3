#ifndef CAFFE_YOLOV3_DETECTION_OUTPUT_LAYER_HPP_
#define CAFFE_YOLOV3_DETECTION_OUTPUT_LAYER_HPP_

#include <vector>

#include "caffe/layers/yolo_output_layer.hpp"

namespace caffe {

/// YOLO version 3 (Redmon and Farhadi, "YOLOv3"; the layer is MobileNet-YOLO's): each class has a
/// sigmoid of its own, its score is that times the objectness, more than confidence_threshold.
/// Maps of several resolutions: a cell of map i is anchors_scale[i] pixels wide; its boxes' anchors
/// are those that the i-th num_box numbers of `mask` name among the biases, in pixels. num_boxes
/// and masks are other spellings of num_box and mask.
template <typename Dtype>
class Yolov3DetectionOutputLayer : public YoloOutputLayer<Dtype> {
 public:
  explicit Yolov3DetectionOutputLayer(const LayerParameter& param)
      : YoloOutputLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Yolov3DetectionOutput"; }

 protected:
  using typename YoloOutputLayer<Dtype>::Cell;
  using typename YoloOutputLayer<Dtype>::Found;
  void Read(int map, const Cell& cell, const Found& found) const override;

 private:
  vector<int> mask_;
};

}  // namespace caffe

#endif  // CAFFE_YOLOV3_DETECTION_OUTPUT_LAYER_HPP_
