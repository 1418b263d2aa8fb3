#include "caffe/layers/yolov3_detection_output_layer.hpp"

#include <cmath>

namespace caffe {
namespace {

const bool yolov3_detection_output_registered =
    OperationTable::Add(YoloOperation("Yolov3DetectionOutput"));

}  // namespace

template <typename Dtype>
void Yolov3DetectionOutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                   const vector<Blob<Dtype>*>&) {
  const Yolov3DetectionOutputParameter& param = this->layer_param_.yolov3_detection_output_param();
  const char* name = "yolov3_detection_output_param";
  this->ReadParameters(name, param.num_classes(),
                       param.has_num_boxes() ? param.num_boxes() : param.num_box(),
                       param.nms_threshold(), param.biases_size());
  const auto& mask = param.mask_size() > 0 ? param.mask() : param.masks();
  mask_.clear();
  for (const uint32_t anchor : mask) {
    Require(anchor < uint32_t(param.biases_size() / 2), Error::Field{name}, ": mask names anchor ",
            anchor, ", but there are biases for ", param.biases_size() / 2);
    mask_.push_back(static_cast<int>(anchor));
  }
  const int maps = static_cast<int>(bottom.size());
  Require(!param.has_mask_group_num() || param.mask_group_num() == uint32_t(maps),
          Error::Field{name}, ": mask_group_num is ", param.mask_group_num(), ", but there are ",
          maps, " bottoms");
  Require(static_cast<int64_t>(mask_.size()) == int64_t(maps) * this->num_, Error::Field{name},
          ": ", maps, " bottoms of num_box ", this->num_, " need mask ", int64_t(maps) * this->num_,
          " times, not ", mask_.size());
  Require(param.anchors_scale_size() >= maps, Error::Field{name},
          ": give anchors_scale for each of the ", maps, " bottoms");
  for (const uint32_t scale : param.anchors_scale()) {
    Require(scale > 0, Error::Field{name}, ": anchors_scale must be positive, got 0");
  }
}

template <typename Dtype>
void Yolov3DetectionOutputLayer<Dtype>::Read(int map, const Cell& cell, const Found& found) const {
  const Yolov3DetectionOutputParameter& param = this->layer_param_.yolov3_detection_output_param();
  const float objectness = YoloSigmoid(cell.number(4)), threshold = param.confidence_threshold();
  if (!(objectness > threshold)) return;  // nor will a class be more
  const int anchor = mask_[size_t(map) * this->num_ + cell.box];
  const float scale = param.anchors_scale(map);
  for (int c = 0; c < this->num_class_; ++c) {
    const float score = YoloSigmoid(cell.number(5 + c)) * objectness;
    if (!(score > threshold)) continue;
    found(c, score, (cell.x + YoloSigmoid(cell.number(0))) / cell.width,
          (cell.y + YoloSigmoid(cell.number(1))) / cell.height,
          std::exp(cell.number(2)) * param.biases(2 * anchor) / (cell.width * scale),
          std::exp(cell.number(3)) * param.biases(2 * anchor + 1) / (cell.height * scale));
  }
}

INSTANTIATE_CLASS(Yolov3DetectionOutputLayer);
REGISTER_LAYER_CLASS(Yolov3DetectionOutput);

}  // namespace caffe
