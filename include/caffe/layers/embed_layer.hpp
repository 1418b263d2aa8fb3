#ifndef CAFFE_EMBED_LAYER_HPP_
#define CAFFE_EMBED_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Row bottom[i] of the weights, plus the bias, for each element of the bottom: a table look-up,
/// that is InnerProduct of one-hot vectors. The bottom has whole numbers in [0, input_dim), read in
/// Dtype; the top has its axes and one of num_output more. Parameters: weights (input_dim,
/// num_output) and, unless bias_term is false, a bias (num_output). The bottom has no gradient.
/// Forward throws Error for an index out of range.
template <typename Dtype>
class EmbedLayer : public Layer<Dtype> {
 public:
  explicit EmbedLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Embed"; }
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

  int M_ = 0;  ///< indices
  int K_ = 0;  ///< rows of the table
  int N_ = 0;  ///< outputs of each
  bool bias_term_ = true;

 private:
  size_t Index(const Dtype* indices, int i) const;
};

}  // namespace caffe

#endif  // CAFFE_EMBED_LAYER_HPP_
