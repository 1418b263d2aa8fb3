#include "caffe/layers/reorg_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"

namespace caffe {
namespace {

Shape ReorganisedShape(const ReorgParameter& param, const Shape& bottom) {
  Require(bottom.size() == 4, "Reorg takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  Require(param.has_stride(), Error::Field{"reorg_param"}, ": stride is missing");
  Require(param.stride() >= 1 && param.stride() < 32768, Error::Field{"reorg_param"},
          ": stride must lie between 1 and 32767, got ", param.stride());
  const int stride = static_cast<int>(param.stride()), square = stride * stride;
  Require(bottom[1] % square == 0, Error::Field{"reorg_param"}, ": the bottom has ", bottom[1],
          " channels: they must be a multiple of stride * stride, ", square);
  const int64_t limit = std::numeric_limits<int>::max();
  if (param.reverse()) {
    Require(int64_t(bottom[2]) * stride <= limit && int64_t(bottom[3]) * stride <= limit,
            Error::Field{"reorg_param"}, ": stride ", stride,
            " is too large for a bottom of shape ", ShapeString(bottom));
    return {bottom[0], bottom[1] / square, bottom[2] * stride, bottom[3] * stride};
  }
  Require(bottom[2] % stride == 0 && bottom[3] % stride == 0, Error::Field{"reorg_param"},
          ": the bottom has ", bottom[2], " x ", bottom[3],
          " positions: both must be multiples of stride, ", stride);
  Require(int64_t(bottom[1]) * square <= limit, Error::Field{"reorg_param"}, ": stride ", stride,
          " is too large for a bottom of shape ", ShapeString(bottom));
  return {bottom[0], bottom[1] * square, bottom[2] / stride, bottom[3] / stride};
}

std::vector<Shape> TopShapesOfReorg(const LayerParameter& layer,
                                    const std::vector<Shape>& bottoms) {
  return {ReorganisedShape(layer.reorg_param(), bottoms.at(0))};
}

const bool reorg_registered = OperationTable::Add(Operation("Reorg")
                                                      .Shapes(TopShapesOfReorg)
                                                      .BackwardReads(Operation::kNothing)
                                                      .Native()
                                                      .Homogeneous()
                                                      .TypeAgnostic());

}  // namespace

template <typename Dtype>
vector<StridedPart> ReorgLayer<Dtype>::Parts(const vector<Shape>& bottoms,
                                             const Shape& /*top*/) const {
  const ReorgParameter& param = this->layer_param_.reorg_param();
  const Shape& bottom = bottoms[0];
  const int s = static_cast<int>(param.stride());
  const int n = bottom[0], c = bottom[1] / (s * s), h = bottom[2], w = bottom[3];
  // The phases, (n, i, j, c, h, w), and where their elements lie in the planes (n, c, h, i, w, j).
  const kernels::Strides p = kernels::ContiguousStrides({n, c, h, s, w, s});
  StridedPart part =
      StridedPart::WholeTop({n, s, s, c, h, w}, {p[0], p[3], p[5], p[1], p[2], p[4]});
  if (param.reverse()) std::swap(part.in_bottom, part.in_top);
  return {part};
}

INSTANTIATE_CLASS(ReorgLayer);
REGISTER_LAYER_CLASS(Reorg);

}  // namespace caffe
