#include "caffe/layers/shuffle_channel_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

void Check(const ShuffleChannelParameter& param, const Shape& bottom) {
  Require(bottom.size() >= 2, "ShuffleChannel takes a bottom of 2 axes (N, C, ...) or more, not ",
          ShapeString(bottom));
  Require(param.group() >= 1, Error::Field{"shuffle_channel_param"},
          ": group must be positive, got ", param.group());
  Require(bottom[1] % param.group() == 0, Error::Field{"shuffle_channel_param"}, ": group ",
          param.group(), " does not divide the bottom's ", bottom[1], " channels");
}

std::vector<Shape> TopShapesOfShuffleChannel(const LayerParameter& layer,
                                             const std::vector<Shape>& bottoms) {
  Check(layer.shuffle_channel_param(), bottoms.at(0));
  return {bottoms[0]};
}

const bool shuffle_channel_registered = OperationTable::Add(Operation("ShuffleChannel")
                                                                .Shapes(TopShapesOfShuffleChannel)
                                                                .BackwardReads(Operation::kNothing)
                                                                .Native()
                                                                .Homogeneous()
                                                                .TypeAgnostic());

}  // namespace

template <typename Dtype>
vector<StridedPart> ShuffleChannelLayer<Dtype>::Parts(const vector<Shape>& bottoms,
                                                      const Shape& top) const {
  const int groups = static_cast<int>(this->layer_param_.shuffle_channel_param().group());
  const int num = top[0], each = top[1] / groups;
  const int inner = static_cast<int>(CountOf(bottoms[0], 2, bottoms[0].size()));
  const kernels::Strides x = kernels::ContiguousStrides({num, groups, each, inner});
  return {StridedPart::WholeTop({num, each, groups, inner}, {x[0], x[2], x[1], x[3]})};
}

INSTANTIATE_CLASS(ShuffleChannelLayer);
REGISTER_LAYER_CLASS(ShuffleChannel);

}  // namespace caffe
