#include "caffe/layers/hinge_loss_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfHingeLoss(const LayerParameter&, const std::vector<Shape>& bottoms) {
  ScoresPerItem(bottoms.at(0), bottoms.at(1));
  return {Shape()};
}

const bool hinge_loss_registered = OperationTable::Add(Operation("HingeLoss")
                                                           .Shapes(TopShapesOfHingeLoss)
                                                           .BackwardReads(Operation::kBottomData)
                                                           .FloatBottoms({1})
                                                           .Loss());

}  // namespace

template <typename Dtype>
void HingeLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(
      TopShapesOfHingeLoss(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()})[0]);
}

template <typename Dtype>
template <typename Function>
void HingeLossLayer<Dtype>::ForEachViolation(const vector<Blob<Dtype>*>& bottom,
                                             Function&& f) const {
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  const int classes = bottom[0]->count(1);
  for (int item = 0; item < bottom[0]->shape(0); ++item) {
    const int label = ReadLabel(labels[item], item, classes, nullptr);
    for (int c = 0; c < classes; ++c) {
      const int index = item * classes + c;
      const Dtype sign = c == label ? 1 : -1;
      const Dtype margin = 1 - sign * x[index];
      if (!(margin <= 0)) f(index, sign, margin);  // not a number counts, so that the loss shows it
    }
  }
}

template <typename Dtype>
void HingeLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  double loss = 0;
  const bool square = squared();
  ForEachViolation(bottom,
                   [&](int, Dtype, Dtype margin) { loss += square ? margin * margin : margin; });
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(loss / bottom[0]->shape(0));
}

template <typename Dtype>
void HingeLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype weight = top[0]->cpu_diff()[0] / bottom[0]->shape(0);
  const bool square = squared();
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  std::fill_n(dx, bottom[0]->count(), Dtype(0));
  ForEachViolation(bottom, [&](int index, Dtype sign, Dtype margin) {
    dx[index] = -sign * weight * (square ? 2 * margin : 1);
  });
}

INSTANTIATE_CLASS(HingeLossLayer);
REGISTER_LAYER_CLASS(HingeLoss);

}  // namespace caffe
