#include "on_gpu.hpp"
#include "strided_parts.hpp"

namespace caffe {

template <typename Dtype>
void StridedLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const vector<StridedPart> parts = Parts(ShapesOf(bottom), top[0]->shape());
  Dispatch(this->forward_type(),
           [&](auto tag) { GatherParts<OnGpu, decltype(tag)>(parts, bottom, *top[0]); });
}

template <typename Dtype>
void StridedLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  const vector<StridedPart> parts = Parts(ShapesOf(bottom), top[0]->shape());
  Dispatch(this->backward_type(), [&](auto tag) {
    SpreadParts<OnGpu, decltype(tag)>(parts, *top[0], propagate_down, bottom);
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(StridedLayer);

}  // namespace caffe
