#include "caffe/layers/bnll_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation BnllFunction(const LayerParameter&) { return {kernels::Activation::SOFTPLUS}; }

const bool bnll_registered = OperationTable::Add(Operation("BNLL")
                                                     .Shapes(SameShapes)
                                                     .Activates(BnllFunction)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(BNLLLayer);
REGISTER_LAYER_CLASS(BNLL);

}  // namespace caffe
