#include "caffe/layers/focal_loss_layer.hpp"

#include <cmath>
#include <limits>

#include "caffe/kernels/softmax.hpp"

namespace caffe {
namespace {

/// Of the classes.
int AxisOf(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const FocalLossParameter& param = layer.focal_loss_param();
  return ClassAxis(bottoms.at(0), bottoms.at(1),
                   param.has_axis() ? param.axis() : layer.softmax_param().axis());
}

std::vector<Shape> TopShapesOfFocalLoss(const LayerParameter& layer,
                                        const std::vector<Shape>& bottoms) {
  AxisOf(layer, bottoms);
  return LossAndProbabilities(layer, bottoms[0]);
}

const bool focal_loss_registered =
    OperationTable::Add(Operation("FocalLoss")
                            .Shapes(TopShapesOfFocalLoss)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .FloatBottoms({1})
                            .FloatTops({0})
                            .Loss()
                            .CpuOnly("it has one loop over predictions, for training only"));

/// 1 - p, exact where p is nearly 1; log_p may be above 0 by an error of rounding.
double RestOf(double log_p) { return std::max(0., -std::expm1(log_p)); }

/// log(sum over c of exp(scale * x[c * step])).
template <typename T>
double LogSumExp(const T* x, size_t step, int classes, double scale) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int c = 0; c < classes; ++c) largest = std::max(largest, scale * double(x[c * step]));
  double sum = 0;
  for (int c = 0; c < classes; ++c) sum += std::exp(scale * double(x[c * step]) - largest);
  return largest + std::log(sum);
}

}  // namespace

template <typename Dtype>
void FocalLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  LabelledLossLayer<Dtype>::LayerSetUp(bottom, top);
  const FocalLossParameter& param = this->layer_param_.focal_loss_param();
  Require(!param.has_gamma() || !param.has_gama() || param.gamma() == param.gama(),
          Error::Field{"focal_loss_param"}, ": gamma ", param.gamma(), " and gama ", param.gama(),
          " are one field", Error::Remedy{"give one of them"});
  linear_ = param.type() == FocalLossParameter::LINEAR;
  alpha_ = param.alpha();
  gamma_ = param.has_gama() ? param.gama() : param.gamma();
  Require(gamma_ >= 0 && (gamma_ > 0 || !linear_), Error::Field{"focal_loss_param"},
          ": gamma must ", linear_ ? "be positive" : "not be negative", ", got ", gamma_);
}

template <typename Dtype>
void FocalLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  const int axis = AxisOf(this->layer_param_, {bottom[0]->shape(), bottom[1]->shape()});
  this->ReshapeAlong(axis, bottom, top);
  classes_ = bottom[0]->shape(axis);
}

template <typename Dtype>
size_t FocalLossLayer<Dtype>::FirstOf(int index) const {
  return size_t(index / this->inner_num_) * classes_ * this->inner_num_ + index % this->inner_num_;
}

template <typename Dtype>
double FocalLossLayer<Dtype>::LossOf(double log_p) const {
  if (linear_) return -alpha_ * log_p / gamma_;
  return -alpha_ * std::pow(RestOf(log_p), gamma_) * log_p;
}

template <typename Dtype>
double FocalLossLayer<Dtype>::SlopeOf(double log_p) const {
  if (linear_) return -alpha_ / gamma_;
  const double rest = RestOf(log_p);
  if (rest == 0) return gamma_ == 0 ? -alpha_ : 0.;
  const double p = 1 - rest;
  return alpha_ * std::pow(rest, gamma_) * (gamma_ * p * log_p / rest - 1);
}

template <typename Dtype>
void FocalLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const Dtype* labels = bottom[1]->cpu_data();
  const double scale = linear_ ? gamma_ : 1;
  double loss = 0;
  int valid = 0;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    for (int i = 0; i < this->outer_num_ * this->inner_num_; ++i) {
      const int label = this->LabelAt(labels, i, classes_);
      if (label < 0) continue;
      ++valid;
      const T* first = x + FirstOf(i);
      loss += LossOf(scale * double(first[size_t(label) * this->inner_num_]) -
                     LogSumExp(first, this->inner_num_, classes_, scale));
    }
    if (top.size() > 1) {
      kernels::Softmax(this->outer_num_, classes_, this->inner_num_, x,
                       top[1]->template overwrite_cpu_data_as<T>());
    }
  });
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(loss / this->get_normalizer(this->normalization_, valid));
}

// d log p_t / d x_c = scale * ((c == t) - p_c).
template <typename Dtype>
void FocalLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype* labels = bottom[1]->cpu_data();
  const double scale = linear_ ? gamma_ : 1;
  const int predictions = this->outer_num_ * this->inner_num_;
  const double weight =
      double(top[0]->cpu_diff()[0]) /
      this->get_normalizer(this->normalization_, this->CountLabels(labels, classes_));
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    for (int i = 0; i < predictions; ++i) {
      const int label = this->LabelAt(labels, i, classes_);
      const T* first = x + FirstOf(i);
      D* to = dx + FirstOf(i);
      const auto logit = [&](int c) { return scale * double(first[size_t(c) * this->inner_num_]); };
      const double log_sum = LogSumExp(first, this->inner_num_, classes_, scale);
      const double slope = label < 0 ? 0. : weight * scale * SlopeOf(logit(label) - log_sum);
      for (int c = 0; c < classes_; ++c) {
        const double p = std::exp(logit(c) - log_sum);
        to[size_t(c) * this->inner_num_] =
            static_cast<D>(static_cast<AccumulatorType<D>>(slope * ((c == label) - p)));
      }
    }
  });
}

INSTANTIATE_CLASS(FocalLossLayer);
REGISTER_LAYER_CLASS(FocalLoss);

}  // namespace caffe
