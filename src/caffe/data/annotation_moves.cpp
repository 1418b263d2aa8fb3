#include "annotation_moves.hpp"

#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"

namespace caffe {
namespace {

void Mirror(NormalizedBBox* bbox) {
  const float left = bbox->xmin();
  bbox->set_xmin(1 - bbox->xmax());
  bbox->set_xmax(1 - left);
}

}  // namespace

AnnotationGroups Moved(const AnnotationGroups& annotations, const TransformationParameter& param,
                       int height, int width, bool resized, const NormalizedBBox& crop,
                       bool mirrored) {
  const bool resizes = resized && param.has_resize_param();
  AnnotationGroups kept;
  for (const AnnotationGroup& group : annotations) {
    AnnotationGroup inside;
    inside.set_group_label(group.group_label());
    for (const Annotation& annotation : group.annotation()) {
      Annotation moved = annotation;
      NormalizedBBox* const bbox = moved.mutable_bbox();
      if (resizes) UpdateBBoxByResizePolicy(param.resize_param(), width, height, bbox);
      const NormalizedBBox before = *bbox;
      const bool wanted =
          !param.has_emit_constraint() || MeetEmitConstraint(crop, before, param.emit_constraint());
      if (!wanted || !ProjectBBox(crop, before, bbox)) continue;
      if (mirrored) Mirror(bbox);
      if (resizes) ExtrapolateBBox(param.resize_param(), height, width, crop, bbox);
      *inside.add_annotation() = moved;
    }
    if (inside.annotation_size() > 0) *kept.Add() = inside;
  }
  return kept;
}

NormalizedBBox BoxOf(const ImageCrop& crop) {
  NormalizedBBox bbox;
  SetBox(Scaled({float(crop.w_offset), float(crop.h_offset), float(crop.w_offset + crop.width),
                 float(crop.h_offset + crop.height)},
                1.f / crop.image_height, 1.f / crop.image_width),
         &bbox);
  return bbox;
}

}  // namespace caffe
