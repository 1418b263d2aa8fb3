#ifndef CAFFE_YOLO_OUTPUT_LAYER_HPP_
#define CAFFE_YOLO_OUTPUT_LAYER_HPP_

#include <cmath>
#include <functional>
#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// A YOLO detector's predictions as a list of boxes; a subclass reads them from the bottoms.
///
/// Bottoms: maps (N, boxes * (5 + num_classes), H, W); each box of a cell has x, y, width, height,
/// objectness and scores of classes. Top: (1, 1, detections, 7), rows of item, label (the class +
/// 1, as 0 is the background), score, xmin, ymin, xmax, ymax as fractions of the image, the best
/// first. Of boxes that overlap by nms_threshold or more, of whatever class, the best is kept.
/// Without any detection there is a row (item, -1, ..., -1) for each item.
template <typename Dtype>
class YoloOutputLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit YoloOutputLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int MinBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  /// Takes a box by its centre and size.
  using Found =
      std::function<void(int label, float score, float x, float y, float width, float height)>;
  /// One box of one cell: number(k) is its k-th number.
  struct Cell {
    const Dtype* first;
    size_t step;  // between its numbers
    int x, y, width, height, box;
    float number(int k) const { return static_cast<float>(first[k * step]); }
  };
  /// Gives `found` what the cell predicts; `map` is the bottom's index.
  virtual void Read(int map, const Cell& cell, const Found& found) const = 0;

  /// Checks and keeps what all have; `param` is the message's name.
  void ReadParameters(const char* param, uint32_t num_classes, uint32_t num_box,
                      float nms_threshold, int biases);

  int num_class_ = 0, num_ = 0;
  float nms_threshold_ = 0;
};

/// The row of such a layer in the operation table; the top's shape is that before there are
/// detections.
Operation YoloOperation(const char* type);

inline float YoloSigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace caffe

#endif  // CAFFE_YOLO_OUTPUT_LAYER_HPP_
