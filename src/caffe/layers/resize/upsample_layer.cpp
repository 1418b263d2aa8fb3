#include "caffe/layers/upsample_layer.hpp"

#include "caffe/layers/pooling/unpooling.hpp"
#include "caffe/layers/resize/resizing.hpp"

namespace caffe {
namespace {

struct Scales {
  double h, w;
};

Scales ScalesOf(const UpsampleParameter& param) {
  Require(param.has_scale_h() == param.has_scale_w(), Error::Field{"upsample_param"},
          Error::Remedy{"give both scale_h and scale_w"});
  Require(!param.has_scale() || !param.has_scale_h(), Error::Field{"upsample_param"},
          Error::Remedy{"give scale, or scale_h and scale_w, not both"});
  const unsigned h = param.has_scale_h() ? param.scale_h() : param.scale();
  const unsigned w = param.has_scale_w() ? param.scale_w() : param.scale();
  Require(h >= 1 && w >= 1, Error::Field{"upsample_param"}, ": scale must be at least 1, got ", h,
          " and ", w);
  return {double(h), double(w)};
}

void RequireFourAxes(const Shape& bottom) {
  Require(bottom.size() == 4, "Upsample takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
}

Resizing Repetition(const UpsampleParameter& param, const Shape& bottom) {
  RequireFourAxes(bottom);
  Require(!param.has_upsample_h() && !param.has_upsample_w() && !param.pad_out_h() &&
              !param.pad_out_w(),
          Error::Field{"upsample_param"},
          ": upsample_h, upsample_w and pad_out are for a second bottom, a mask",
          Error::Remedy{"give scale alone"});
  const Scales scales = ScalesOf(param);
  const ResizedExtents top("upsample_param", bottom, bottom[2] * scales.h, bottom[3] * scales.w);
  return {kernels::RepeatedAxis(bottom[2], top.height / bottom[2]),
          kernels::RepeatedAxis(bottom[3], top.width / bottom[3])};
}

Shape UnpooledShape(const UpsampleParameter& param, const Shape& bottom, const Shape& mask) {
  RequireFourAxes(bottom);
  Require(mask == bottom, "the mask has shape ", ShapeString(mask), " where the bottom has ",
          ShapeString(bottom));
  Require(param.has_upsample_h() == param.has_upsample_w(), Error::Field{"upsample_param"},
          Error::Remedy{"give both upsample_h and upsample_w"});
  double height = param.upsample_h(), width = param.upsample_w();
  if (!param.has_upsample_h()) {
    const Scales scales = ScalesOf(param);
    Require((!param.pad_out_h() || scales.h == 2) && (!param.pad_out_w() || scales.w == 2),
            Error::Field{"upsample_param"}, ": pad_out is for scale 2, not ", scales.h, " and ",
            scales.w);
    height = bottom[2] * scales.h - param.pad_out_h();
    width = bottom[3] * scales.w - param.pad_out_w();
  }
  const ResizedExtents top("upsample_param", bottom, height, width);
  return {bottom[0], bottom[1], top.height, top.width};
}

std::vector<Shape> TopShapesOfUpsample(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  const UpsampleParameter& param = layer.upsample_param();
  if (bottoms.size() > 1) return {UnpooledShape(param, bottoms[0], bottoms[1])};
  return ResizedShapes(bottoms.at(0), Repetition(param, bottoms[0]));
}

const bool upsample_registered = OperationTable::Add(Operation("Upsample")
                                                         .Shapes(TopShapesOfUpsample)
                                                         .BackwardReads(Operation::kBottomData)
                                                         .Native()
                                                         .FloatBottoms({1})
                                                         .Homogeneous());

}  // namespace

template <typename Dtype>
Resizing UpsampleLayer<Dtype>::ResizingOf(const vector<Shape>& bottoms) const {
  return Repetition(this->layer_param_.upsample_param(), bottoms[0]);
}

template <typename Dtype>
void UpsampleLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  if (bottom.size() == 1) return ResizeLayer<Dtype>::Reshape(bottom, top);
  top[0]->Reshape(
      UnpooledShape(this->layer_param_.upsample_param(), bottom[0]->shape(), bottom[1]->shape()));
}

template <typename Dtype>
void UpsampleLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  if (bottom.size() == 1) return ResizeLayer<Dtype>::Forward_cpu(bottom, top);
  Dispatch(this->forward_type(),
           [&](auto tag) { Unpool<decltype(tag)>(*bottom[0], *bottom[1], top[0]); });
}

template <typename Dtype>
void UpsampleLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return ResizeLayer<Dtype>::Backward_cpu(top, propagate_down, bottom);
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(),
           [&](auto tag) { UnpoolGradient<decltype(tag)>(*top[0], *bottom[1], bottom[0]); });
}

INSTANTIATE_CLASS(UpsampleLayer);
REGISTER_LAYER_CLASS(Upsample);

}  // namespace caffe
