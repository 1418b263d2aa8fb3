#ifndef CAFFE_DIFFERENCE_LOSS_LAYER_HPP_
#define CAFFE_DIFFERENCE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

namespace cuda {
struct Penalty;
}

/// What EuclideanLoss, L1Loss and SmoothL1Loss have in common: predictions a (bottom 0) and
/// targets b (bottom 1) of the same count per item,
///
///     loss = 1 / num * sum over i of outside_i * penalty(inside_i * (a_i - b_i)),
///
/// num being the number of items, shape(0). Both weights are 1 unless there is a bottom 2 (inside)
/// and 3 (outside). Predictions and targets have gradients, weights do not.
template <typename Dtype>
class DifferenceLossLayer : public LossLayer<Dtype> {
 public:
  explicit DifferenceLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// Targets may be another layer's predictions.
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index < 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  /// The sum of weights[i] * penalty(d[i]), i < n; weights may be null.
  virtual double Penalty(size_t n, const Dtype* d, const Dtype* weights) const = 0;
  /// slope[i] = the derivative of the penalty at d[i].
  virtual void Slope(size_t n, const Dtype* d, Dtype* slope) const = 0;
#ifndef CPU_ONLY
  /// What Penalty and Slope are on a GPU.
  virtual cuda::Penalty gpu_penalty() const = 0;
#endif

  /// num, or what else the sum is divided by.
  virtual Dtype Normalizer(const Blob<Dtype>& predictions) const { return predictions.shape(0); }

  Blob<Dtype> diff_;  ///< inside * (a - b)

 private:
  Blob<Dtype> slope_;
};

/// The tops of such a loss. Throws Error for bottoms that do not fit.
std::vector<Shape> DifferenceLossShapes(const LayerParameter&, const std::vector<Shape>& bottoms);

}  // namespace caffe

#endif  // CAFFE_DIFFERENCE_LOSS_LAYER_HPP_
