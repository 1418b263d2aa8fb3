#ifndef CAFFE_PERMUTE_LAYER_HPP_
#define CAFFE_PERMUTE_LAYER_HPP_

#include <cstddef>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The bottom with its axes in another order: axis i of the top is axis order[i] of the bottom;
/// axes that `order` leaves out follow in their own order.
template <typename Dtype>
class PermuteLayer : public Layer<Dtype> {
 public:
  explicit PermuteLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Permute"; }
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

  /// Which axis of a bottom of this shape each axis of the top is; checked.
  virtual vector<int> Order(const Shape& bottom) const;

 private:
  /// The distances in a bottom of this shape of what are neighbours in the top.
  vector<std::ptrdiff_t> BottomStrides(const Shape& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_PERMUTE_LAYER_HPP_
