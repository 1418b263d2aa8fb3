#include "caffe/layers/infogain_loss_layer.hpp"

#include <numeric>
#include <typeinfo>

#include "caffe/io/proto_binary.hpp"
#include "caffe/kernels/softmax.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfInfogainLoss(const LayerParameter& layer,
                                           const std::vector<Shape>& bottoms) {
  const int axis = ClassAxis(bottoms.at(0), bottoms.at(1), layer.infogain_loss_param().axis());
  if (bottoms.size() > 2) {
    const int64_t classes = bottoms[0][axis];
    int64_t count = 1;
    for (int extent : bottoms[2]) count *= extent;
    Require(count == classes * classes, "the infogain matrix of shape ", ShapeString(bottoms[2]),
            " must have ", classes, " x ", classes, " values, for as many classes");
  }
  return LossAndProbabilities(layer, bottoms[0]);
}

const bool infogain_loss_registered = OperationTable::Add(Operation("InfogainLoss")
                                                              .Shapes(TopShapesOfInfogainLoss)
                                                              .BackwardReads(Operation::kBottomData)
                                                              .FloatBottoms({1, 2})
                                                              .Loss());

}  // namespace

template <typename Dtype>
void InfogainLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LabelledLossLayer<Dtype>::LayerSetUp(bottom, top);
  if (bottom.size() > 2) return;
  const InfogainLossParameter& param = this->layer_param_.infogain_loss_param();
  Require(
      param.has_source(), Error::Field{"infogain_loss_param"},
      Error::Remedy{
          "give the infogain matrix as a third bottom, or a file with it, a BlobProto, as source"});
  BlobProto matrix;
  ReadProtoBinary(param.source(), &matrix);
  infogain_.FromProto(matrix);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const Shape& scores = bottom[0]->shape();
  TopShapesOfInfogainLoss(this->layer_param_,
                          {scores, bottom[1]->shape(), MatrixOf(bottom).shape()});
  top[0]->Reshape(vector<int>());
  infogain_axis_ =
      ClassAxis(scores, bottom[1]->shape(), this->layer_param_.infogain_loss_param().axis());
  this->ReshapeAlong(infogain_axis_, bottom, top);
  num_labels_ = scores[infogain_axis_];
  prob_.ReshapeLike(*bottom[0]);
  sum_rows_H_.Reshape({num_labels_});
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::sum_rows_of_H(const Blob<Dtype>* H) {
  const Dtype* h = H->cpu_data();
  Dtype* sums = sum_rows_H_.mutable_cpu_data();
  for (int label = 0; label < num_labels_; ++label) {
    const Dtype* row = h + label * num_labels_;
    sums[label] = std::accumulate(row, row + num_labels_, Dtype(0));
  }
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  const Dtype* h = MatrixOf(bottom).cpu_data();
  vector<Dtype> log_sum(this->outer_num_ * this->inner_num_);
  kernels::LogSumExp(this->outer_num_, num_labels_, this->inner_num_, x, log_sum.data());
  double loss = 0;
  int valid = 0;
  for (int i = 0; i < this->outer_num_ * this->inner_num_; ++i) {
    const int label = this->LabelAt(labels, i, num_labels_);
    if (label < 0) continue;
    ++valid;
    const Dtype* column =
        x + i / this->inner_num_ * num_labels_ * this->inner_num_ + i % this->inner_num_;
    for (int k = 0; k < num_labels_; ++k) {
      loss += h[label * num_labels_ + k] * (log_sum[i] - column[k * this->inner_num_]);
    }
  }
  if (top.size() > 1) {
    kernels::Softmax(this->outer_num_, num_labels_, this->inner_num_, x,
                     top[1]->mutable_cpu_data());
  }
  if (typeid(*this) != typeid(InfogainLossLayer)) {  // whose Backward may read them
    kernels::Softmax(this->outer_num_, num_labels_, this->inner_num_, x, prob_.mutable_cpu_data());
  }
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(loss / this->get_normalizer(this->normalization_, valid));
}

// d loss / d x[k] = p[k] sum over j of H[label, j] - H[label, k].
template <typename Dtype>
void InfogainLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor("labels", 1, propagate_down);
  this->NoGradientFor("infogain matrix", 2, propagate_down);
  if (!propagate_down[0]) return;
  const int positions = this->outer_num_ * this->inner_num_;
  const Dtype* labels = bottom[1]->cpu_data();
  const Dtype* h = MatrixOf(bottom).cpu_data();
  sum_rows_of_H(&MatrixOf(bottom));
  const Dtype* sums = sum_rows_H_.cpu_data();
  kernels::Softmax(this->outer_num_, num_labels_, this->inner_num_, bottom[0]->cpu_data(),
                   prob_.mutable_cpu_data());
  const Dtype* p = prob_.cpu_data();
  const Dtype weight =
      top[0]->cpu_diff()[0] /
      this->get_normalizer(this->normalization_, this->CountLabels(labels, num_labels_));
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  for (int i = 0; i < positions; ++i) {
    const int label = this->LabelAt(labels, i, num_labels_);
    const int first = i / this->inner_num_ * num_labels_ * this->inner_num_ + i % this->inner_num_;
    for (int k = 0; k < num_labels_; ++k) {
      const int at = first + k * this->inner_num_;
      dx[at] = label < 0 ? 0 : weight * (p[at] * sums[label] - h[label * num_labels_ + k]);
    }
  }
}

INSTANTIATE_CLASS(InfogainLossLayer);
REGISTER_LAYER_CLASS(InfogainLoss);

}  // namespace caffe
