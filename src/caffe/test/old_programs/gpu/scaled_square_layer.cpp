#include <vector>

#include "scaled_square_layer.hpp"

#include "caffe/util/math_functions.hpp"

namespace caffe {

template <typename Dtype>
void ScaledSquareLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  scale_ = this->layer_param_.power_param().scale();
  shift_ = this->layer_param_.power_param().shift();
}

template <typename Dtype>
void ScaledSquareLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::Reshape(bottom, top);
  ones_.ReshapeLike(*bottom[0]);
  caffe_set(ones_.count(), Dtype(1), ones_.mutable_cpu_data());
}

template <typename Dtype>
void ScaledSquareLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  Dtype* top_data = top[0]->mutable_cpu_data();
  caffe_sqr(bottom[0]->count(), bottom[0]->cpu_data(), top_data);
  caffe_scal(bottom[0]->count(), scale_, top_data);
  caffe_axpy(bottom[0]->count(), shift_, ones_.cpu_data(), top_data);
}

template <typename Dtype>
void ScaledSquareLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) {
    return;
  }
  Dtype* bottom_diff = bottom[0]->mutable_cpu_diff();
  caffe_mul(bottom[0]->count(), top[0]->cpu_diff(), bottom[0]->cpu_data(), bottom_diff);
  caffe_scal(bottom[0]->count(), Dtype(2) * scale_, bottom_diff);
}

#ifdef CPU_ONLY
STUB_GPU(ScaledSquareLayer);
#endif

INSTANTIATE_CLASS(ScaledSquareLayer);
REGISTER_LAYER_CLASS(ScaledSquare);

}  // namespace caffe
