#include "caffe/layers/psroi_pooling_layer.hpp"

#include <cmath>

#include "caffe/layers/pooling/roi_bins.hpp"

namespace caffe {
namespace {

kernels::RoiShape ReadPsroiShape(const LayerParameter& layer, const Shape& map, const Shape& rois) {
  const PSROIPoolingParameter& param = layer.psroi_pooling_param();
  Require(param.output_dim() > 0, Error::Field{"psroi_pooling_param"},
          ": output_dim must be given and positive, got ", param.output_dim());
  const kernels::RoiShape shape =
      ReadRoiShape(map, rois, "psroi_pooling_param: group_size", param.group_size(),
                   param.group_size(), param.spatial_scale());
  Require(shape.channels == param.output_dim() * shape.bins(), Error::Field{"psroi_pooling_param"},
          ": output_dim ", param.output_dim(), " and group_size ", param.group_size(), " need ",
          param.output_dim() * shape.bins(), " channels, the feature map has ", shape.channels);
  return shape;
}

std::vector<Shape> TopShapesOfPsroiPooling(const LayerParameter& layer,
                                           const std::vector<Shape>& bottoms) {
  const kernels::RoiShape shape = ReadPsroiShape(layer, bottoms.at(0), bottoms.at(1));
  return {RoiTopShape(shape, bottoms[1], layer.psroi_pooling_param().output_dim())};
}

const bool psroi_pooling_registered = OperationTable::Add(Operation("PSROIPooling")
                                                              .Shapes(TopShapesOfPsroiPooling)
                                                              .BackwardReads(Operation::kBottomData)
                                                              .Native()
                                                              .FloatBottoms({1})
                                                              .Homogeneous());

/// Corners are rounded in the image, the last one counts; parts overlap by what they share.
std::vector<kernels::Taps> ScaledParts(float first, float last, float scale, int parts,
                                       int extent) {
  const float start = std::round(first) * scale, end = (std::round(last) + 1) * scale;
  const float bin = std::max(end - start, 0.1f) / parts;
  std::vector<kernels::Taps> taps;
  for (int i = 0; i < parts; ++i) {
    taps.push_back(EvenTaps(std::floor(i * bin + start), std::ceil((i + 1) * bin + start), extent));
  }
  return taps;
}

}  // namespace

template <typename Dtype>
void PSROIPoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const PSROIPoolingParameter& param = this->layer_param_.psroi_pooling_param();
  this->shape_ = std::make_shared<const kernels::RoiShape>(
      ReadPsroiShape(this->layer_param_, bottom[0]->shape(), bottom[1]->shape()));
  this->scale_ = param.spatial_scale();
  this->position_sensitive_ = true;
  top[0]->Reshape(RoiTopShape(*this->shape_, bottom[1]->shape(), param.output_dim()));
}

template <typename Dtype>
kernels::RoiBins PSROIPoolingLayer<Dtype>::BinsOf(const Roi& roi) const {
  const kernels::RoiShape& s = *this->shape_;
  return {0, ScaledParts(roi.y1, roi.y2, this->scale_, s.pooled_height, s.height),
          ScaledParts(roi.x1, roi.x2, this->scale_, s.pooled_width, s.width)};
}

INSTANTIATE_CLASS(PSROIPoolingLayer);
REGISTER_LAYER_CLASS(PSROIPooling);

}  // namespace caffe
