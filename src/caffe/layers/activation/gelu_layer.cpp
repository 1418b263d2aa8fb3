#include "caffe/layers/activation/gelu_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation GeluFunction(const LayerParameter&) { return {kernels::Activation::GELU}; }

const bool gelu_registered = OperationTable::Add(Operation("GELU")
                                                     .Shapes(SameShapes)
                                                     .Activates(GeluFunction)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(GELULayer);
REGISTER_LAYER_CLASS(GELU);

}  // namespace caffe
