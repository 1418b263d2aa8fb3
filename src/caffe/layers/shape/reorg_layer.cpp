#include "caffe/layers/reorg_layer.hpp"

#include "caffe/kernels/permute_channels.hpp"

namespace caffe {
namespace {

Shape ReorganisedShape(const ReorgParameter& param, const Shape& bottom) {
  Require(bottom.size() == 4, "Reorg takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  Require(param.has_stride(), "reorg_param: stride is missing");
  Require(param.stride() >= 1 && param.stride() < 32768,
          "reorg_param: stride must lie between 1 and 32767, got ", param.stride());
  const int stride = static_cast<int>(param.stride()), square = stride * stride;
  Require(bottom[1] % square == 0, "reorg_param: the bottom has ", bottom[1],
          " channels: they must be a multiple of stride * stride, ", square);
  const int64_t limit = std::numeric_limits<int>::max();
  if (param.reverse()) {
    Require(int64_t(bottom[2]) * stride <= limit && int64_t(bottom[3]) * stride <= limit,
            "reorg_param: stride ", stride, " is too large for a bottom of shape ",
            ShapeString(bottom));
    return {bottom[0], bottom[1] / square, bottom[2] * stride, bottom[3] * stride};
  }
  Require(bottom[2] % stride == 0 && bottom[3] % stride == 0, "reorg_param: the bottom has ",
          bottom[2], " x ", bottom[3], " positions: both must be multiples of stride, ", stride);
  Require(int64_t(bottom[1]) * square <= limit, "reorg_param: stride ", stride,
          " is too large for a bottom of shape ", ShapeString(bottom));
  return {bottom[0], bottom[1] * square, bottom[2] / stride, bottom[3] / stride};
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return {ReorganisedShape(layer.reorg_param(), bottoms.at(0))};
}

const bool registered = OperationTable::Add(Operation("Reorg")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

}  // namespace

template <typename Dtype>
void ReorgLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(ReorganisedShape(this->layer_param_.reorg_param(), bottom[0]->shape()));
}

template <typename Dtype>
template <typename T>
void ReorgLayer<Dtype>::Move(const Shape& bottom, bool reverse, const T* x, T* y) const {
  const int stride = static_cast<int>(this->layer_param_.reorg_param().stride());
  const auto move = reverse ? kernels::DepthToSpace<T> : kernels::SpaceToDepth<T>;
  move(bottom[0], bottom[1] / (stride * stride), bottom[2], bottom[3], stride, x, y);
}

template <typename Dtype>
void ReorgLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    Move(bottom[0]->shape(), this->layer_param_.reorg_param().reverse(),
         bottom[0]->template cpu_data_as<T>(), top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void ReorgLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    Move(bottom[0]->shape(), !this->layer_param_.reorg_param().reverse(),
         top[0]->template cpu_diff_as<D>(), bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ReorgLayer);
REGISTER_LAYER_CLASS(Reorg);

}  // namespace caffe
