#include "caffe/layers/activation/hard_swish_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation HardSwishFunction(const LayerParameter&) {
  return {kernels::Activation::HARD_SWISH, 1. / 6, 0.5};
}

const bool hard_swish_registered = OperationTable::Add(Operation("HardSwish")
                                                           .Shapes(SameShapes)
                                                           .Activates(HardSwishFunction)
                                                           .InPlace()
                                                           .BackwardReads(Operation::kBottomData)
                                                           .Native()
                                                           .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(HardSwishLayer);
REGISTER_LAYER_CLASS(HardSwish);

}  // namespace caffe
