#include "caffe/layers/unpooling_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"
#include "unpooling.hpp"

namespace caffe {
namespace {

/// The extent whose pooling has `pooled` positions.
int Extent(const char* axis, int pooled, int64_t kernel, int64_t stride, int64_t pad) {
  const int64_t extent = (int64_t(pooled) - 1) * stride + kernel - 2 * pad;
  Require(extent > 0 && extent <= std::numeric_limits<int>::max(), Error::Field{"pooling_param"},
          ": the ", axis, " of the output would be ", extent);
  return static_cast<int>(extent);
}

std::vector<Shape> TopShapesOfUnpooling(const LayerParameter& layer,
                                        const std::vector<Shape>& bottoms) {
  const PoolingParameter& p = layer.pooling_param();
  const Shape& values = bottoms.at(0);
  Require(values.size() == 4, layer.type(), " takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(values));
  Require(bottoms.at(1) == values, "the mask has shape ", ShapeString(bottoms[1]),
          " where the bottom has ", ShapeString(values));
  Require(p.pool() == PoolingParameter_PoolMethod_MAX, Error::Field{"pooling_param"}, ": ",
          layer.type(), " undoes pool: MAX only");
  if (bottoms.size() > 2) {
    Require(bottoms[2].size() == 4,
            "bottom 2, which has the output's height and width, must have 4 ", "axes, not ",
            ShapeString(bottoms[2]));
    return {{values[0], values[1], bottoms[2][2], bottoms[2][3]}};
  }
  const bool both = p.has_kernel_h() && p.has_kernel_w();
  Require(
      p.has_kernel_size() != both, Error::Field{"pooling_param"},
      Error::Remedy{
          "give kernel_size, or kernel_h and kernel_w, or a third bottom of the output's size"});
  return {
      {values[0], values[1],
       Extent("height", values[2], both ? p.kernel_h() : p.kernel_size(),
              p.has_stride_h() ? p.stride_h() : p.stride(), p.has_pad_h() ? p.pad_h() : p.pad()),
       Extent("width", values[3], both ? p.kernel_w() : p.kernel_size(),
              p.has_stride_w() ? p.stride_w() : p.stride(), p.has_pad_w() ? p.pad_w() : p.pad())}};
}

bool Register(const char* type) {
  return OperationTable::Add(Operation(type)
                                 .Shapes(TopShapesOfUnpooling)
                                 .BackwardReads(Operation::kBottomData)
                                 .Native()
                                 .FloatBottoms({1})
                                 .Homogeneous());
}
const bool unpooling_registered = Register("UnPooling") && Register("Unpooling");

}  // namespace

template <typename Dtype>
void UnPoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfUnpooling(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
void UnPoolingLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(),
           [&](auto tag) { Unpool<decltype(tag)>(*bottom[0], *bottom[1], top[0]); });
}

template <typename Dtype>
void UnPoolingLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(),
           [&](auto tag) { UnpoolGradient<decltype(tag)>(*top[0], *bottom[1], bottom[0]); });
}

namespace {

template <typename Dtype>
shared_ptr<Layer<Dtype>> CreateUnpooling(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype>>(new UnPoolingLayer<Dtype>(param));
}

}  // namespace

INSTANTIATE_CLASS(UnPoolingLayer);
REGISTER_LAYER_CLASS(UnPooling);
REGISTER_LAYER_CREATOR(Unpooling, CreateUnpooling);

}  // namespace caffe
