#include "caffe/layers/absval_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation AbsvalFunction(const LayerParameter&) {
  return {kernels::Activation::ABSOLUTE};
}

const bool absval_registered = OperationTable::Add(Operation("AbsVal")
                                                       .Shapes(SameShapes)
                                                       .Activates(AbsvalFunction)
                                                       .InPlace()
                                                       .BackwardReads(Operation::kBottomData)
                                                       .Native()
                                                       .QuantizableInIntegers()
                                                       .Homogeneous());

}  // namespace

INSTANTIATE_CLASS(AbsValLayer);
REGISTER_LAYER_CLASS(AbsVal);

}  // namespace caffe
