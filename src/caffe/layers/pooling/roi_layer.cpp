#include "caffe/layers/roi_layer.hpp"

#include <cmath>

#include "caffe/layers/pooling/roi_bins.hpp"

namespace caffe {

template <typename Dtype>
vector<kernels::RoiBins> RoiLayer<Dtype>::Bins(const Blob<Dtype>& rois) const {
  const Dtype* row = rois.cpu_data();
  vector<kernels::RoiBins> bins;
  for (int i = 0; i < rois.shape(0); ++i, row += 5) {
    Require(row[0] >= 0 && row[0] < Dtype(shape_->items), "region number ", i, " is of item ",
            row[0], ", but the batch has ", shape_->items);
    for (int k = 1; k < 5; ++k) {
      Require(std::fabs(row[k]) * std::max(1.f, scale_) < 1e8, "region number ", i,
              " has a corner at ", row[k]);
    }
    const Roi roi = {int(row[0]), float(row[1]), float(row[2]), float(row[3]), float(row[4])};
    bins.push_back(BinsOf(roi));
    bins.back().item = roi.item;
  }
  return bins;
}

kernels::RoiShape ReadRoiShape(const Shape& map, const Shape& rois, const char* param,
                               int64_t pooled_height, int64_t pooled_width, float spatial_scale) {
  Require(map.size() == 4, "the feature map has 4 axes (N, C, H, W), not ", ShapeString(map));
  Require(map[2] > 0 && map[3] > 0, "the feature map of shape ", ShapeString(map),
          " has nothing in it");
  int64_t numbers = 1;
  for (size_t i = 1; i < rois.size(); ++i) numbers *= rois[i];
  Require(rois.size() >= 2 && numbers == 5, "regions have shape (R, 5), not ", ShapeString(rois));
  Require(pooled_height > 0 && pooled_width > 0 && pooled_height < 10000 && pooled_width < 10000,
          Error::Field{param}, ": the pooled height and width must be given and positive, got ",
          pooled_height, " and ", pooled_width);
  Require(spatial_scale > 0, Error::Field{param}, ": spatial_scale must be positive, got ",
          spatial_scale);
  kernels::RoiShape shape;
  shape.items = map[0];
  shape.channels = map[1];
  shape.height = map[2];
  shape.width = map[3];
  shape.pooled_height = static_cast<int>(pooled_height);
  shape.pooled_width = static_cast<int>(pooled_width);
  return shape;
}

kernels::Taps EvenTaps(float begin, float end, int extent) {
  const auto inside = [=](float x) {
    return static_cast<int>(std::min(std::max(x, 0.f), float(extent)));
  };
  const int first = inside(begin), last = inside(end);
  const int count = std::max(0, last - first);
  return {first, std::vector<float>(count, 1.f / std::max(1, count))};
}

INSTANTIATE_CLASS(RoiLayer);

}  // namespace caffe
