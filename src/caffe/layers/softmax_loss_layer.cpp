#include "caffe/layers/softmax_loss_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/kernels/softmax.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = {Shape()};
  if (layer.top_size() > 1) tops.push_back(bottoms.at(0));
  return tops;
}

const bool registered = OperationTable::Add(Operation("SoftmaxWithLoss")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .FloatBottoms({1})
                                                .FloatTops({0})
                                                .Loss());

}  // namespace

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  // The probabilities are a second top that is no loss.
  if (top.size() > 1 && this->layer_param_.loss_weight_size() == 1) {
    this->layer_param_.add_loss_weight(Dtype(0));
  }
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  normalization_ = NormalizationOf(param);
  label_smoothing_ = param.label_smoothing();
  Require(label_smoothing_ >= 0 && label_smoothing_ < 1,
          "loss_param: label_smoothing must be at least 0 and less than 1, got ", label_smoothing_);
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  softmax_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.softmax_param().axis());
  outer_num_ = bottom[0]->count(0, softmax_axis_);
  inner_num_ = bottom[0]->count(softmax_axis_ + 1);
  Require(outer_num_ * inner_num_ == bottom[1]->count(), "there must be one label for each of the ",
          outer_num_ * inner_num_, " predictions of shape ", bottom[0]->shape_string(),
          "; the labels have shape ", bottom[1]->shape_string());
  prob_.ReshapeLike(*bottom[0]);
  if (top.size() > 1) top[1]->ReshapeLike(*bottom[0]);
}

// The label at `index`, -1 if it is ignored.
template <typename Dtype>
int SoftmaxWithLossLayer<Dtype>::LabelAt(const Dtype* labels, int index, int classes) const {
  const int label = static_cast<int>(labels[index]);
  if (has_ignore_label_ && label == ignore_label_) return -1;
  Require(label >= 0 && label < classes, "label number ", index, " is ", labels[index],
          ": valid are 0 to ", classes - 1, has_ignore_label_ ? " and the ignore_label" : "");
  return label;
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
    Workspace::Buffer<F> log_sum(Context::Current().workspace(), size_t(outer_num_) * inner_num_);
    kernels::LogSumExp(outer_num_, classes, inner_num_, x, log_sum.get());
    for (int outer = 0; outer < outer_num_; ++outer) {
      for (int inner = 0; inner < inner_num_; ++inner) {
        const int index = outer * inner_num_ + inner;
        const int label = LabelAt(labels, index, classes);
        if (label < 0) continue;
        ++valid;
        const T* first = x + size_t(outer) * classes * inner_num_ + inner;
        loss += (1 - label_smoothing_) *
                (log_sum.get()[index] - static_cast<F>(first[size_t(label) * inner_num_]));
        if (label_smoothing_ == 0) continue;
        for (int c = 0; c < classes; ++c) {
          loss += label_smoothing_ / classes *
                  (log_sum.get()[index] - static_cast<F>(first[size_t(c) * inner_num_]));
        }
      }
    }
    if (top.size() > 1) {
      kernels::Softmax(outer_num_, classes, inner_num_, x,
                       top[1]->template overwrite_cpu_data_as<T>());
    }
  });
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(loss / this->Normalizer(normalization_, valid, outer_num_, inner_num_));
}

// d loss / d logit = p - target, for predictions whose label counts.
template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  Require(propagate_down.size() < 2 || !propagate_down[1],
          "SoftmaxWithLoss has no gradient for its labels");
  if (!propagate_down[0]) return;
  const int classes = bottom[0]->shape(softmax_axis_);
  const Dtype* labels = bottom[1]->cpu_data();
  int valid = 0;
  for (int i = 0; i < outer_num_ * inner_num_; ++i) valid += LabelAt(labels, i, classes) >= 0;
  const Dtype weight =
      top[0]->cpu_diff()[0] / this->Normalizer(normalization_, valid, outer_num_, inner_num_);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = std::conditional_t<std::is_same<T, double>::value, double, float>;
    kernels::Softmax(outer_num_, classes, inner_num_, bottom[0]->template cpu_data_as<T>(),
                     prob_.template overwrite_cpu_data_as<F>());
  });
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using F = AccumulatorType<D>;
    const F* prob = prob_.template cpu_data_as<F>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    for (int outer = 0; outer < outer_num_; ++outer) {
      for (int inner = 0; inner < inner_num_; ++inner) {
        const int label = LabelAt(labels, outer * inner_num_ + inner, classes);
        const size_t first = size_t(outer) * classes * inner_num_ + inner;
        for (int c = 0; c < classes; ++c) {
          const size_t i = first + size_t(c) * inner_num_;
          const F target = (c == label ? 1 - label_smoothing_ : 0) + label_smoothing_ / classes;
          dx[i] = label < 0 ? D(0.f) : static_cast<D>(F(weight) * (prob[i] - target));
        }
      }
    }
  });
}

INSTANTIATE_CLASS(SoftmaxWithLossLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLoss);

}  // namespace caffe
