#include "caffe/layers/relu6_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation Relu6Function(const LayerParameter& layer) {
  const ReLU6Parameter& param = layer.relu6_param();
  Require(param.threshold() > 0, Error::Field{"relu6_param"}, ": threshold must be positive, got ",
          param.threshold());
  return {kernels::Activation::CLIPPED_RELU, param.threshold(), param.negative_slope()};
}

const bool relu6_registered = OperationTable::Add(Operation("ReLU6")
                                                      .Shapes(SameShapes)
                                                      .Activates(Relu6Function)
                                                      .InPlace()
                                                      .BackwardReads(Operation::kBottomData)
                                                      .Native()
                                                      .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(ReLU6Layer);
REGISTER_LAYER_CLASS(ReLU6);

}  // namespace caffe
