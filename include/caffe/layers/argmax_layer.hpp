#ifndef CAFFE_ARGMAX_LAYER_HPP_
#define CAFFE_ARGMAX_LAYER_HPP_

#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// The indices of the top_k largest values along `axis`, largest first, in Dtype; of equal values
/// the later ones come first. The top has the bottom's shape with extent top_k on that axis; with
/// out_max_val it has the values instead of the indices.
///
/// Without `axis` all but the first axis are searched together: top (N, 1, top_k), or (N, 2, top_k)
/// with out_max_val, indices before values; one more axis of extent 1 for each axis that the bottom
/// has beyond three. Has no gradient.
template <typename Dtype>
class ArgMaxLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit ArgMaxLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ArgMax"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
#endif

  bool out_max_val_ = false;
  size_t top_k_ = 1;
};

}  // namespace caffe

#endif  // CAFFE_ARGMAX_LAYER_HPP_
