#include "caffe/layers/absval_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter&) { return {kernels::Activation::ABSOLUTE}; }

const bool registered = OperationTable::Add(Operation("AbsVal")
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .Homogeneous());

}  // namespace

INSTANTIATE_CLASS(AbsValLayer);
REGISTER_LAYER_CLASS(AbsVal);

}  // namespace caffe
