#include "caffe/layers/roi_pooling_layer.hpp"

#include <cmath>

#include "caffe/layers/pooling/roi_bins.hpp"

namespace caffe {
namespace {

kernels::RoiShape ReadRoiPoolingShape(const LayerParameter& layer, const Shape& map,
                                      const Shape& rois) {
  const ROIPoolingParameter& param = layer.roi_pooling_param();
  return ReadRoiShape(map, rois, "roi_pooling_param", param.pooled_h(), param.pooled_w(),
                      param.spatial_scale());
}

std::vector<Shape> TopShapesOfRoiPooling(const LayerParameter& layer,
                                         const std::vector<Shape>& bottoms) {
  const kernels::RoiShape shape = ReadRoiPoolingShape(layer, bottoms.at(0), bottoms.at(1));
  return {RoiTopShape(shape, bottoms[1], shape.channels)};
}

const bool roi_pooling_registered = OperationTable::Add(Operation("ROIPooling")
                                                            .Shapes(TopShapesOfRoiPooling)
                                                            .BackwardReads(Operation::kBottomData)
                                                            .Native()
                                                            .FloatBottoms({1})
                                                            .Homogeneous());

/// [floor(i * bin), ceil((i + 1) * bin)) for each part of `size` positions from `start`.
std::vector<kernels::Taps> MaximumParts(int start, int size, int parts, int extent) {
  const float bin = float(size) / float(parts);
  std::vector<kernels::Taps> taps;
  for (int i = 0; i < parts; ++i) {
    taps.push_back(EvenTaps(std::floor(i * bin) + start, std::ceil((i + 1) * bin) + start, extent));
  }
  return taps;
}

}  // namespace

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  this->shape_ = std::make_shared<const kernels::RoiShape>(
      ReadRoiPoolingShape(this->layer_param_, bottom[0]->shape(), bottom[1]->shape()));
  this->scale_ = this->layer_param_.roi_pooling_param().spatial_scale();
  top[0]->Reshape(RoiTopShape(*this->shape_, bottom[1]->shape(), this->shape_->channels));
}

template <typename Dtype>
kernels::RoiBins ROIPoolingLayer<Dtype>::BinsOf(const Roi& roi) const {
  const auto position = [this](float x) { return static_cast<int>(std::round(x * this->scale_)); };
  const int x = position(roi.x1), y = position(roi.y1);
  const int width = std::max(position(roi.x2) - x + 1, 1);
  const int height = std::max(position(roi.y2) - y + 1, 1);
  const kernels::RoiShape& s = *this->shape_;
  return {0, MaximumParts(y, height, s.pooled_height, s.height),
          MaximumParts(x, width, s.pooled_width, s.width)};
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const vector<kernels::RoiBins> bins = this->Bins(*bottom[1]);
  index_.resize(top[0]->count());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::RoiMaxForward(*this->shape_, bins, bottom[0]->template cpu_data_as<T>(),
                           top[0]->template overwrite_cpu_data_as<T>(), index_.data());
  });
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Require(index_.size() == static_cast<size_t>(top[0]->count()),
          "ROIPooling has found no maxima for its backward pass",
          Error::Remedy{"run forward first"});
  const vector<kernels::RoiBins> bins = this->Bins(*bottom[1]);
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    kernels::RoiMaxBackward(*this->shape_, bins, top[0]->template cpu_diff_as<D>(), index_.data(),
                            bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(ROIPoolingLayer);
REGISTER_LAYER_CLASS(ROIPooling);

}  // namespace caffe
