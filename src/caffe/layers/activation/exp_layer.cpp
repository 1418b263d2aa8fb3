#include "caffe/layers/exp_layer.hpp"

#include <cmath>

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation ExpFunction(const LayerParameter& layer) {
  const ExpParameter& param = layer.exp_param();
  Require(param.base() > 0 || param.base() == -1, Error::Field{"exp_param"},
          ": base must be positive, or -1 for e, got ", param.base());
  const double log_base = param.base() == -1 ? 1 : std::log(double(param.base()));
  return {kernels::Activation::EXPONENTIAL, log_base * param.scale(),
          std::exp(log_base * param.shift())};
}

const bool exp_registered = OperationTable::Add(Operation("Exp")
                                                    .Shapes(SameShapes)
                                                    .Activates(ExpFunction)
                                                    .InPlace()
                                                    .BackwardReads(Operation::kTopData)
                                                    .Native()
                                                    .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(ExpLayer);
REGISTER_LAYER_CLASS(Exp);

}  // namespace caffe
