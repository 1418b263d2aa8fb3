#include "caffe/layers/view_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {

template <typename Dtype>
void ViewLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  Require(top[0] != bottom[0], operation_, " cannot work in place",
          Error::Remedy{"name its top differently"});
  ReshapeTops(operation_, this->layer_param_, bottom, top);
}

template <typename Dtype>
void ViewLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  top[0]->ShareData(*bottom[0]);
}

template <typename Dtype>
void ViewLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (propagate_down[0]) bottom[0]->ShareDiff(*top[0]);
}

INSTANTIATE_CLASS(ViewLayer);

}  // namespace caffe
