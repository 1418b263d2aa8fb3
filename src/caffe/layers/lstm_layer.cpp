#include "caffe/layers/lstm_layer.hpp"

#include "caffe/kernels/lstm.hpp"

namespace caffe {
namespace {

std::vector<Shape> ShapesOf(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return RecurrentShapes(layer.recurrent_param(), 2, bottoms);
}

const bool registered = OperationTable::Add(Operation("LSTM")
                                                .Stateful()
                                                .Shapes(ShapesOf)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .FloatBottoms({1}));

}  // namespace

template <typename Dtype>
void LSTMLayer<Dtype>::Step(int t, const Dtype* cont) {
  kernels::LstmStep<Dtype>(this->N_, this->D_, cont, this->state(1, t), this->gate(t),
                           this->state(1, t + 1), this->state(0, t + 1));
}

template <typename Dtype>
void LSTMLayer<Dtype>::StepGradient(int t, const Dtype* cont) {
  kernels::LstmStepGradient<Dtype>(this->N_, this->D_, cont, this->state(1, t), this->gate(t),
                                   this->state(1, t + 1), this->state_diff(0, t + 1),
                                   this->state_diff(1, t + 1), this->gate_diff(t),
                                   this->state_diff(1, t));
}

INSTANTIATE_CLASS(LSTMLayer);
REGISTER_LAYER_CLASS(LSTM);

}  // namespace caffe
