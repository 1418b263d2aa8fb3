#ifndef CAFFE_ANCHOR_TARGET_LAYER_HPP_
#define CAFFE_ANCHOR_TARGET_LAYER_HPP_

#include <vector>

#include "caffe/layers/region_layer.hpp"
#include "caffe/util/detection/regions.hpp"

namespace caffe {

/// What python_param.param_str may say to an AnchorTarget layer (see ParamStr): the settings of
/// py-faster-rcnn's layer, and the constants of its configuration in small letters.
struct AnchorTargetSettings {
  explicit AnchorTargetSettings(const LayerParameter& param);

  float feat_stride, base_size;
  vector<float> ratios, scales;  ///< of anchors; ratios are height / width
  float allowed_border;          ///< pixels by which an anchor may stick out of the image
  float positive_overlap, negative_overlap;
  bool clobber_positives;  ///< below negative_overlap even what fits a true box best is background
  int batch_size;          ///< how many anchors count
  float fg_fraction;       ///< how many of them may be objects
  vector<float> inside_weights;  ///< of a box's four numbers
  float positive_weight;  ///< the objects' share in the outside weights; negative: all weigh alike
};

/// What a region proposal network is to learn from one image (Ren et al. 2015, "Faster R-CNN",
/// section 3.1.2): does the work of py-faster-rcnn's rpn.anchor_target_layer, with the same
/// python_param.param_str: 'feat_stride', 'scales', 'ratios', ...
///
/// Bottoms: scores (1, 2 A, H, W), of which only the shape counts; true boxes (G, 5), corners in
/// pixels and class; image (1, 2 or more): height and width; any fourth one is not read. There
/// are A = ratios * scales anchors in each cell of feat_stride pixels.
/// Tops: labels (1, 1, A H, W): 1 for anchors that overlap a true box by rpn_positive_overlap or
/// more, or a true box more than all others do, 0 for those that overlap each one by less than
/// rpn_negative_overlap, else -1, also where an anchor sticks out of the image and where it is
/// left out at random; what the boxes are to be (1, 4 A, H, W), as codes relative to the anchors;
/// inside weights, which are 0 but for objects; outside weights, whose sum over the anchors that
/// count is 1. Gradients are 0.
///
/// Of the objects at most rpn_fg_fraction * rpn_batchsize count, of the background the rest of
/// rpn_batchsize; the calling thread's random generator chooses.
template <typename Dtype>
class AnchorTargetLayer : public RegionLayer<Dtype> {
 public:
  explicit AnchorTargetLayer(const LayerParameter& param)
      : RegionLayer<Dtype>(param, "AnchorTarget"), settings_(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "AnchorTarget"; }
  int MinBottomBlobs() const override { return 3; }
  int MaxBottomBlobs() const override { return 4; }
  int ExactNumTopBlobs() const override { return 4; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  /// An anchor inside of the image.
  struct Anchor {
    Box box;
    int number, cell;  ///< which of A, and where in H x W
    int label;
    BestOverlap best;
  };
  vector<Anchor> AnchorsInside(const Blob<Dtype>& scores, const Blob<Dtype>& image) const;
  void Label(const vector<LabelledBox>& truths, vector<Anchor>* anchors) const;
  void LeaveOutAtRandom(vector<Anchor>* anchors) const;
  void Write(const vector<Anchor>& anchors, const vector<LabelledBox>& truths, int cells,
             const vector<Blob<Dtype>*>& top) const;

  const AnchorTargetSettings settings_;
  vector<Box> cell_anchors_;  // of the cell at (0, 0)
};

}  // namespace caffe

#endif  // CAFFE_ANCHOR_TARGET_LAYER_HPP_
