#include "caffe/layers/threshold_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation ThresholdFunction(const LayerParameter& layer) {
  return {kernels::Activation::THRESHOLD, layer.threshold_param().threshold()};
}

const bool threshold_registered = OperationTable::Add(Operation("Threshold")
                                                          .Shapes(SameShapes)
                                                          .Activates(ThresholdFunction)
                                                          .InPlace()
                                                          .BackwardReads(Operation::kNothing)
                                                          .Native()
                                                          .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void ThresholdLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>&,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>&) {
  Require(!propagate_down[0], "Threshold has no gradient");
}

INSTANTIATE_CLASS(ThresholdLayer);
REGISTER_LAYER_CLASS(Threshold);

}  // namespace caffe
