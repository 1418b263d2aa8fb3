#include "caffe/layers/clip_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {
namespace {

kernels::Activation ClipFunction(const LayerParameter& layer) {
  const ClipParameter& param = layer.clip_param();
  Require(param.has_min() && param.has_max(), Error::Field{"clip_param"},
          Error::Remedy{"give min and max"});
  Require(param.min() <= param.max(), Error::Field{"clip_param"},
          ": min must not be greater than max, got ", param.min(), " and ", param.max());
  return {kernels::Activation::CLIP, param.min(), param.max()};
}

const bool clip_registered = OperationTable::Add(Operation("Clip")
                                                     .Shapes(SameShapes)
                                                     .Activates(ClipFunction)
                                                     .InPlace()
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .QuantizableInIntegers());

}  // namespace

INSTANTIATE_CLASS(ClipLayer);
REGISTER_LAYER_CLASS(Clip);

}  // namespace caffe
