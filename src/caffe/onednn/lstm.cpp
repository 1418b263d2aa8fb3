#include <algorithm>
#include <cstring>

#include "primitives.hpp"

namespace caffe::onednn {
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

/// The backward pass, added to the gradients.
void AddReordered(const float* rows, size_t outputs, size_t columns, float* result) {
  const size_t gate = outputs * columns;
  for (int i = 0; i < kGates; ++i) {
    float* to = result + kOrder[i] * gate;
    for (size_t k = 0; k < gate; ++k) to[k] += rows[i * gate + k];
  }
}

memory Allocated(const memory::desc& desc) { return memory(desc, CpuEngine()); }

void SetToZero(const memory& values) {
  std::memset(values.get_data_handle(), 0, values.get_desc().get_size());
}

/// One of the two matrices, as Caffe stores it and as the primitives want it.
class Weights {
 public:
  /// (4 * outputs, columns) of Caffe's.
  void Init(int columns, int outputs, const memory::desc& packed) {
    columns_ = columns;
    outputs_ = outputs;
    const memory::dim gate = memory::dim(outputs) * columns;
    plain_ = memory::desc({1, 1, columns, kGates, outputs}, kFloat,
                          Dims{kGates * gate, kGates * gate, 1, gate, columns});
    packed_ = Allocated(packed);
    pack_ = Reorder(plain_, packed);
  }
  void InitBackward(const memory::desc& packed, const memory::desc& gradient) {
    packed_backward_ = Allocated(packed);
    pack_backward_ = Reorder(plain_, packed);
    gradient_ = Allocated(gradient);
    unpack_gradient_ = Reorder(gradient, plain_);
  }
  void Set(const float* weights) {
    const std::vector<float> ordered = Reordered(weights, outputs_, columns_);
    Run(pack_, Wrap(plain_, ordered.data()), packed_);
    if (packed_backward_) Run(pack_backward_, Wrap(plain_, ordered.data()), packed_backward_);
  }
  const memory& packed() const { return packed_; }
  const memory& packed_backward() const { return packed_backward_; }
  /// For a primitive that adds to it.
  const memory& zero_gradient() const {
    SetToZero(gradient_);
    return gradient_;
  }
  void AddGradient(float* to) const {
    if (!to) return;
    std::vector<float> ordered(size_t(kGates) * outputs_ * columns_);
    Run(unpack_gradient_, gradient_, Wrap(plain_, ordered.data()));
    AddReordered(ordered.data(), outputs_, columns_, to);
  }

 private:
  int columns_ = 0, outputs_ = 0;
  memory::desc plain_;
  memory packed_, packed_backward_, gradient_;
  dnnl::reorder pack_, pack_backward_, unpack_gradient_;
};

class LstmPrimitive : public Lstm {
 public:
  LstmPrimitive(int steps, int batch, int inputs, int outputs, bool training)
      : outputs_(outputs), state_size_(size_t(batch) * outputs) {
    x_ = Plain({steps, batch, inputs});
    y_ = Plain({steps, batch, outputs});
    state_ = Plain({1, 1, batch, outputs});
    const memory::desc input_weights = Any({1, 1, inputs, kGates, outputs});
    const memory::desc hidden_weights = Any({1, 1, outputs, kGates, outputs});
    const memory::desc bias = Plain({1, 1, kGates, outputs});
    constexpr auto kDirection = dnnl::rnn_direction::unidirectional_left2right;
    const auto desc =
        Describe<dnnl::lstm_forward>({}, ForwardKind(training), kDirection, x_, state_, state_,
                                     input_weights, hidden_weights, bias, y_, state_, state_);
    forward_ = dnnl::lstm_forward(desc);
    input_weights_.Init(inputs, outputs, desc.weights_layer_desc());
    hidden_weights_.Init(outputs, outputs, desc.weights_iter_desc());
    bias_ = Allocated(bias);
    for (memory* state : {&first_h_, &first_c_, &last_h_, &last_c_}) *state = Allocated(state_);
    if (!training) return;
    workspace_ = Allocated(desc.workspace_desc());
    const auto backward = DescribeBackward<dnnl::lstm_backward>(
        {}, desc, dnnl::prop_kind::backward, kDirection, x_, state_, state_, input_weights,
        hidden_weights, bias, y_, state_, state_, x_, state_, state_, input_weights, hidden_weights,
        bias, y_, state_, state_);
    backward_ = dnnl::lstm_backward(backward);
    input_weights_.InitBackward(backward.weights_layer_desc(), backward.diff_weights_layer_desc());
    hidden_weights_.InitBackward(backward.weights_iter_desc(), backward.diff_weights_iter_desc());
    bias_gradient_ = Allocated(bias);
  }

  void SetWeights(const float* input_weights, const float* bias,
                  const float* hidden_weights) override {
    input_weights_.Set(input_weights);
    hidden_weights_.Set(hidden_weights);
    const std::vector<float> biases = Reordered(bias, outputs_, 1);
    std::copy(biases.begin(), biases.end(), Data(bias_));
  }

  void Forward(const float* x, float* h, float* c, float* y) override {
    std::copy_n(h, state_size_, Data(first_h_));
    std::copy_n(c, state_size_, Data(first_c_));
    Arguments arguments = Inputs(x, input_weights_.packed(), hidden_weights_.packed());
    AddOutputs(y, &arguments);
    Run(forward_, &arguments);
    std::copy_n(Data(last_h_), state_size_, h);
    std::copy_n(Data(last_c_), state_size_, c);
  }

  void Backward(const float* x, const float* y, const float* dy, float* dh, float* dc, float* dx,
                const WeightGradients& gradients) override {
    Arguments arguments =
        Inputs(x, input_weights_.packed_backward(), hidden_weights_.packed_backward());
    AddOutputs(y, &arguments);
    SetToZero(bias_gradient_);
    std::vector<float> first_dh(state_size_), first_dc(state_size_);
    arguments.insert({{DNNL_ARG_DIFF_DST_LAYER, Wrap(y_, dy)},
                      {DNNL_ARG_DIFF_DST_ITER, Wrap(state_, dh)},
                      {DNNL_ARG_DIFF_DST_ITER_C, Wrap(state_, dc)},
                      {DNNL_ARG_DIFF_SRC_LAYER, Wrap(x_, dx)},
                      {DNNL_ARG_DIFF_SRC_ITER, Wrap(state_, first_dh.data())},
                      {DNNL_ARG_DIFF_SRC_ITER_C, Wrap(state_, first_dc.data())},
                      {DNNL_ARG_DIFF_WEIGHTS_LAYER, input_weights_.zero_gradient()},
                      {DNNL_ARG_DIFF_WEIGHTS_ITER, hidden_weights_.zero_gradient()},
                      {DNNL_ARG_DIFF_BIAS, bias_gradient_}});
    Run(backward_, &arguments);
    std::copy(first_dh.begin(), first_dh.end(), dh);
    std::copy(first_dc.begin(), first_dc.end(), dc);
    input_weights_.AddGradient(gradients.input_weights);
    hidden_weights_.AddGradient(gradients.hidden_weights);
    if (gradients.bias) AddReordered(Data(bias_gradient_), outputs_, 1, gradients.bias);
  }

 private:
  static float* Data(const memory& values) { return static_cast<float*>(values.get_data_handle()); }

  Arguments Inputs(const float* x, const memory& input_weights,
                   const memory& hidden_weights) const {
    return {{DNNL_ARG_SRC_LAYER, Wrap(x_, x)},       {DNNL_ARG_SRC_ITER, first_h_},
            {DNNL_ARG_SRC_ITER_C, first_c_},         {DNNL_ARG_WEIGHTS_LAYER, input_weights},
            {DNNL_ARG_WEIGHTS_ITER, hidden_weights}, {DNNL_ARG_BIAS, bias_}};
  }
  void AddOutputs(const float* y, Arguments* arguments) const {
    arguments->insert({{DNNL_ARG_DST_LAYER, Wrap(y_, y)},
                       {DNNL_ARG_DST_ITER, last_h_},
                       {DNNL_ARG_DST_ITER_C, last_c_}});
    if (workspace_) arguments->insert({DNNL_ARG_WORKSPACE, workspace_});
  }

  const int outputs_;
  const size_t state_size_;
  memory::desc x_, y_, state_;
  dnnl::lstm_forward forward_;
  dnnl::lstm_backward backward_;
  Weights input_weights_, hidden_weights_;
  memory bias_, bias_gradient_, workspace_;
  memory first_h_, first_c_, last_h_, last_c_;  // of the latest Forward
};

}  // namespace

std::unique_ptr<Lstm> Lstm::Make(int steps, int batch, int inputs, int outputs, bool training) {
  if (steps == 0 || batch == 0 || inputs == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Lstm> {
    return std::make_unique<LstmPrimitive>(steps, batch, inputs, outputs, training);
  });
}

}  // namespace caffe::onednn
