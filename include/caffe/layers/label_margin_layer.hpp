#ifndef CAFFE_LABEL_MARGIN_LAYER_HPP_
#define CAFFE_LABEL_MARGIN_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// What layers that give the score of a label's class a margin have in common: they copy bottom 0,
/// scores (N, C...), to top 0 and change one number in each row, score s of its label, to f(s).
///
/// Bottom 1: labels (N), whole numbers less than the scores in a row; where one is negative the row
/// stays as it is. A second top, if there is one: the margin of this pass (1). In the TEST phase
/// scores are changed only if the layer's parameters ask for it.
template <typename Dtype>
class LabelMarginLayer : public Layer<Dtype> {
 public:
  explicit LabelMarginLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumBottomBlobs() const override { return 2; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 1; }

 protected:
  /// f at one score, and its derivative.
  struct Changed {
    double value, slope;
  };
  virtual Changed At(double score) const = 0;
  /// f's derivative is 1 everywhere, so that the layer may work in place.
  virtual bool HasUnitSlope() const { return false; }
  /// Scores change in the TEST phase, too.
  virtual bool ChangesInTest() const = 0;
  /// Called before each pass that changes scores; gives its margin.
  virtual double NextMargin() = 0;

  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  bool Changes() const { return this->phase_ == TRAIN || ChangesInTest(); }
  /// The label of row n, -1 if there is none.
  int LabelAt(const Dtype* labels, int n) const;

  int rows_ = 0, classes_ = 0;
};

/// A margin that grows with the passes of the TRAIN phase, counted from `iteration` on:
/// base + (1 + gamma * i)^power - 1 in pass i.
class MarginSchedule {
 public:
  MarginSchedule() = default;
  MarginSchedule(double base, double gamma, double power, int iteration)
      : base_(base), gamma_(gamma), power_(power), pass_(iteration) {}
  /// The present pass's; `advance` goes to the next pass then.
  double Next(bool advance);
  /// The number of the next pass, as text; for Layer::SaveState.
  std::string State() const { return std::to_string(pass_); }
  void SetState(const std::string& state);

 private:
  double base_ = 0, gamma_ = 0, power_ = 1;
  int64_t pass_ = 0;
};

/// The shapes of the tops; for the operation table.
std::vector<std::vector<int>> LabelMarginShapes(const LayerParameter& layer,
                                                const std::vector<std::vector<int>>& bottoms);

}  // namespace caffe

#endif  // CAFFE_LABEL_MARGIN_LAYER_HPP_
