#ifndef CAFFE_PROPOSAL_TARGET_LAYER_HPP_
#define CAFFE_PROPOSAL_TARGET_LAYER_HPP_

#include <vector>

#include "caffe/layers/region_layer.hpp"
#include "caffe/util/detection/regions.hpp"

namespace caffe {

/// What python_param.param_str may say to a ProposalTarget layer (see ParamStr): the settings of
/// py-faster-rcnn's layer, and the constants of its configuration in small letters.
struct ProposalTargetSettings {
  explicit ProposalTargetSettings(const LayerParameter& param);

  int num_classes;    ///< with the background
  bool agnostic;      ///< all classes share the second four numbers of a box (R-FCN)
  int batch_size;     ///< how many regions are taken; -1: all
  float fg_fraction;  ///< how many of them may be objects
  float fg_thresh, bg_thresh_hi, bg_thresh_lo;
  vector<float> inside_weights, means, stds;  ///< of a box's four numbers
};

/// The regions of one image that a detector is trained on, and what it is to predict for them
/// (Girshick 2015, "Fast R-CNN", section 2.3): does the work of py-faster-rcnn's
/// rpn.proposal_target_layer.
///
/// Bottoms: proposals (P, 5), rows of item, which is 0, and corners in pixels; true boxes (G, 5),
/// corners and class. The true boxes are proposals themselves.
/// Tops: regions (R, 5); their classes (R), 0 for background; what their boxes are to be
/// (R, 4 * num_classes), four numbers at the class's place; inside weights and outside weights of
/// that shape, 0 elsewhere. Gradients are 0.
///
/// A region that overlaps a true box by fg_thresh or more has its class; one that overlaps none by
/// bg_thresh_hi, but one by bg_thresh_lo or more, is background; others are left out. At most
/// batch_size regions stay, fg_fraction of them objects; the calling thread's random generator
/// chooses.
template <typename Dtype>
class ProposalTargetLayer : public RegionLayer<Dtype> {
 public:
  explicit ProposalTargetLayer(const LayerParameter& param)
      : RegionLayer<Dtype>(param, "ProposalTarget"), settings_(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ProposalTarget"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 5; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  struct Region {
    Box box;
    BestOverlap best;
  };
  vector<int> Choose(const vector<Region>& regions, size_t* objects) const;
  void WriteTarget(const Region& region, const LabelledBox& truth, Dtype* targets, Dtype* inside,
                   Dtype* outside) const;

  const ProposalTargetSettings settings_;
};

}  // namespace caffe

#endif  // CAFFE_PROPOSAL_TARGET_LAYER_HPP_
