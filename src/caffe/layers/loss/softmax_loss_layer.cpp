#include "caffe/layers/softmax_loss_layer.hpp"

#include <typeinfo>

#include "caffe/context.hpp"
#include "caffe/kernels/losses.hpp"
#include "caffe/kernels/softmax.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfSoftmaxLoss(const LayerParameter& layer,
                                          const std::vector<Shape>& bottoms) {
  ClassAxis(bottoms.at(0), bottoms.at(1), layer.softmax_param().axis());
  return LossAndProbabilities(layer, bottoms[0]);
}

const bool softmax_loss_registered = OperationTable::Add(Operation("SoftmaxWithLoss")
                                                             .Shapes(TopShapesOfSoftmaxLoss)
                                                             .BackwardReads(Operation::kBottomData)
                                                             .Native()
                                                             .FloatBottoms({1})
                                                             .FloatTops({0})
                                                             .Loss());

}  // namespace

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  LabelledLossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  label_smoothing_ = param.label_smoothing();
  class_weights_.assign(param.class_weighting().begin(), param.class_weighting().end());
  if (!param.weight_by_label_freqs()) class_weights_.clear();
  Require(!param.weight_by_label_freqs() || !class_weights_.empty(), Error::Field{"loss_param"},
          ": weight_by_label_freqs needs class_weighting, one for each class");
  Require(label_smoothing_ >= 0 && label_smoothing_ < 1, Error::Field{"loss_param"},
          ": label_smoothing must be at least 0 and less than 1, got ", label_smoothing_);
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  softmax_axis_ =
      ClassAxis(bottom[0]->shape(), bottom[1]->shape(), this->layer_param_.softmax_param().axis());
  this->ReshapeAlong(softmax_axis_, bottom, top);
  const int classes = bottom[0]->shape(softmax_axis_);
  Require(class_weights_.empty() || static_cast<int>(class_weights_.size()) == classes,
          Error::Field{"loss_param"}, ": class_weighting is given ", class_weights_.size(),
          " times for ", classes, " classes");
  prob_.ReshapeLike(*bottom[0]);
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::ComputeProbabilities(const Blob<Dtype>& logits) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = std::conditional_t<std::is_same<T, double>::value, double, float>;
    kernels::Softmax(this->outer_num_, logits.shape(softmax_axis_), this->inner_num_,
                     logits.template cpu_data_as<T>(), prob_.template overwrite_cpu_data_as<F>());
  });
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const int classes = bottom[0]->shape(softmax_axis_);
  const Dtype* labels = bottom[1]->cpu_data();
  double loss = 0;
  int valid = 0;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* x = bottom[0]->template cpu_data_as<T>();
    Workspace::Buffer<F> log_sum(Context::Current().workspace(),
                                 size_t(this->outer_num_) * this->inner_num_);
    kernels::LogSumExp(this->outer_num_, classes, this->inner_num_, x, log_sum.get());
    for (int outer = 0; outer < this->outer_num_; ++outer) {
      for (int inner = 0; inner < this->inner_num_; ++inner) {
        const int index = outer * this->inner_num_ + inner;
        const int label = this->LabelAt(labels, index, classes);
        if (label < 0) continue;
        ++valid;
        const T* first = x + size_t(outer) * classes * this->inner_num_ + inner;
        const auto minus_log = [&](int c) -> double {
          return log_sum.get()[index] - static_cast<F>(first[size_t(c) * this->inner_num_]);
        };
        loss += WeightOf(label) * (1 - label_smoothing_) * minus_log(label);
        if (label_smoothing_ == 0) continue;
        for (int c = 0; c < classes; ++c) {
          loss += WeightOf(label) * label_smoothing_ / classes * minus_log(c);
        }
      }
    }
    if (top.size() > 1) {
      kernels::Softmax(this->outer_num_, classes, this->inner_num_, x,
                       top[1]->template overwrite_cpu_data_as<T>());
    }
  });
  if (typeid(*this) != typeid(SoftmaxWithLossLayer)) ComputeProbabilities(*bottom[0]);
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(loss / this->get_normalizer(this->normalization_, valid));
}

// d loss / d logit = p - target, for predictions whose label counts.
template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  if (!propagate_down[0]) return;
  const int classes = bottom[0]->shape(softmax_axis_);
  const Dtype* labels = bottom[1]->cpu_data();
  const Dtype weight =
      top[0]->cpu_diff()[0] /
      this->get_normalizer(this->normalization_, this->CountLabels(labels, classes));
  ComputeProbabilities(*bottom[0]);
  const int items = this->outer_num_ * this->inner_num_;
  Workspace::Buffer<int> label(Context::Current().workspace(), items);
  for (int i = 0; i < items; ++i) label.get()[i] = this->LabelAt(labels, i, classes);
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using F = AccumulatorType<D>;
    Workspace::Buffer<F> factor(Context::Current().workspace(), items);
    for (int i = 0; i < items; ++i) {
      factor.get()[i] = label.get()[i] < 0 ? F(0) : F(weight) * F(WeightOf(label.get()[i]));
    }
    kernels::SoftmaxLossGradient(this->outer_num_, classes, this->inner_num_, label_smoothing_,
                                 label.get(), factor.get(), prob_.template cpu_data_as<F>(),
                                 bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(SoftmaxWithLossLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLoss);

}  // namespace caffe
