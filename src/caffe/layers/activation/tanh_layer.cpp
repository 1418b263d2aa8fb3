#include "caffe/layers/tanh_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation TanhFunction(const LayerParameter&) { return {kernels::Activation::TANH}; }

const bool tanh_registered = OperationTable::Add(Operation("TanH")
                                                     .Within(-1, 1)
                                                     .Shapes(SameShapes)
                                                     .Activates(TanhFunction)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kTopData)
                                                     .Native());

}  // namespace

INSTANTIATE_CLASS(TanHLayer);
REGISTER_LAYER_CLASS(TanH);

}  // namespace caffe
