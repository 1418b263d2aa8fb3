#ifndef CAFFE_NEURON_LAYER_HPP_
#define CAFFE_NEURON_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// A layer that works element by element: one bottom, one top of its shape.
template <typename Dtype>
class NeuronLayer : public Layer<Dtype> {
 public:
  explicit NeuronLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
};

/// The top shapes of layers whose tops have the shapes of their bottoms, for the operation table.
inline std::vector<Shape> SameShapes(const LayerParameter&, const std::vector<Shape>& bottoms) {
  return bottoms;
}

}  // namespace caffe

#endif  // CAFFE_NEURON_LAYER_HPP_
