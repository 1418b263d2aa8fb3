#ifndef CAFFE_UTIL_SAMPLER_HPP_
#define CAFFE_UTIL_SAMPLER_HPP_

#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

/// Random patches of annotated images, drawn with the calling thread's generator (Liu et al.,
/// "SSD: Single Shot MultiBox Detector", section 2.2).
namespace caffe {

/// Throws Error for bounds out of which nothing can be drawn.
void CheckBatchSampler(const BatchSampler& batch_sampler);

/// All annotated boxes.
void GroupObjectBBoxes(const AnnotatedDatum& anno_datum, vector<NormalizedBBox>* object_bboxes);
/// True if the patch satisfies all bounds with one of the boxes, or if there are no bounds.
bool SatisfySampleConstraint(const NormalizedBBox& sampled_bbox,
                             const vector<NormalizedBBox>& object_bboxes,
                             const SampleConstraint& sample_constraint);
/// One patch: its area is the square of a random scale, its aspect ratio (width / height) and its
/// place are random too. Four draws.
void SampleBBox(const Sampler& sampler, NormalizedBBox* sampled_bbox);
/// Adds the patches of source_bbox that satisfy the constraint: max_sample of them (all, if it is
/// not given) of max_trials.
void GenerateSamples(const NormalizedBBox& source_bbox, const vector<NormalizedBBox>& object_bboxes,
                     const BatchSampler& batch_sampler, vector<NormalizedBBox>* sampled_bboxes);
/// Those of all samplers.
void GenerateBatchSamples(const AnnotatedDatum& anno_datum,
                          const vector<BatchSampler>& batch_samplers,
                          vector<NormalizedBBox>* sampled_bboxes);

}  // namespace caffe

#endif  // CAFFE_UTIL_SAMPLER_HPP_
