#include "caffe/layers/elu_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation EluFunction(const LayerParameter& layer) {
  const ELUParameter& param = layer.elu_param();
  return {kernels::Activation::ELU, param.alpha(), param.lambda()};
}

const bool elu_registered =
    OperationTable::Add(Operation("ELU")
                            .Shapes(SameShapes)
                            .Activates(EluFunction)
                            .InPlace()
                            .BackwardReads(Operation::kBottomData | Operation::kTopData)
                            .Native()
                            .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(ELULayer);
REGISTER_LAYER_CLASS(ELU);

}  // namespace caffe
