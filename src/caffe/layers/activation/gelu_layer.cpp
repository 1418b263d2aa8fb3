#include "caffe/layers/activation/gelu_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter&) { return {kernels::Activation::GELU}; }

const bool registered = OperationTable::Add(Operation("GELU")
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native());

}  // namespace

INSTANTIATE_CLASS(GELULayer);
REGISTER_LAYER_CLASS(GELU);

}  // namespace caffe
