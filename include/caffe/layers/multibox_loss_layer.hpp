#ifndef CAFFE_MULTIBOX_LOSS_LAYER_HPP_
#define CAFFE_MULTIBOX_LOSS_LAYER_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

struct Box;
struct BoxCode;
struct Matches;
struct TrueBox;

/// The loss of an SSD detector (Liu et al., "SSD: Single Shot MultiBox Detector", section 2.2):
/// (loc_weight * location loss + confidence loss) / normalizer, each if propagate_down lets it.
///
/// Bottoms: locations (N, priors * classes * 4), the classes being one with share_location; scores
/// (N, priors * num_classes); priors (1, 2, priors * 4); true boxes (1, 1, M, 8), rows of item,
/// label, instance, corners, difficult. With six bottoms, for the second stage of RefineDet (Zhang,
/// Wen, Bian, Lei and Li 2018), also the first stage's probabilities (N, priors * 2) of background
/// and object and its locations (N, priors * 4): these move the priors first, and negatives whose
/// probability of an object is below objectness_score are too easy to be mined. Top: the loss.
/// Priors are matched to true boxes by overlap. The location loss is that of the matched ones
/// against their encoded true boxes; the confidence loss, of the matched ones and, as background,
/// of the negatives that mining chose, or of all priors with mining_type NONE: softmax or, with
/// LOGISTIC, one sigmoid a class.
///
/// MAX_NEGATIVE takes the neg_pos_ratio times as many negatives that lose most, HARD_EXAMPLE the
/// sample_size of all priors, positive or negative; both with nms_param only those that do not
/// overlap others. An item without true boxes has no negatives. The normalizer counts the matched
/// priors (VALID).
///
/// With encode_variance_in_target the gradient of the locations is not divided by the variance, as
/// in the SSD fork, whose users chose their learning rates so.
template <typename Dtype>
class MultiBoxLossLayer : public LossLayer<Dtype> {
 public:
  explicit MultiBoxLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MultiBoxLoss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 4; }
  int MaxBottomBlobs() const override { return 6; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index < 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

  int num_classes_ = 0, num_loc_classes_ = 0, num_priors_ = 0;

 private:
  struct Positive;
  struct Assignment;
  struct Item;

  bool mining() const { return param().mining_type() != MultiBoxLossParameter_MiningType_NONE; }
  const MultiBoxLossParameter& param() const { return this->layer_param_.multibox_loss_param(); }
  BoxCode code() const;
  bool Counts(int bottom) const;
  Dtype Normalizer() const;

  Item ItemOf(const vector<Blob<Dtype>*>& bottom, int i) const;
  void ReadPriorsOf(const vector<Blob<Dtype>*>& bottom, int i, Item* item) const;
  const Dtype* LocationOf(const Item& item, int prior, int loc_class) const;
  Box Decoded(const Item& item, int prior, int loc_class) const;
  std::function<Box(int prior, int loc_class)> PredictionsOf(const Item& item) const;
  Assignment Assign(const Item& item) const;
  Positive MakePositive(const Item& item, int prior, int loc_class, const TrueBox& truth) const;
  vector<bool> Mine(const Item& item, const Matches& matches,
                    const vector<Positive>& positives) const;
  double LocationLossOf(const Item& item, const Positive& positive) const;
  double ConfidenceLossOf(const Item& item, int prior, int label) const;
  void LocationGradient(Dtype weight, const vector<Blob<Dtype>*>& bottom) const;
  void ConfidenceGradient(Dtype weight, const vector<Blob<Dtype>*>& bottom) const;

  /// The assignment of each item, for the backward pass.
  std::shared_ptr<const vector<Assignment>> assignments_;
  vector<Dtype> log_sums_;
};

}  // namespace caffe

#endif  // CAFFE_MULTIBOX_LOSS_LAYER_HPP_
