#include "caffe/layers/continuation_indicator_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>&) {
  const ContinuationIndicatorParameter& param = layer.continuation_indicator_param();
  constexpr uint32_t kMost = 0x7fffffff;
  Require(param.time_step() > 0 && param.time_step() <= kMost,
          "continuation_indicator_param: time_step must be positive, got ", param.time_step());
  Require(param.batch_size() > 0 && param.batch_size() <= kMost,
          "continuation_indicator_param: batch_size must be positive, got ", param.batch_size());
  return {{static_cast<int>(param.time_step()), static_cast<int>(param.batch_size())}};
}

const bool registered = OperationTable::Add(Operation("ContinuationIndicator")
                                                .CpuOnly(kSmallConstants)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Source());

}  // namespace

template <typename Dtype>
void ContinuationIndicatorLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>&,
                                                const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapes(this->layer_param_, {})[0]);
}

template <typename Dtype>
void ContinuationIndicatorLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                                    const vector<Blob<Dtype>*>& top) {
  Dtype* cont = top[0]->mutable_cpu_data();
  std::fill_n(cont, top[0]->count(), Dtype(1));
  std::fill_n(cont, top[0]->shape(1), Dtype(0));
}

INSTANTIATE_CLASS(ContinuationIndicatorLayer);
REGISTER_LAYER_CLASS(ContinuationIndicator);

}  // namespace caffe
