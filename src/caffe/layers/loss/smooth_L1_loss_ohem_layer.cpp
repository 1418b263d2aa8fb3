#include "caffe/layers/smooth_L1_loss_ohem_layer.hpp"

#include "caffe/kernels/losses.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfSmoothL1LossOhem(const LayerParameter& layer,
                                               const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = DifferenceLossShapes(layer, bottoms);
  const Shape& x = bottoms.at(0);
  Require(x.size() <= 4, "predictions have at most 4 axes, not ", ShapeString(x));
  if (layer.top_size() > 1) tops.push_back({x[0], 1, ExtentOrOne(x, 2), ExtentOrOne(x, 3)});
  return tops;
}

const bool smooth_L1_loss_ohem_registered =
    OperationTable::Add(Operation("SmoothL1LossOHEM")
                            .Shapes(TopShapesOfSmoothL1LossOhem)
                            .BackwardReads(Operation::kBottomData)
                            .Loss());

}  // namespace

template <typename Dtype>
void SmoothL1LossOHEMLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  SmoothL1LossLayer<Dtype>::LayerSetUp(bottom, top);
  this->sigma2_ = 1;
  if (top.size() > 1 && this->layer_param_.loss_weight_size() == 1) {
    this->layer_param_.add_loss_weight(Dtype(0));
  }
}

template <typename Dtype>
void SmoothL1LossOHEMLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  SmoothL1LossLayer<Dtype>::Reshape(bottom, top);
  Require(bottom[0]->num_axes() <= 4, "predictions have at most 4 axes, not ",
          ShapeString(bottom[0]->shape()));
  if (top.size() < 2) return;
  top[1]->Reshape({bottom[0]->num(), 1, bottom[0]->height(), bottom[0]->width()});
}

template <typename Dtype>
Dtype SmoothL1LossOHEMLayer<Dtype>::Normalizer(const Blob<Dtype>& predictions) const {
  return this->GetNormalizer(NormalizationOf(this->layer_param_.loss_param()), predictions.num(),
                             predictions.height() * predictions.width(), -1);
}

template <typename Dtype>
void SmoothL1LossOHEMLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  SmoothL1LossLayer<Dtype>::Forward_cpu(bottom, top);
  if (top.size() < 2) return;
  const int channels = bottom[0]->channels(), positions = bottom[0]->height() * bottom[0]->width();
  vector<Dtype> penalties(this->diff_.count());
  kernels::SmoothL1Penalties(penalties.size(), Dtype(1), this->diff_.cpu_data(), penalties.data());
  Dtype* lost = top[1]->mutable_cpu_data();
  for (int i = 0; i < top[1]->count(); ++i) {
    const Dtype* column =
        penalties.data() + size_t(i / positions) * channels * positions + i % positions;
    lost[i] = 0;
    for (int c = 0; c < channels; ++c) lost[i] += column[c * positions];
  }
}

INSTANTIATE_CLASS(SmoothL1LossOHEMLayer);
REGISTER_LAYER_CLASS(SmoothL1LossOHEM);

}  // namespace caffe
