#include "caffe/layers/difference_loss_layer.hpp"

#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {

std::vector<Shape> DifferenceLossShapes(const LayerParameter&, const std::vector<Shape>& bottoms) {
  const auto count = [](const Shape& shape) {
    int64_t product = 1;
    for (int extent : shape) product *= extent;
    return product;
  };
  const Shape& first = bottoms.at(0);
  for (size_t i = 1; i < bottoms.size(); ++i) {
    Require(!first.empty() && !bottoms[i].empty() && bottoms[i][0] == first[0] &&
                count(bottoms[i]) == count(first),
            "the bottoms must have the same number of items and of values per item: bottom 0 is ",
            ShapeString(first), ", bottom ", i, " is ", ShapeString(bottoms[i]));
  }
  return {Shape()};
}

template <typename Dtype>
void DifferenceLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(DifferenceLossShapes(this->layer_param_, ShapesOf(bottom))[0]);
  diff_.ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void DifferenceLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const size_t count = bottom[0]->count();
  Dtype* d = diff_.mutable_cpu_data();
  kernels::Subtract(count, bottom[0]->cpu_data(), bottom[1]->cpu_data(), d);
  if (bottom.size() > 2) kernels::Multiply(count, d, bottom[2]->cpu_data(), d);
  const Dtype* outside = bottom.size() > 3 ? bottom[3]->cpu_data() : nullptr;
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(Penalty(count, d, outside) / Normalizer(*bottom[0]));
}

template <typename Dtype>
void DifferenceLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0] && !propagate_down[1]) return;
  const size_t count = bottom[0]->count();
  slope_.ReshapeLike(diff_);
  Dtype* slope = slope_.mutable_cpu_data();
  Slope(count, diff_.cpu_data(), slope);
  for (size_t i = 2; i < bottom.size(); ++i) {
    kernels::Multiply(count, slope, bottom[i]->cpu_data(), slope);
  }
  const Dtype weight = top[0]->cpu_diff()[0] / Normalizer(*bottom[0]);
  for (int i = 0; i < 2; ++i) {
    if (!propagate_down[i]) continue;
    kernels::Affine(count, i == 0 ? weight : -weight, Dtype(0), slope,
                    bottom[i]->mutable_cpu_diff());
  }
}

INSTANTIATE_CLASS(DifferenceLossLayer);

}  // namespace caffe
