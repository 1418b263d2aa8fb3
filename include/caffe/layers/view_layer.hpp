#ifndef CAFFE_VIEW_LAYER_HPP_
#define CAFFE_VIEW_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// What Flatten and Reshape have in common: the top is the bottom in another shape, that of their
/// row in the operation table. It shares the bottom's data and gradient; nothing is computed.
template <typename Dtype>
class ViewLayer : public Layer<Dtype> {
 public:
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  ViewLayer(const LayerParameter& param, const char* operation)
      : Layer<Dtype>(param), operation_(operation) {}
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  const char* const operation_;
};

}  // namespace caffe

#endif  // CAFFE_VIEW_LAYER_HPP_
