#include "caffe/layers/accuracy_layer.hpp"

#include "caffe/layers/loss_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfAccuracy(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  const int axis = ClassAxis(bottoms.at(0), bottoms.at(1), layer.accuracy_param().axis());
  std::vector<Shape> tops = {Shape()};
  if (layer.top_size() > 1) tops.push_back({bottoms[0][axis]});
  return tops;
}

const bool accuracy_registered = OperationTable::Add(Operation("Accuracy")
                                                         .Scores()
                                                         .Shapes(TopShapesOfAccuracy)
                                                         .BackwardReads(Operation::kNothing)
                                                         .Native()
                                                         .FloatBottoms({1})
                                                         .FloatTops({-1}));

}  // namespace

template <typename Dtype>
void AccuracyLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const AccuracyParameter& param = this->layer_param_.accuracy_param();
  top_k_ = param.top_k();
  Require(top_k_ > 0, Error::Field{"accuracy_param"}, ": top_k must be positive, got ", top_k_);
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
}

template <typename Dtype>
void AccuracyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  label_axis_ =
      ClassAxis(bottom[0]->shape(), bottom[1]->shape(), this->layer_param_.accuracy_param().axis());
  const int classes = bottom[0]->shape(label_axis_);
  Require(top_k_ <= classes, Error::Field{"accuracy_param"}, ": top_k is ", top_k_, " for ",
          classes, " classes");
  outer_num_ = bottom[0]->count(0, label_axis_);
  inner_num_ = bottom[0]->count(label_axis_ + 1);
  top[0]->Reshape(vector<int>());
  if (top.size() > 1) top[1]->Reshape(vector<int>(1, classes));
}

template <typename Dtype>
void AccuracyLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int classes = bottom[0]->shape(label_axis_);
  const Dtype* labels = bottom[1]->cpu_data();
  const int* ignored = has_ignore_label_ ? &ignore_label_ : nullptr;
  // Ranks the other way round where the least score is the best.
  const bool least = this->layer_param_.accuracy_param().min_is_better();
  vector<int> hits(classes, 0), counts(classes, 0);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* scores = bottom[0]->template cpu_data_as<T>();
    for (int i = 0; i < outer_num_ * inner_num_; ++i) {
      const int label = ReadLabel(labels[i], i, classes, ignored);
      if (label < 0) continue;
      const T* first = scores + size_t(i / inner_num_) * classes * inner_num_ + i % inner_num_;
      const F own = static_cast<F>(first[size_t(label) * inner_num_]);
      int rank = -1;  // the label's own score is among those that are as good
      for (int c = 0; c < classes; ++c) {
        const F score = static_cast<F>(first[size_t(c) * inner_num_]);
        rank += least ? score <= own : score >= own;
      }
      ++counts[label];
      hits[label] += rank >= 0 && rank < top_k_;  // -1: not a number
    }
  });
  int hit = 0, count = 0;
  for (int c = 0; c < classes; ++c) {
    hit += hits[c];
    count += counts[c];
  }
  top[0]->mutable_cpu_data()[0] = count == 0 ? Dtype(0) : Dtype(hit) / count;
  if (top.size() == 1) return;
  Dtype* per_class = top[1]->mutable_cpu_data();
  for (int c = 0; c < classes; ++c) {
    per_class[c] = counts[c] == 0 ? Dtype(0) : Dtype(hits[c]) / counts[c];
  }
}

INSTANTIATE_CLASS(AccuracyLayer);
REGISTER_LAYER_CLASS(Accuracy);

}  // namespace caffe
