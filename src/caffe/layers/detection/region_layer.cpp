#include "caffe/layers/region_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {

template <typename Dtype>
void RegionLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  ReshapeTops(operation_, this->layer_param_, bottom, top);
}

template <typename Dtype>
void RegionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>&,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    std::fill_n(bottom[i]->mutable_cpu_diff(), bottom[i]->count(), Dtype(0));
  }
}

void CheckTrueBoxes(const Shape& truths) {
  Require(truths.size() == 2 && truths[1] == 5,
          "the true boxes must have shape (G, 5), rows of corners and class, not ",
          ShapeString(truths));
}

INSTANTIATE_CLASS(RegionLayer);

}  // namespace caffe
