#include "caffe/layers/recurrent/clipped_lstm_layer.hpp"

#include <tuple>

#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

/// T and N of an input.
std::pair<int, int> Lengths(const LSTMParameter& param, const Shape& input) {
  if (input.size() == 3 && !param.has_batch_size()) return {input[0], input[1]};
  const int batch = static_cast<int>(param.batch_size());
  Require(!input.empty() && batch > 0 && input[0] % batch == 0, Error::Field{"lstm_param"},
          ": batch_size ", param.batch_size(), " must divide the number of items of ",
          "bottom 0, which has shape ", ShapeString(input));
  return {input[0] / batch, batch};
}

std::vector<Shape> LstmShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const LSTMParameter& param = layer.lstm_param();
  const Shape& input = bottoms.at(0);
  const int outputs = RecurrentOutputs("lstm_param", param.num_output());
  Require(param.clipping_threshold() >= 0, Error::Field{"lstm_param"},
          ": clipping_threshold must not be negative, ", "got ", param.clipping_threshold());
  const auto [steps, batch] = Lengths(param, input);
  if (bottoms.size() > 1) {
    int64_t count = 1;
    for (int extent : bottoms[1]) count *= extent;
    Require(count == int64_t(steps) * batch, "bottom 1, the continuation indicators, must have ",
            steps, " x ", batch, " values, one for each step of each sequence; it has shape ",
            ShapeString(bottoms[1]));
  }
  if (input.size() == 3 && !param.has_batch_size()) return {{steps, batch, outputs}};
  return {{steps * batch, outputs}};
}

const bool clipped_lstm_registered = OperationTable::Add(Operation("Lstm")
                                                             .Stateful()
                                                             .Shapes(LstmShapes)
                                                             .BackwardReads(Operation::kBottomData)
                                                             .Native()
                                                             .FloatBottoms({1}));

}  // namespace

template <typename Dtype>
RecurrentParameter LstmLayer<Dtype>::Parameters() const {
  const LSTMParameter& param = this->layer_param_.lstm_param();
  RecurrentParameter parameters;
  parameters.set_num_output(param.num_output());
  *parameters.mutable_weight_filler() = param.weight_filler();
  *parameters.mutable_bias_filler() = param.bias_filler();
  return parameters;
}

template <typename Dtype>
std::vector<Shape> LstmLayer<Dtype>::TopShapes(const std::vector<Shape>& bottoms) const {
  return LstmShapes(this->layer_param_, bottoms);
}

template <typename Dtype>
void LstmLayer<Dtype>::SetLengths(const Shape& input) {
  std::tie(this->T_, this->N_) = Lengths(this->layer_param_.lstm_param(), input);
}

template <typename Dtype>
std::vector<ParameterBlob> LstmLayer<Dtype>::NeededParameters(int inputs, int) const {
  const LSTMParameter& param = this->layer_param_.lstm_param();
  return {{{4 * this->D_, inputs}, param.weight_filler()},
          {{4 * this->D_, this->D_}, param.weight_filler()},
          {{4 * this->D_}, param.bias_filler()}};
}

template <typename Dtype>
const Dtype* LstmLayer<Dtype>::Continuation(const vector<Blob<Dtype>*>& bottom) {
  cont_.Reshape({this->T_, this->N_});
  Dtype* cont = cont_.mutable_cpu_data();
  const Dtype* given = bottom.size() > 1 ? bottom[1]->cpu_data() : nullptr;
  for (int i = 0; i < cont_.count(); ++i) cont[i] = given ? given[i] != 0 : i >= this->N_;
  return cont;
}

template <typename Dtype>
void LstmLayer<Dtype>::StepGradient(int t, const Dtype* cont) {
  LSTMLayer<Dtype>::StepGradient(t, cont);
  const Dtype bound = this->layer_param_.lstm_param().clipping_threshold();
  Dtype* d = this->gate_diff(t);
  if (bound > 0) caffe_bound(4 * this->N_ * this->D_, d, -bound, bound, d);
}

INSTANTIATE_CLASS(LstmLayer);
REGISTER_LAYER_CLASS(Lstm);

}  // namespace caffe
