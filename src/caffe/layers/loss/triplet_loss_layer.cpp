#include "caffe/layers/triplet_loss_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfTripletLoss(const LayerParameter&,
                                          const std::vector<Shape>& bottoms) {
  const Shape& anchors = bottoms.at(0);
  Require(!anchors.empty() && anchors == bottoms.at(1) && anchors == bottoms.at(2),
          "TripletLoss needs anchors, positives and negatives of one shape: they are ",
          ShapeString(anchors), ", ", ShapeString(bottoms[1]), " and ", ShapeString(bottoms.at(2)));
  return {Shape()};
}

const bool triplet_loss_registered =
    OperationTable::Add(Operation("TripletLoss")
                            .Shapes(TopShapesOfTripletLoss)
                            .BackwardReads(Operation::kBottomData)
                            .FloatTops({0})
                            .Loss()
                            .CpuOnly("it has one loop over triplets, for training only"));

}  // namespace

template <typename Dtype>
void TripletLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const float margin = this->layer_param_.triplet_loss_param().margin();
  Require(margin >= 0, Error::Field{"triplet_loss_param"}, ": margin must not be negative, got ",
          margin);
}

template <typename Dtype>
void TripletLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfTripletLoss(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
double TripletLossLayer<Dtype>::LossOf(const vector<Blob<Dtype>*>& bottom, int n) const {
  const size_t length = bottom[0]->count(1), first = n * length;
  const Dtype* a = bottom[0]->cpu_data() + first;
  const Dtype* p = bottom[1]->cpu_data() + first;
  const Dtype* q = bottom[2]->cpu_data() + first;
  double difference = this->layer_param_.triplet_loss_param().margin();
  for (size_t i = 0; i < length; ++i) {
    const double to_positive = double(a[i]) - p[i], to_negative = double(a[i]) - q[i];
    difference += to_positive * to_positive - to_negative * to_negative;
  }
  return difference <= 0 ? 0 : difference;
}

template <typename Dtype>
void TripletLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const int items = bottom[0]->shape(0);
  double sum = 0;
  for (int n = 0; n < items; ++n) sum += LossOf(bottom, n);
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(sum / (2. * items));
}

template <typename Dtype>
void TripletLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  const int items = bottom[0]->shape(0);
  const size_t length = bottom[0]->count(1);
  const Dtype weight = top[0]->cpu_diff()[0] / items;
  const Dtype* const data[] = {bottom[0]->cpu_data(), bottom[1]->cpu_data(), bottom[2]->cpu_data()};
  // Half the gradients of |a - p|^2 - |a - q|^2 are q - p, p - a and a - q.
  constexpr int kTerms[][2] = {{2, 1}, {1, 0}, {0, 2}};
  for (int b = 0; b < 3; ++b) {
    if (!propagate_down[b]) continue;
    const Dtype* plus = data[kTerms[b][0]];
    const Dtype* minus = data[kTerms[b][1]];
    Dtype* diff = bottom[b]->mutable_cpu_diff();
    for (int n = 0; n < items; ++n) {
      const double loss = LossOf(bottom, n);
      const Dtype factor = loss > 0 ? weight : static_cast<Dtype>(loss);  // 0 or NaN
      for (size_t i = n * length; i < (n + 1) * length; ++i)
        diff[i] = factor * (plus[i] - minus[i]);
    }
  }
}

INSTANTIATE_CLASS(TripletLossLayer);
REGISTER_LAYER_CLASS(TripletLoss);

}  // namespace caffe
