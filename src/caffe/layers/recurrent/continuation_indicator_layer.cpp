#include "caffe/layers/continuation_indicator_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const ContinuationIndicatorParameter& param = layer.continuation_indicator_param();
  constexpr uint32_t kMax = 0x7fffffff;
  Require(param.time_step() > 0 && param.time_step() <= kMax,
          Error::Field{"continuation_indicator_param"}, ": time_step must be positive, got ",
          param.time_step());
  if (!bottoms.empty() && !param.has_batch_size()) {
    const int axis = CheckedAxis("continuation_indicator_param: axis", param.axis(), bottoms[0]);
    return {{static_cast<int>(param.time_step()), bottoms[0][axis]}};
  }
  Require(param.batch_size() > 0 && param.batch_size() <= kMax,
          Error::Field{"continuation_indicator_param"}, ": batch_size must be positive, got ",
          param.batch_size());
  return {{static_cast<int>(param.time_step()), static_cast<int>(param.batch_size())}};
}

const bool registered = OperationTable::Add(Operation("ContinuationIndicator")
                                                .CpuOnly(kSmallConstants)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Source());

}  // namespace

template <typename Dtype>
void ContinuationIndicatorLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapes(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
void ContinuationIndicatorLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                                    const vector<Blob<Dtype>*>& top) {
  Dtype* cont = top[0]->mutable_cpu_data();
  std::fill_n(cont, top[0]->count(), Dtype(1));
  std::fill_n(cont, top[0]->shape(1), Dtype(0));
}

template <typename Dtype>
void ContinuationIndicatorLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>&,
                                                     const vector<bool>& propagate_down,
                                                     const vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    std::fill_n(bottom[i]->mutable_cpu_diff(), bottom[i]->count(), Dtype(0));
  }
}

INSTANTIATE_CLASS(ContinuationIndicatorLayer);
REGISTER_LAYER_CLASS(ContinuationIndicator);

}  // namespace caffe
