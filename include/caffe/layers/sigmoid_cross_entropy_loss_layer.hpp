#ifndef CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_
#define CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/labelled_loss_layer.hpp"

// Programs take it from here, as from Caffe's header.
#include "caffe/layers/sigmoid_layer.hpp"

namespace caffe {

/// The cross entropy of independent probabilities p = sigmoid(x) and targets t in [0, 1]:
///
///     loss = -1 / normalizer * sum of t log p + (1 - t) log(1 - p),
///
/// computed from the logits x, so that no p vanishes. Bottoms: logits and targets, of equal counts;
/// targets have no gradient. Targets whose whole part is loss_param.ignore_label do not count. The
/// sum is divided by the number of items, shape(0), unless loss_param.normalization says otherwise
/// (Caffe's default here; other losses have VALID).
template <typename Dtype>
class SigmoidCrossEntropyLossLayer : public LabelledLossLayer<Dtype> {
 public:
  explicit SigmoidCrossEntropyLossLayer(const LayerParameter& param)
      : LabelledLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SigmoidCrossEntropyLoss"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  Dtype normalizer_ = 1;  ///< of the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_
