#include "caffe/layers/relu_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation ReluFunction(const LayerParameter& layer) {
  return {kernels::Activation::RELU, layer.relu_param().negative_slope()};
}

const bool relu_registered = OperationTable::Add(Operation("ReLU")
                                                     .Shapes(SameShapes)
                                                     .Activates(ReluFunction)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .Homogeneous()
                                                     .Quantizable());

}  // namespace

INSTANTIATE_CLASS(ReLULayer);
REGISTER_LAYER_CLASS(ReLU);

}  // namespace caffe
