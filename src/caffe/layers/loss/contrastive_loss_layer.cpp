#include "caffe/layers/contrastive_loss_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/difference_loss_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfContrastiveLoss(const LayerParameter& layer,
                                              const std::vector<Shape>& bottoms) {
  DifferenceLossShapes(layer, {bottoms.at(0), bottoms.at(1)});
  ScoresPerItem(bottoms[0], bottoms.at(2));
  return {Shape()};
}

const bool contrastive_loss_registered =
    OperationTable::Add(Operation("ContrastiveLoss")
                            .Shapes(TopShapesOfContrastiveLoss)
                            .BackwardReads(Operation::kBottomData)
                            .FloatBottoms({2})
                            .Loss());

template <typename Dtype>
bool Similar(Dtype label) {
  return std::trunc(label) != 0;
}

}  // namespace

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfContrastiveLoss(
      this->layer_param_, {bottom[0]->shape(), bottom[1]->shape(), bottom[2]->shape()})[0]);
  diff_.ReshapeLike(*bottom[0]);
  dist_sq_.Reshape({bottom[0]->shape(0)});
}

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const ContrastiveLossParameter& param = this->layer_param_.contrastive_loss_param();
  const int values = bottom[0]->count(1);
  const Dtype margin = param.margin();
  const Dtype* similar = bottom[2]->cpu_data();
  Dtype* diff = diff_.mutable_cpu_data();
  Dtype* dist_sq = dist_sq_.mutable_cpu_data();
  kernels::Subtract(diff_.count(), bottom[0]->cpu_data(), bottom[1]->cpu_data(), diff);
  double loss = 0;
  for (int pair = 0; pair < bottom[0]->shape(0); ++pair) {
    dist_sq[pair] = static_cast<Dtype>(kernels::Sumsq(values, diff + size_t(pair) * values));
    if (Similar(similar[pair])) {
      loss += dist_sq[pair];
    } else if (param.legacy_version()) {
      loss += std::max(margin - dist_sq[pair], Dtype(0));
    } else {
      const Dtype missing = std::max(margin - std::sqrt(dist_sq[pair]), Dtype(0));
      loss += missing * missing;
    }
  }
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(loss / bottom[0]->shape(0) / 2);
}

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  const ContrastiveLossParameter& param = this->layer_param_.contrastive_loss_param();
  const size_t values = bottom[0]->count(1);
  const Dtype margin = param.margin();
  const Dtype* similar = bottom[2]->cpu_data();
  const Dtype* dist_sq = dist_sq_.cpu_data();
  // By what the difference of a pair is multiplied.
  const auto slope = [&](int pair) -> Dtype {
    if (Similar(similar[pair])) return 1;
    if (param.legacy_version()) return margin > dist_sq[pair] ? -1 : 0;
    const Dtype d = std::sqrt(dist_sq[pair]);
    return margin > d ? -(margin - d) / (d + Dtype(1e-4)) : 0;
  };
  const Dtype weight = top[0]->cpu_diff()[0] / bottom[0]->shape(0);
  for (int i = 0; i < 2; ++i) {
    if (!propagate_down[i]) continue;
    Dtype* dx = bottom[i]->mutable_cpu_diff();
    for (int pair = 0; pair < bottom[0]->shape(0); ++pair) {
      kernels::Affine(values, (i == 0 ? weight : -weight) * slope(pair), Dtype(0),
                      diff_.cpu_data() + pair * values, dx + pair * values);
    }
  }
}

INSTANTIATE_CLASS(ContrastiveLossLayer);
REGISTER_LAYER_CLASS(ContrastiveLoss);

}  // namespace caffe
