#include "caffe/layers/swish_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter& layer) {
  return {kernels::Activation::SWISH, layer.swish_param().beta()};
}

const bool registered = OperationTable::Add(Operation("Swish")
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kBottomData)
                                                .Native());

}  // namespace

INSTANTIATE_CLASS(SwishLayer);
REGISTER_LAYER_CLASS(Swish);

}  // namespace caffe
