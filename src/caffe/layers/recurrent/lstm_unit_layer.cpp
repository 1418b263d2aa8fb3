#include "caffe/context.hpp"
#include "caffe/kernels/lstm.hpp"
#include "caffe/layers/lstm_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfLstmUnit(const LayerParameter&, const std::vector<Shape>& bottoms) {
  const Shape& c = bottoms.at(0);
  Require(c.size() == 3 && c[0] == 1,
          "bottom 0, the cells, must have shape (1, batch, cells), not ", ShapeString(c));
  Require(bottoms.at(1).size() == 3 && bottoms[1][0] == 1 && bottoms[1][1] == c[1] &&
              bottoms[1][2] == int64_t(4) * c[2],
          "bottom 1, the input of the gates, must have shape (1, ", c[1], ", 4 x ", c[2], "), not ",
          ShapeString(bottoms[1]));
  Require(bottoms.at(2) == Shape({1, c[1]}), "bottom 2, the continuation indicators, must have ",
          "shape 1 ", c[1], ", not ", ShapeString(bottoms[2]));
  return {c, c};
}

const bool lstm_unit_registered =
    OperationTable::Add(Operation("LSTMUnit")
                            .Shapes(TopShapesOfLstmUnit)
                            .BackwardReads(Operation::kBottomData | Operation::kTopData)
                            .FloatBottoms({2}));

}  // namespace

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> shapes = TopShapesOfLstmUnit(
      this->layer_param_, {bottom[0]->shape(), bottom[1]->shape(), bottom[2]->shape()});
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes[i]);
  hidden_dim_ = bottom[0]->shape(2);
  X_acts_.ReshapeLike(*bottom[1]);
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  std::copy_n(bottom[1]->cpu_data(), bottom[1]->count(), X_acts_.mutable_cpu_data());
  kernels::LstmStep<Dtype>(bottom[0]->shape(1), hidden_dim_, bottom[2]->cpu_data(),
                           bottom[0]->cpu_data(), X_acts_.mutable_cpu_data(),
                           top[0]->mutable_cpu_data(), top[1]->mutable_cpu_data());
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[2], "LSTMUnit has no gradient for its continuation indicators");
  if (!propagate_down[0] && !propagate_down[1]) return;
  // One that was not asked for goes into scratch memory.
  Workspace& workspace = Context::Current().workspace();
  Workspace::Buffer<Dtype> dc_prev(workspace, propagate_down[0] ? 0 : bottom[0]->count());
  Workspace::Buffer<Dtype> d_gates(workspace, propagate_down[1] ? 0 : bottom[1]->count());
  kernels::LstmStepGradient<Dtype>(
      bottom[0]->shape(1), hidden_dim_, bottom[2]->cpu_data(), bottom[0]->cpu_data(),
      X_acts_.cpu_data(), top[0]->cpu_data(), top[1]->cpu_diff(), top[0]->cpu_diff(),
      propagate_down[1] ? bottom[1]->mutable_cpu_diff() : d_gates.get(),
      propagate_down[0] ? bottom[0]->mutable_cpu_diff() : dc_prev.get());
}

INSTANTIATE_CLASS(LSTMUnitLayer);
REGISTER_LAYER_CLASS(LSTMUnit);

}  // namespace caffe
