#include "caffe/layers/soft_truncation_layer.hpp"

namespace caffe {
namespace {

const bool soft_truncation_registered = OperationTable::Add(
    Operation("SoftTruncation").Shapes(SameShapes).InPlace().BackwardReads(Operation::kTopData));

}  // namespace

template <typename Dtype>
void SoftTruncationLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                            const vector<Blob<Dtype>*>&) {
  Require(this->layer_param_.soft_truncation_param().c() != 0,
          Error::Field{"soft_truncation_param"}, ": c must not be 0");
}

template <typename Dtype>
void SoftTruncationLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const Dtype c = this->layer_param_.soft_truncation_param().c();
  const Dtype* x = bottom[0]->cpu_data();
  Dtype* y = top[0]->mutable_cpu_data();
  for (int i = 0; i < bottom[0]->count(); ++i) y[i] = 1 - std::exp(-x[i] / c);
}

template <typename Dtype>
void SoftTruncationLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype c = this->layer_param_.soft_truncation_param().c();
  const Dtype* y = top[0]->cpu_data();
  const Dtype* dy = top[0]->cpu_diff();
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  for (int i = 0; i < bottom[0]->count(); ++i) dx[i] = dy[i] * (1 - y[i]) / c;
}

INSTANTIATE_CLASS(SoftTruncationLayer);
REGISTER_LAYER_CLASS(SoftTruncation);

}  // namespace caffe
