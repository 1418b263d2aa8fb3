#include "caffe/layers/labelsequence_accuracy_layer.hpp"

#include "caffe/util/text/ctc_path.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfLabelsequenceAccuracy(const LayerParameter&,
                                                    const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms.at(0);
  const Shape& labels = bottoms.at(1);
  Require(scores.size() == 3 && labels.size() >= 2 && labels[0] == scores[0],
          "scores must have shape (sequences, steps, classes) and labels (sequences, labels), not ",
          ShapeString(scores), " and ", ShapeString(labels));
  return {Shape()};
}

const bool labelsequence_accuracy_registered =
    OperationTable::Add(Operation("LabelsequenceAccuracy")
                            .Scores()
                            .CpuOnly(kSequential)
                            .Shapes(TopShapesOfLabelsequenceAccuracy)
                            .BackwardReads(Operation::kNothing)
                            .FloatBottoms({1}));

}  // namespace

template <typename Dtype>
void LabelsequenceAccuracyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfLabelsequenceAccuracy(this->layer_param_,
                                                   {bottom[0]->shape(), bottom[1]->shape()})[0]);
}

template <typename Dtype>
void LabelsequenceAccuracyLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                    const vector<Blob<Dtype>*>& top) {
  const int blank = this->layer_param_.labelsequence_accuracy_param().blank_label();
  const int sequences = bottom[0]->shape(0), steps = bottom[0]->shape(1);
  const int classes = bottom[0]->shape(2), each = bottom[1]->count(1);
  int right = 0;
  for (int n = 0; n < sequences; ++n) {
    const Dtype* scores = bottom[0]->cpu_data() + size_t(n) * steps * classes;
    const vector<int> read = BestPathLabels(steps, classes, classes, scores, blank, true);
    const Dtype* labels = bottom[1]->cpu_data() + size_t(n) * each;
    vector<Dtype> wanted;
    std::copy_if(labels, labels + each, std::back_inserter(wanted),
                 [blank](Dtype label) { return label != blank; });
    right += std::equal(read.begin(), read.end(), wanted.begin(), wanted.end());
  }
  top[0]->mutable_cpu_data()[0] = Dtype(right) / sequences;
}

INSTANTIATE_CLASS(LabelsequenceAccuracyLayer);
REGISTER_LAYER_CLASS(LabelsequenceAccuracy);

}  // namespace caffe
