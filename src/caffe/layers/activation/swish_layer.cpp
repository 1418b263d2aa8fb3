#include "caffe/layers/swish_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation SwishFunction(const LayerParameter& layer) {
  return {kernels::Activation::SWISH, layer.swish_param().beta()};
}

const bool swish_registered = OperationTable::Add(Operation("Swish")
                                                      .Shapes(SameShapes)
                                                      .Activates(SwishFunction)
                                                      .InPlace()
                                                      .BackwardReads(Operation::kBottomData)
                                                      .Native()
                                                      .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(SwishLayer);
REGISTER_LAYER_CLASS(Swish);

}  // namespace caffe
