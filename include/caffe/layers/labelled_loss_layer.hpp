#ifndef CAFFE_LABELLED_LOSS_LAYER_HPP_
#define CAFFE_LABELLED_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// What losses of predictions (outer, classes, inner) have in common, one label for each of outer x
/// inner: labels that do not count, and what the sum is divided by, as loss_param says.
template <typename Dtype>
class LabelledLossLayer : public LossLayer<Dtype> {
 public:
  explicit LabelledLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 protected:
  /// Keeps the extents, `axis` being that of the classes. A second top gets the scores' shape.
  void ReshapeAlong(int axis, const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// What the summed loss is divided by, `valid_count` being the labels that are not ignored.
  virtual Dtype get_normalizer(LossParameter_NormalizationMode normalization_mode, int valid_count);
  /// The label that does not count; null: all do.
  const int* ignored() const { return has_ignore_label_ ? &ignore_label_ : nullptr; }
  /// The label at `index`, -1 if it does not count.
  int LabelAt(const Dtype* labels, int index, int classes) const {
    return ReadLabel(labels[index], index, classes, ignored());
  }
  int CountLabels(const Dtype* labels, int classes) const;
#ifndef CPU_ONLY
  double GpuDivisor() {
    return LossLayer<Dtype>::GpuDivisor(normalization_, get_normalizer(normalization_, -1));
  }
  /// Where a loss kernel of the GPU writes what it divided by, for the gradient.
  Dtype* OverwriteGpuNormalizer() {
    gpu_normalizer_.Reshape({1});
    return gpu_normalizer_.template overwrite_gpu_data_as<Dtype>();
  }

  Blob<Dtype> gpu_normalizer_;  ///< of the latest forward pass
#endif

  bool has_ignore_label_ = false;
  int ignore_label_ = 0;
  LossParameter_NormalizationMode normalization_ = LossParameter_NormalizationMode_VALID;
  int outer_num_ = 0, inner_num_ = 0;
};

/// The tops of such a layer for scores of this shape: the loss and, with a second one, the
/// probabilities.
std::vector<Shape> LossAndProbabilities(const LayerParameter& layer, const Shape& scores);

}  // namespace caffe

#endif  // CAFFE_LABELLED_LOSS_LAYER_HPP_
