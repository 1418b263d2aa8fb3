#ifndef CAFFE_BATCH_REINDEX_LAYER_HPP_
#define CAFFE_BATCH_REINDEX_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Item bottom1[i] of bottom 0 as item i of the top; bottom 1 is one axis of whole numbers in
/// [0, N), read in Dtype, which may repeat and leave out. Bottom 1 has no gradient. Forward throws
/// Error for an index out of range.
template <typename Dtype>
class BatchReindexLayer : public Layer<Dtype> {
 public:
  explicit BatchReindexLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BatchReindex"; }
  int ExactNumBottomBlobs() const override { return 2; }
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

 private:
  size_t Index(const Dtype* indices, int i, int items) const;
};

}  // namespace caffe

#endif  // CAFFE_BATCH_REINDEX_LAYER_HPP_
