#ifndef CAFFE_INNER_DISTANCE_LAYER_HPP_
#define CAFFE_INNER_DISTANCE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// InnerProduct with distances in place of products (NormFace; Wang, Xiang, Cheng and Yuille 2017):
///
///     y[m, n] = sum over k of (x[m, k] - w[n, k])^2,  or |x[m, k] - w[n, k]|,
///
/// as inner_distance_param.distance_type is "L2" or "L1". Bottoms: x (M..., K...) split at `axis`;
/// if given, the centers w (N, K). Top: (M..., N). Without a second bottom the centers are a
/// parameter (num_output, K), and there is a bias (num_output), which is added, unless bias_term is
/// false.
template <typename Dtype>
class InnerDistanceLayer : public Layer<Dtype> {
 public:
  explicit InnerDistanceLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "InnerDistance"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  int M_ = 0, K_ = 0, N_ = 0;
  bool squared_ = true;  ///< L2

 private:
  Blob<Dtype>& Centers(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  }
};

}  // namespace caffe

#endif  // CAFFE_INNER_DISTANCE_LAYER_HPP_
