#include "caffe/layers/roi_align_layer.hpp"

#include <cmath>

#include "caffe/layers/pooling/roi_bins.hpp"

namespace caffe {
namespace {

kernels::RoiShape ReadRoiAlignShape(const LayerParameter& layer, const Shape& map,
                                    const Shape& rois) {
  constexpr int kMaxSamples = 4096;
  const ROIAlignParameter& param = layer.roi_align_param();
  Require(param.sampling_ratio() <= kMaxSamples, Error::Field{"roi_align_param.sampling_ratio"},
          " is ", param.sampling_ratio(), Error::Remedy{Join("give up to ", kMaxSamples)});
  return ReadRoiShape(map, rois, "roi_align_param", param.pooled_h(), param.pooled_w(),
                      param.spatial_scale());
}

std::vector<Shape> TopShapesOfRoiAlign(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  const kernels::RoiShape shape = ReadRoiAlignShape(layer, bottoms.at(0), bottoms.at(1));
  return {RoiTopShape(shape, bottoms[1], shape.channels)};
}

const bool roi_align_registered = OperationTable::Add(Operation("ROIAlign")
                                                          .Shapes(TopShapesOfRoiAlign)
                                                          .BackwardReads(Operation::kBottomData)
                                                          .Native()
                                                          .FloatBottoms({1})
                                                          .Homogeneous());

/// Samples of one part of an axis, at even distances. Interpolation on a grid is the product of
/// those along the axes, so each axis has its own weights.
kernels::Taps Samples(float start, float size, int count, int extent) {
  const int first = std::min(std::max(int(std::floor(start)), 0), extent - 1);
  const int last = std::min(std::max(int(std::ceil(start + size)) + 1, first + 1), extent);
  kernels::Taps taps = {first, std::vector<float>(last - first, 0.f)};
  const auto add = [&](int position, float weight) { taps.weight[position - first] += weight; };
  // Only the samples that may lie on the map: a region may be much larger.
  const auto sample_at = [&](double position) {
    return static_cast<int>(
        std::min(std::max((position - start) * count / size, 0.), double(count)));
  };
  const int end = std::min(sample_at(extent) + 1, count);
  for (int i = sample_at(-1); i < end; ++i) {
    float at = start + (i + 0.5f) * size / count;
    if (at < -1 || at > extent) continue;
    at = std::min(std::max(at, 0.f), float(extent - 1));
    const int below = std::min(std::max(int(at), first), last - 1);
    const float rest = at - below;
    add(below, (1 - rest) / count);
    if (rest > 0 && below + 1 < last) add(below + 1, rest / count);
  }
  return taps;
}

std::vector<kernels::Taps> SampledParts(float first, float last, int sampling_ratio, int parts,
                                        int extent) {
  const float bin = std::max(last - first, 1.f) / parts;
  const int count = sampling_ratio > 0 ? sampling_ratio : static_cast<int>(std::ceil(bin));
  std::vector<kernels::Taps> taps;
  for (int i = 0; i < parts; ++i) taps.push_back(Samples(first + i * bin, bin, count, extent));
  return taps;
}

}  // namespace

template <typename Dtype>
void ROIAlignLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  this->shape_ = std::make_shared<const kernels::RoiShape>(
      ReadRoiAlignShape(this->layer_param_, bottom[0]->shape(), bottom[1]->shape()));
  this->scale_ = this->layer_param_.roi_align_param().spatial_scale();
  top[0]->Reshape(RoiTopShape(*this->shape_, bottom[1]->shape(), this->shape_->channels));
}

template <typename Dtype>
kernels::RoiBins ROIAlignLayer<Dtype>::BinsOf(const Roi& roi) const {
  const kernels::RoiShape& s = *this->shape_;
  const int ratio = this->layer_param_.roi_align_param().sampling_ratio();
  const float scale = this->scale_;
  return {0, SampledParts(roi.y1 * scale, roi.y2 * scale, ratio, s.pooled_height, s.height),
          SampledParts(roi.x1 * scale, roi.x2 * scale, ratio, s.pooled_width, s.width)};
}

INSTANTIATE_CLASS(ROIAlignLayer);
REGISTER_LAYER_CLASS(ROIAlign);

}  // namespace caffe
