#include "caffe/layers/log_layer.hpp"

#include <cmath>

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation LogFunction(const LayerParameter& layer) {
  const LogParameter& param = layer.log_param();
  const bool natural = param.base() == -1;
  Require(natural || (param.base() > 0 && param.base() != 1), Error::Field{"log_param"},
          ": base must be positive and not 1, or -1 for e, got ", param.base());
  const double factor = natural ? 1 : 1 / std::log(double(param.base()));
  return {kernels::Activation::LOGARITHM, param.shift(), param.scale(), factor};
}

const bool log_registered = OperationTable::Add(Operation("Log")
                                                    .Shapes(SameShapes)
                                                    .Activates(LogFunction)
                                                    .InPlace()
                                                    .BackwardReads(Operation::kBottomData)
                                                    .Native()
                                                    .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(LogLayer);
REGISTER_LAYER_CLASS(Log);

}  // namespace caffe
