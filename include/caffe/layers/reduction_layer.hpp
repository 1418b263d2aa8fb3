#ifndef CAFFE_REDUCTION_LAYER_HPP_
#define CAFFE_REDUCTION_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// y = coeff times the sum (SUM), the sum of absolute values (ASUM) or of squares (SUMSQ), or the
/// mean (MEAN) over `axis` and all later axes; the top has the axes before. It is kept in Dtype:
/// sums are larger than what they are of, and may be losses.
template <typename Dtype>
class ReductionLayer : public Layer<Dtype> {
 public:
  explicit ReductionLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Reduction"; }
  int ExactNumBottomBlobs() const override { return 1; }
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

  int num_ = 0;  ///< results
  int dim_ = 0;  ///< terms of each
  Dtype coeff_ = 1;
};

}  // namespace caffe

#endif  // CAFFE_REDUCTION_LAYER_HPP_
