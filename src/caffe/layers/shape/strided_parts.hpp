#ifndef CAFFE_LAYERS_STRIDED_PARTS_HPP_
#define CAFFE_LAYERS_STRIDED_PARTS_HPP_

#include <vector>

#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/strided_layer.hpp"

// The passes of a StridedLayer; Place is OnHost or OnGpu.
namespace caffe {

inline size_t CountOf(const StridedPart& part) { return CountOf(part.shape, 0, part.shape.size()); }

template <typename Place, typename T, typename Dtype>
void GatherParts(const std::vector<StridedPart>& parts, const std::vector<Blob<Dtype>*>& bottom,
                 const Blob<Dtype>& top) {
  const size_t count = top.count();
  size_t covered = 0;
  for (const StridedPart& part : parts) covered += part.forward ? CountOf(part) : 0;
  T* y = Place::template Overwrite<T>(top.data_tensor());
  if (covered < count) Place::Clear(count, y);
  for (size_t i = 0; i < parts.size(); ++i) {
    const StridedPart& part = parts[i];
    if (!part.forward) continue;
    const T* x = Place::template Read<T>(bottom[i]->data_tensor());
    Place::CopyStrided(part.shape, x + part.first_in_bottom, part.in_bottom, y + part.first_in_top,
                       part.in_top);
  }
}

template <typename Place, typename D, typename Dtype>
void SpreadParts(const std::vector<StridedPart>& parts, const Blob<Dtype>& top,
                 const std::vector<bool>& propagate_down, const std::vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    const size_t count = bottom[i]->count();
    const bool any = i < parts.size() && parts[i].backward;
    D* dx = Place::template Overwrite<D>(bottom[i]->diff_tensor());
    if (!any || CountOf(parts[i]) < count) Place::Clear(count, dx);
    if (!any) continue;
    const D* dy = Place::template Read<D>(top.diff_tensor());
    Place::CopyStrided(parts[i].shape, dy + parts[i].first_in_top, parts[i].in_top,
                       dx + parts[i].first_in_bottom, parts[i].in_bottom);
  }
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_STRIDED_PARTS_HPP_
