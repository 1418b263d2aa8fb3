#include "caffe/layers/shuffle_channel_layer.hpp"

#include "caffe/kernels/permute_channels.hpp"

namespace caffe {
namespace {

void Check(const ShuffleChannelParameter& param, const Shape& bottom) {
  Require(bottom.size() >= 2, "ShuffleChannel takes a bottom of 2 axes (N, C, ...) or more, not ",
          ShapeString(bottom));
  Require(param.group() >= 1, "shuffle_channel_param: group must be positive, got ", param.group());
  Require(bottom[1] % param.group() == 0, "shuffle_channel_param: group ", param.group(),
          " does not divide the bottom's ", bottom[1], " channels");
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  Check(layer.shuffle_channel_param(), bottoms.at(0));
  return {bottoms[0]};
}

const bool registered = OperationTable::Add(Operation("ShuffleChannel")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

}  // namespace

template <typename Dtype>
void ShuffleChannelLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  Check(this->layer_param_.shuffle_channel_param(), bottom[0]->shape());
  group_ = static_cast<int>(this->layer_param_.shuffle_channel_param().group());
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void ShuffleChannelLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::TransposePieces(bottom[0]->shape(0), group_, bottom[0]->shape(1) / group_,
                             bottom[0]->count(2), bottom[0]->template cpu_data_as<T>(),
                             top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void ShuffleChannelLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    kernels::TransposePieces(bottom[0]->shape(0), bottom[0]->shape(1) / group_, group_,
                             bottom[0]->count(2), top[0]->template cpu_diff_as<D>(),
                             bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ShuffleChannelLayer);
REGISTER_LAYER_CLASS(ShuffleChannel);

}  // namespace caffe
