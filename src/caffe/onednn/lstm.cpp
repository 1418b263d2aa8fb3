#include <algorithm>

#include "primitives.hpp"

namespace caffe {
namespace onednn {
namespace {

constexpr int kGates = 4;
/// Which of Caffe's gates i, f, o, g oneDNN wants in each place.
constexpr int kOrder[kGates] = {0, 1, 3, 2};

/// The rows of all gates of a matrix (4 * outputs, columns) in oneDNN's order.
std::vector<float> Reordered(const float* rows, size_t outputs, size_t columns) {
  const size_t gate = outputs * columns;
  std::vector<float> result(kGates * gate);
  for (int i = 0; i < kGates; ++i) {
    std::copy_n(rows + kOrder[i] * gate, gate, result.begin() + i * gate);
  }
  return result;
}

class LstmPrimitive : public Lstm {
 public:
  LstmPrimitive(int steps, int batch, int inputs, int outputs)
      : batch_(batch), inputs_(inputs), outputs_(outputs) {
    x_ = Plain({steps, batch, inputs});
    y_ = Plain({steps, batch, outputs});
    state_ = Plain({1, 1, batch, outputs});
    const Dims input_weights = {1, 1, inputs, kGates, outputs};
    const Dims hidden_weights = {1, 1, outputs, kGates, outputs};
    const memory::desc bias = Plain({1, 1, kGates, outputs});
    desc_ = Describe<dnnl::lstm_forward>(
        {}, dnnl::prop_kind::forward_inference, dnnl::rnn_direction::unidirectional_left2right, x_,
        state_, state_, Any(input_weights), Any(hidden_weights), bias, y_, state_, state_);
    primitive_ = dnnl::lstm_forward(desc_);
    input_weights_ = memory(desc_.weights_layer_desc(), CpuEngine());
    hidden_weights_ = memory(desc_.weights_iter_desc(), CpuEngine());
    bias_ = memory(bias, CpuEngine());
    pack_input_ = Reorder(Transposed(inputs), desc_.weights_layer_desc());
    pack_hidden_ = Reorder(Transposed(outputs), desc_.weights_iter_desc());
  }

  void SetWeights(const float* input_weights, const float* bias,
                  const float* hidden_weights) override {
    const std::vector<float> input = Reordered(input_weights, outputs_, inputs_);
    Run(pack_input_, Wrap(Transposed(inputs_), input.data()), input_weights_);
    const std::vector<float> hidden = Reordered(hidden_weights, outputs_, outputs_);
    Run(pack_hidden_, Wrap(Transposed(outputs_), hidden.data()), hidden_weights_);
    const std::vector<float> biases = Reordered(bias, outputs_, 1);
    std::copy(biases.begin(), biases.end(), static_cast<float*>(bias_.get_data_handle()));
  }

  void Forward(const float* x, float* h, float* c, float* y) override {
    std::vector<float> last_h(size_t(batch_) * outputs_), last_c(last_h.size());
    Run(primitive_, {{DNNL_ARG_SRC_LAYER, Wrap(x_, x)},
                     {DNNL_ARG_SRC_ITER, Wrap(state_, h)},
                     {DNNL_ARG_SRC_ITER_C, Wrap(state_, c)},
                     {DNNL_ARG_WEIGHTS_LAYER, input_weights_},
                     {DNNL_ARG_WEIGHTS_ITER, hidden_weights_},
                     {DNNL_ARG_BIAS, bias_},
                     {DNNL_ARG_DST_LAYER, Wrap(y_, y)},
                     {DNNL_ARG_DST_ITER, Wrap(state_, last_h.data())},
                     {DNNL_ARG_DST_ITER_C, Wrap(state_, last_c.data())}});
    std::copy(last_h.begin(), last_h.end(), h);
    std::copy(last_c.begin(), last_c.end(), c);
  }

 private:
  /// Caffe's matrix (gates, outputs, columns), as oneDNN's axes (1, 1, columns, gates, outputs).
  memory::desc Transposed(memory::dim columns) const {
    const memory::dim gate = outputs_ * columns;
    return memory::desc({1, 1, columns, kGates, outputs_}, kFloat,
                        Dims{kGates * gate, kGates * gate, 1, gate, columns});
  }

  const int batch_, inputs_, outputs_;
  memory::desc x_, y_, state_;
  dnnl::lstm_forward::primitive_desc desc_;
  dnnl::lstm_forward primitive_;
  memory input_weights_, hidden_weights_, bias_;
  dnnl::reorder pack_input_, pack_hidden_;
};

}  // namespace

std::unique_ptr<Lstm> Lstm::Make(int steps, int batch, int inputs, int outputs) {
  if (steps == 0 || batch == 0 || inputs == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Lstm> {
    return std::make_unique<LstmPrimitive>(steps, batch, inputs, outputs);
  });
}

}  // namespace onednn
}  // namespace caffe
