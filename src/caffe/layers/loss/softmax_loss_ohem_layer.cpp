#include "caffe/layers/softmax_loss_ohem_layer.hpp"

#include "caffe/kernels/softmax.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfSoftmaxLossOhem(const LayerParameter& layer,
                                              const std::vector<Shape>& bottoms) {
  ClassAxis(bottoms.at(0), bottoms.at(1), layer.softmax_param().axis());
  std::vector<Shape> tops = {Shape(), bottoms[0], bottoms[1]};
  tops.resize(std::min(3, std::max(1, layer.top_size())));
  return tops;
}

const bool softmax_loss_ohem_registered =
    OperationTable::Add(Operation("SoftmaxWithLossOHEM")
                            .Shapes(TopShapesOfSoftmaxLossOhem)
                            .BackwardReads(Operation::kBottomData)
                            .FloatBottoms({1})
                            .Loss());

}  // namespace

template <typename Dtype>
void SoftmaxWithLossOHEMLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  const bool weights_given = this->layer_param_.loss_weight_size() > 0;
  SoftmaxWithLossLayer<Dtype>::LayerSetUp(bottom, top);
  if (top.size() > 2 && !weights_given) this->layer_param_.add_loss_weight(Dtype(0));
}

template <typename Dtype>
void SoftmaxWithLossOHEMLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  SoftmaxWithLossLayer<Dtype>::Reshape(bottom, top);
  if (top.size() > 2) top[2]->ReshapeLike(*bottom[1]);
}

template <typename Dtype>
void SoftmaxWithLossOHEMLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  SoftmaxWithLossLayer<Dtype>::Forward_cpu(bottom, top);
  if (top.size() < 3) return;
  const int classes = bottom[0]->shape(this->softmax_axis_), inner = this->inner_num_;
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  Dtype* lost = top[2]->mutable_cpu_data();
  kernels::LogSumExp(this->outer_num_, classes, inner, x, lost);
  for (int i = 0; i < top[2]->count(); ++i) {
    const int label = this->LabelAt(labels, i, classes);
    const size_t at = (size_t(i / inner) * classes + label) * inner + i % inner;
    lost[i] = label < 0 ? Dtype(0) : lost[i] - x[at];
  }
}

INSTANTIATE_CLASS(SoftmaxWithLossOHEMLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLossOHEM);

}  // namespace caffe
