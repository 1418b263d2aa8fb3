#include "caffe/layers/ctc_loss_layer.hpp"

#include "caffe/kernels/ctc.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfCtcLoss(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms) {
  const CTCLossParameter& param = layer.ctc_loss_param();
  const Shape& x = bottoms.at(0);
  const Shape& labels = bottoms.back();
  Require(x.size() >= 3, "bottom 0, the logits, must have axes (time, batch, classes), not ",
          ShapeString(x));
  const uint32_t steps = x[0], sequences = x[1];
  uint32_t classes = 1;
  for (size_t i = 2; i < x.size(); ++i) classes *= x[i];
  Require(param.blank_label() < classes, Error::Field{"ctc_loss_param"}, ": blank_label ",
          param.blank_label(), " must be less than the number of classes, ", classes);
  Require(param.alphabet_size() == 0 || param.alphabet_size() == classes,
          Error::Field{"ctc_loss_param"}, ": alphabet_size ", param.alphabet_size(),
          " must be the number of ", "classes, ", classes, ", or left out");
  Require(param.time_step() <= steps, Error::Field{"ctc_loss_param"}, ": time_step ",
          param.time_step(), " must be at most the number of steps, ", steps);
  if (bottoms.size() == 2) {
    Require(!labels.empty() && labels[0] == x[1], "bottom 1, the labels, must have ", sequences,
            " items, one for each sequence; it has shape ", ShapeString(labels));
  } else {
    Require(bottoms[1] == Shape(x.begin(), x.begin() + 2), "bottom 1, the continuation ",
            "indicators, must have shape ", steps, " ", sequences, ", not ",
            ShapeString(bottoms[1]));
    Require(labels.size() >= 2 && labels[1] == x[1], "bottom 2, the labels, must have shape (",
            "labels, ", sequences, "), not ", ShapeString(labels));
  }
  return {Shape()};
}

Operation CtcOperation(const char* type) {
  return Operation(type)
      .Shapes(TopShapesOfCtcLoss)
      .BackwardReads(Operation::kBottomData)
      .FloatBottoms({1, 2})
      .Loss();
}

const bool ctc_loss_registered = OperationTable::Add(CtcOperation("CTCLoss")) &&
                                 OperationTable::Add(CtcOperation("CtcLoss")) &&
                                 OperationTable::Add(CtcOperation("WarpCTCLoss"));

}  // namespace

template <typename Dtype>
void CTCLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfCtcLoss(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
typename CTCLossLayer<Dtype>::Target CTCLossLayer<Dtype>::TargetOf(
    const vector<Blob<Dtype>*>& bottom, int sequence) const {
  const CTCLossParameter& param = this->layer_param_.ctc_loss_param();
  const int sequences = bottom[0]->shape(1), classes = bottom[0]->count(2);
  const Blob<Dtype>& labels = *bottom.back();
  const int each = labels.count() / sequences;
  Target target;
  target.steps = param.time_step() > 0 ? param.time_step() : bottom[0]->shape(0);
  const bool indicated = bottom.size() > 2;
  for (int t = 1; indicated && t < target.steps; ++t) {
    if (bottom[1]->cpu_data()[t * sequences + sequence] == 0) target.steps = t;
  }
  for (int i = 0; i < each; ++i) {
    const int index = indicated ? i * sequences + sequence : sequence * each + i;
    const Dtype value = labels.cpu_data()[index];
    if (value < 0) continue;
    const int label = ReadLabel(value, index, classes, nullptr);
    if (label != static_cast<int>(param.blank_label())) target.labels.push_back(label);
  }
  return target;
}

template <typename Dtype>
double CTCLossLayer<Dtype>::Compute(const vector<Blob<Dtype>*>& bottom, Dtype scale,
                                    Dtype* gradient) const {
  const int sequences = bottom[0]->shape(1), classes = bottom[0]->count(2);
  const int blank = this->layer_param_.ctc_loss_param().blank_label();
  const size_t row = size_t(sequences) * classes;
  const Dtype* x = bottom[0]->cpu_data();
  vector<double> losses(sequences);
  kernels::ParallelFor(sequences, 1, [&](size_t begin, size_t end) {
    for (size_t n = begin; n < end; ++n) {
      const Target target = TargetOf(bottom, static_cast<int>(n));
      const double loss = kernels::CtcLoss(target.steps, classes, row, x + n * classes,
                                           target.labels.data(), target.labels.size(), blank, scale,
                                           gradient ? gradient + n * classes : nullptr);
      losses[n] = std::isinf(loss) ? 0 : loss;
      for (int t = target.steps; gradient && t < bottom[0]->shape(0); ++t) {
        std::fill_n(gradient + t * row + n * classes, classes, Dtype(0));
      }
    }
  });
  double sum = 0;
  for (double loss : losses) sum += loss;
  return sum;
}

template <typename Dtype>
void CTCLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  top[0]->mutable_cpu_data()[0] =
      static_cast<Dtype>(Compute(bottom, Dtype(1), nullptr) / bottom[0]->shape(1));
}

template <typename Dtype>
void CTCLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor(bottom.size() > 2 ? "continuation indicators" : "labels", 1, propagate_down);
  this->NoGradientFor("labels", 2, propagate_down);
  if (!propagate_down[0]) return;
  const Dtype scale = top[0]->cpu_diff()[0] / GradientNormalizer(bottom[0]->shape(1));
  Compute(bottom, scale, bottom[0]->mutable_cpu_diff());
}

INSTANTIATE_CLASS(CTCLossLayer);
INSTANTIATE_CLASS(CtcLossLayer);
INSTANTIATE_CLASS(WarpCTCLossLayer);
REGISTER_LAYER_CLASS(CTCLoss);
REGISTER_LAYER_CLASS(CtcLoss);
REGISTER_LAYER_CLASS(WarpCTCLoss);

}  // namespace caffe
