#include "caffe/util/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
void CheckBatchSampler(const BatchSampler& batch_sampler) {
  const Sampler& s = batch_sampler.sampler();
  Require(s.min_scale() > 0 && s.min_scale() <= s.max_scale() && s.max_scale() <= 1,
          "batch_sampler: min_scale ", s.min_scale(), " and max_scale ", s.max_scale(),
          " must be a range between 0 and 1");
  Require(s.min_aspect_ratio() > 0 && s.min_aspect_ratio() <= s.max_aspect_ratio() &&
              s.max_aspect_ratio() < std::numeric_limits<float>::max(),
          "batch_sampler: min_aspect_ratio ", s.min_aspect_ratio(), " and max_aspect_ratio ",
          s.max_aspect_ratio(), " must be a range of positive numbers");
}

void GroupObjectBBoxes(const AnnotatedDatum& anno_datum, vector<NormalizedBBox>* object_bboxes) {
  object_bboxes->clear();
  for (const AnnotationGroup& group : anno_datum.annotation_group()) {
    for (const Annotation& annotation : group.annotation()) {
      object_bboxes->push_back(annotation.bbox());
    }
  }
}

bool SatisfySampleConstraint(const NormalizedBBox& sampled_bbox,
                             const vector<NormalizedBBox>& object_bboxes,
                             const SampleConstraint& sample_constraint) {
  const SampleConstraint& c = sample_constraint;
  const bool overlap = c.has_min_jaccard_overlap() || c.has_max_jaccard_overlap();
  const bool sample = c.has_min_sample_coverage() || c.has_max_sample_coverage();
  const bool object = c.has_min_object_coverage() || c.has_max_object_coverage();
  if (!overlap && !sample && !object) return true;
  const auto within = [](float x, bool has_min, float min, bool has_max, float max) {
    return !(has_min && x < min) && !(has_max && x > max);
  };
  const auto satisfies = [&](const NormalizedBBox& box) {
    return (!overlap || within(JaccardOverlap(sampled_bbox, box), c.has_min_jaccard_overlap(),
                               c.min_jaccard_overlap(), c.has_max_jaccard_overlap(),
                               c.max_jaccard_overlap())) &&
           (!sample || within(BBoxCoverage(sampled_bbox, box), c.has_min_sample_coverage(),
                              c.min_sample_coverage(), c.has_max_sample_coverage(),
                              c.max_sample_coverage())) &&
           (!object ||
            within(BBoxCoverage(box, sampled_bbox), c.has_min_object_coverage(),
                   c.min_object_coverage(), c.has_max_object_coverage(), c.max_object_coverage()));
  };
  return std::any_of(object_bboxes.begin(), object_bboxes.end(), satisfies);
}

// The aspect ratio is kept such that neither side is longer than the image's.
void SampleBBox(const Sampler& sampler, NormalizedBBox* sampled_bbox) {
  const float scale = RandomUniform(sampler.min_scale(), sampler.max_scale());
  float ratio = RandomUniform(sampler.min_aspect_ratio(), sampler.max_aspect_ratio());
  ratio = std::min(std::max(ratio, scale * scale), 1 / (scale * scale));
  const float width = std::min(scale * std::sqrt(ratio), 1.f);
  const float height = std::min(scale / std::sqrt(ratio), 1.f);
  const float x = RandomUniform(0, 1 - width), y = RandomUniform(0, 1 - height);
  SetBox({x, y, x + width, y + height}, sampled_bbox);
}

void GenerateSamples(const NormalizedBBox& source_bbox, const vector<NormalizedBBox>& object_bboxes,
                     const BatchSampler& batch_sampler, vector<NormalizedBBox>* sampled_bboxes) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < batch_sampler.max_trials(); ++i) {
    if (batch_sampler.has_max_sample() && found >= batch_sampler.max_sample()) return;
    NormalizedBBox sampled;
    SampleBBox(batch_sampler.sampler(), &sampled);
    LocateBBox(source_bbox, sampled, &sampled);
    if (!SatisfySampleConstraint(sampled, object_bboxes, batch_sampler.sample_constraint())) {
      continue;
    }
    ++found;
    sampled_bboxes->push_back(sampled);
  }
}

void GenerateBatchSamples(const AnnotatedDatum& anno_datum,
                          const vector<BatchSampler>& batch_samplers,
                          vector<NormalizedBBox>* sampled_bboxes) {
  sampled_bboxes->clear();
  vector<NormalizedBBox> object_bboxes;
  GroupObjectBBoxes(anno_datum, &object_bboxes);
  for (const BatchSampler& batch_sampler : batch_samplers) {
    if (!batch_sampler.use_original_image()) continue;
    GenerateSamples(UnitBBox(), object_bboxes, batch_sampler, sampled_bboxes);
  }
}

}  // namespace caffe
