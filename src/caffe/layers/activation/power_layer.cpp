#include "caffe/layers/power_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation PowerFunction(const LayerParameter& layer) {
  const PowerParameter& param = layer.power_param();
  return {kernels::Activation::POWER, param.shift(), param.scale(), param.power()};
}

const bool power_registered = OperationTable::Add(Operation("Power")
                                                      .Shapes(SameShapes)
                                                      .Activates(PowerFunction)
                                                      .InPlace()
                                                      .BackwardReads(Operation::kBottomData)
                                                      .Native()
                                                      .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(PowerLayer);
REGISTER_LAYER_CLASS(Power);

}  // namespace caffe
