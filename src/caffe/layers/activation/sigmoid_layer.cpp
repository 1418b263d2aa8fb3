#include "caffe/layers/sigmoid_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation FunctionOf(const LayerParameter&) { return {kernels::Activation::SIGMOID}; }

const bool registered = OperationTable::Add(Operation("Sigmoid")
                                                .Within(0, 1)
                                                .Shapes(SameShapes)
                                                .Activates(FunctionOf)
                                                .InPlace()
                                                .BackwardReads(Operation::kTopData)
                                                .Native());

}  // namespace

INSTANTIATE_CLASS(SigmoidLayer);
REGISTER_LAYER_CLASS(Sigmoid);

}  // namespace caffe
