#include "caffe/layers/roi_layer.hpp"

#include "caffe/kernels/cuda/roi.hpp"
#include "caffe/kernels/roi_pooling.hpp"

namespace caffe {

namespace {

/// One axis of all regions.
struct AxisBlobs {
  Blob<int> begin, start;
  Blob<float> weight;

  cuda::RoiParts Set(const vector<kernels::RoiBins>& bins,
                     vector<kernels::Taps> kernels::RoiBins::*axis, int parts) {
    vector<int> begins, starts = {0};
    vector<float> weights;
    for (const kernels::RoiBins& region : bins) {
      for (const kernels::Taps& taps : region.*axis) {
        begins.push_back(taps.begin);
        weights.insert(weights.end(), taps.weight.begin(), taps.weight.end());
        starts.push_back(static_cast<int>(weights.size()));
      }
    }
    const auto put = [](const auto& values, auto* blob) {
      blob->Reshape({std::max(1, static_cast<int>(values.size()))});
      std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
      return blob->gpu_data();
    };
    return {parts, put(begins, &begin), put(starts, &start), put(weights, &weight)};
  }
};

}  // namespace

template <typename Dtype>
struct RoiLayer<Dtype>::GpuBlobs {
  Blob<int> items;
  AxisBlobs rows, columns;
};

template <typename Dtype>
cuda::RoiBins RoiLayer<Dtype>::GpuBins(const Blob<Dtype>& rois) {
  const vector<kernels::RoiBins> bins = Bins(rois);
  if (!gpu_) gpu_ = std::make_shared<GpuBlobs>();
  gpu_->items.Reshape({std::max(1, static_cast<int>(bins.size()))});
  int* item = gpu_->items.mutable_cpu_data();
  for (const kernels::RoiBins& region : bins) *item++ = static_cast<int>(region.item);
  return {static_cast<int>(bins.size()),
          static_cast<int>(shape_->items),
          static_cast<int>(shape_->channels),
          shape_->height,
          shape_->width,
          gpu_->items.gpu_data(),
          gpu_->rows.Set(bins, &kernels::RoiBins::rows, shape_->pooled_height),
          gpu_->columns.Set(bins, &kernels::RoiBins::columns, shape_->pooled_width)};
}

template cuda::RoiBins RoiLayer<float>::GpuBins(const Blob<float>&);
template cuda::RoiBins RoiLayer<double>::GpuBins(const Blob<double>&);

}  // namespace caffe
