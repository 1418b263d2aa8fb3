#ifndef CAFFE_ANNOTATION_MOVES_HPP_
#define CAFFE_ANNOTATION_MOVES_HPP_

#include "caffe/data_transformer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

using AnnotationGroups = google::protobuf::RepeatedPtrField<AnnotationGroup>;

/// The annotations of an image of `height` x `width` as fractions of the part of it in `crop`,
/// which may reach over its border: those that do not meet param.emit_constraint there, or have no
/// part in it, are left out. With `resized` the image is first resized as param.resize_param
/// says, and `crop` is a part of the result; with `mirrored` left and right are exchanged
/// afterwards.
AnnotationGroups Moved(const AnnotationGroups& annotations, const TransformationParameter& param,
                       int height, int width, bool resized, const NormalizedBBox& crop,
                       bool mirrored);

/// What a cut leaves, as fractions of the image.
NormalizedBBox BoxOf(const ImageCrop& crop);

}  // namespace caffe

#endif  // CAFFE_ANNOTATION_MOVES_HPP_
