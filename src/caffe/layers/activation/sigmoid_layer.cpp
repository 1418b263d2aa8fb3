#include "caffe/layers/sigmoid_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation SigmoidFunction(const LayerParameter&) {
  return {kernels::Activation::SIGMOID};
}

const bool sigmoid_registered = OperationTable::Add(Operation("Sigmoid")
                                                        .Within(0, 1)
                                                        .Shapes(SameShapes)
                                                        .Activates(SigmoidFunction)
                                                        .InPlace()
                                                        .BackwardReads(Operation::kTopData)
                                                        .Native());

}  // namespace

INSTANTIATE_CLASS(SigmoidLayer);
REGISTER_LAYER_CLASS(Sigmoid);

}  // namespace caffe
