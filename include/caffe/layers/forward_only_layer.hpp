#ifndef CAFFE_FORWARD_ONLY_LAYER_HPP_
#define CAFFE_FORWARD_ONLY_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// A layer without a gradient: Backward throws Error where one is asked for.
template <typename Dtype>
class ForwardOnlyLayer : public Layer<Dtype> {
 public:
  explicit ForwardOnlyLayer(const LayerParameter& param) : Layer<Dtype>(param) {}

 protected:
  void Backward_cpu(const vector<Blob<Dtype>*>& /*top*/, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& /*bottom*/) override {
    for (const bool wanted : propagate_down) {
      Require(!wanted, this->type(), " has no gradient");
    }
  }
};

}  // namespace caffe

#endif  // CAFFE_FORWARD_ONLY_LAYER_HPP_
