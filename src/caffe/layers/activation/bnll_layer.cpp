#include "caffe/layers/bnll_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter&) { return {kernels::Activation::SOFTPLUS}; }

const bool registered = OperationTable::Add(Operation("BNLL")
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native());

}  // namespace

INSTANTIATE_CLASS(BNLLLayer);
REGISTER_LAYER_CLASS(BNLL);

}  // namespace caffe
