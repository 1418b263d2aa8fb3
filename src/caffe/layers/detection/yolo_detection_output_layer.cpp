#include "caffe/layers/yolo_detection_output_layer.hpp"

#include <cmath>

namespace caffe {
namespace {

const bool yolo_detection_output_registered =
    OperationTable::Add(YoloOperation("YoloDetectionOutput"));

}  // namespace

template <typename Dtype>
void YoloDetectionOutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                                 const vector<Blob<Dtype>*>&) {
  const YoloDetectionOutputParameter& param = this->layer_param_.yolo_detection_output_param();
  this->ReadParameters("yolo_detection_output_param", param.num_classes(), param.num_box(),
                       param.nms_threshold(), param.biases_size());
  Require(param.coords() == 4, Error::Field{"yolo_detection_output_param"},
          ": coords must be 4, got ", param.coords());
  Require(param.biases_size() >= 2 * this->num_, Error::Field{"yolo_detection_output_param"},
          ": num_box ", this->num_, " needs ", 2 * this->num_, " biases, got ",
          param.biases_size());
}

template <typename Dtype>
void YoloDetectionOutputLayer<Dtype>::Read(int /*map*/, const Cell& cell,
                                           const Found& found) const {
  const YoloDetectionOutputParameter& param = this->layer_param_.yolo_detection_output_param();
  int label = 0;
  for (int c = 1; c < this->num_class_; ++c) {
    if (cell.number(5 + c) > cell.number(5 + label)) label = c;
  }
  float sum = 0;
  for (int c = 0; c < this->num_class_; ++c) {
    sum += std::exp(cell.number(5 + c) - cell.number(5 + label));
  }
  const float score = YoloSigmoid(cell.number(4)) / sum;
  if (!(score >= param.confidence_threshold())) return;
  found(label, score, (cell.x + YoloSigmoid(cell.number(0))) / cell.width,
        (cell.y + YoloSigmoid(cell.number(1))) / cell.height,
        std::exp(cell.number(2)) * param.biases(2 * cell.box) / cell.width,
        std::exp(cell.number(3)) * param.biases(2 * cell.box + 1) / cell.height);
}

INSTANTIATE_CLASS(YoloDetectionOutputLayer);
REGISTER_LAYER_CLASS(YoloDetectionOutput);

}  // namespace caffe
