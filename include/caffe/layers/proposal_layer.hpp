#ifndef CAFFE_PROPOSAL_LAYER_HPP_
#define CAFFE_PROPOSAL_LAYER_HPP_

#include <memory>
#include <utility>
#include <vector>

#include "caffe/layers/region_layer.hpp"

namespace caffe {

struct Box;

/// The regions that a region proposal network finds (Ren et al., "Faster R-CNN", section 3; the
/// layer is PVANET's).
///
/// Bottoms: probabilities (N, 2 A, H, W), A of background before A of objects; the boxes' codes
/// (N, 4 A, H, W), relative to A = ratios * scales anchors in each cell of feat_stride pixels;
/// images (N, 4 or more): height, width, and the scales of height and width, or one for both.
/// Tops: regions (R, 5), rows of item and corners; optionally their scores (R). Boxes are cut at
/// the image's border; those smaller than min_size times the scale score 0. Of the pre_nms_topn
/// best those are kept that overlap no better one by more than nms_thresh, post_nms_topn at most.
/// Gradients are 0.
template <typename Dtype>
class ProposalLayer : public RegionLayer<Dtype> {
 public:
  explicit ProposalLayer(const LayerParameter& param) : RegionLayer<Dtype>(param, "Proposal") {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Proposal"; }
  int ExactNumBottomBlobs() const override { return 3; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  struct Image {
    float height, width, min_height, min_width;
  };
  Image ImageOf(const Blob<Dtype>& images, int item) const;
  void Propose(const Dtype* scores, const Dtype* codes, int height, int width, const Image& image,
               vector<Box>* boxes, vector<std::pair<float, int>>* scored) const;

  std::shared_ptr<const vector<Box>> anchors_;  // of the cell at (0, 0)
};

}  // namespace caffe

#endif  // CAFFE_PROPOSAL_LAYER_HPP_
