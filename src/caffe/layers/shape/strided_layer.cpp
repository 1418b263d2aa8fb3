#include "caffe/layers/strided_layer.hpp"

#include "on_host.hpp"
#include "strided_parts.hpp"

namespace caffe {

StridedPart StridedPart::WholeTop(const Shape& top, vector<std::ptrdiff_t> in_bottom) {
  StridedPart part;
  part.shape = top;
  part.in_bottom = std::move(in_bottom);
  part.in_top = kernels::ContiguousStrides(top);
  return part;
}

template <typename Dtype>
void StridedLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  ReshapeTops(operation_, this->layer_param_, bottom, top);
}

template <typename Dtype>
void StridedLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const vector<StridedPart> parts = Parts(ShapesOf(bottom), top[0]->shape());
  Dispatch(this->forward_type(),
           [&](auto tag) { GatherParts<OnHost, decltype(tag)>(parts, bottom, *top[0]); });
}

template <typename Dtype>
void StridedLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  const vector<StridedPart> parts = Parts(ShapesOf(bottom), top[0]->shape());
  Dispatch(this->backward_type(), [&](auto tag) {
    SpreadParts<OnHost, decltype(tag)>(parts, *top[0], propagate_down, bottom);
  });
}

INSTANTIATE_CLASS(StridedLayer);

}  // namespace caffe
