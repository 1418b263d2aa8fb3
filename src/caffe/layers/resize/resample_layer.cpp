#include "caffe/layers/resample_layer.hpp"

#include <cmath>

#include "caffe/layers/resize/resizing.hpp"

namespace caffe {
namespace {

kernels::ResampleFilter FilterOf(const ResampleParameter& param) {
  switch (param.type()) {
    case ResampleParameter_ResampleType_NEAREST:
      return kernels::ResampleFilter::NEAREST;
    case ResampleParameter_ResampleType_LINEAR:
      return kernels::ResampleFilter::LINEAR;
    case ResampleParameter_ResampleType_CUBIC:
      return kernels::ResampleFilter::CUBIC;
    default:
      Fail(Error::Field{"resample_param"}, ": type AREA is not available",
           Error::Remedy{"use NEAREST, LINEAR or CUBIC"});
  }
}

Resizing ResampleResizing(const ResampleParameter& param, const vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  Require(bottom.size() == 4, "Resample takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  Require(bottom[2] > 0 && bottom[3] > 0, "Resample takes no empty bottom: ", ShapeString(bottom));
  Require(param.has_height() == param.has_width(), Error::Field{"resample_param"},
          Error::Remedy{"give both height and width"});
  const bool two = bottoms.size() == 2;
  Require(!two || bottoms[1].size() == 4, "Resample takes a second bottom of 4 axes, not ",
          ShapeString(bottoms.back()));
  Require(param.factor() > 0, Error::Field{"resample_param"}, ": factor must be positive, got ",
          param.factor());
  const auto wanted = [&](int i, double given) {
    if (two) return double(bottoms[1][i]);
    return param.has_height() ? given : std::floor(bottom[i] * double(param.factor()));
  };
  const ResizedExtents top("resample_param", bottom, wanted(2, param.height()),
                           wanted(3, param.width()));
  const float ratio_h = static_cast<float>(bottom[2]) / top.height;
  const float ratio_w = static_cast<float>(bottom[3]) / top.width;
  const bool stretched = param.antialias() && (ratio_h > 1 || ratio_w > 1);
  const kernels::ResampleFilter filter = FilterOf(param);
  return {kernels::ResampledAxis(filter, bottom[2], top.height, ratio_w, stretched),
          kernels::ResampledAxis(filter, bottom[3], top.width, ratio_h, stretched)};
}

std::vector<Shape> TopShapesOfResample(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  return ResizedShapes(bottoms.at(0), ResampleResizing(layer.resample_param(), bottoms));
}

const bool resample_registered = OperationTable::Add(Operation("Resample")
                                                         .Interpolates()
                                                         .ShapeBottoms({1})
                                                         .Shapes(TopShapesOfResample)
                                                         .BackwardReads(Operation::kNothing)
                                                         .Native()
                                                         .Homogeneous());

}  // namespace

template <typename Dtype>
Resizing ResampleLayer<Dtype>::ResizingOf(const vector<Shape>& bottoms) const {
  return ResampleResizing(this->layer_param_.resample_param(), bottoms);
}

INSTANTIATE_CLASS(ResampleLayer);
REGISTER_LAYER_CLASS(Resample);

}  // namespace caffe
