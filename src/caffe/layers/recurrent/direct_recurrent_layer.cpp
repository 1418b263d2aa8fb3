#include "caffe/layers/direct_recurrent_layer.hpp"

#include <cstring>
#include <limits>

#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/dispatch_half_or.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

/// y (n, d) = cont (n) times x, added to y if `add`.
template <typename T>
void TimesCont(int n, int d, const T* cont, const T* x, bool add, T* y) {
  for (int i = 0; i < n; ++i) {
    for (int j = i * d; j < (i + 1) * d; ++j) y[j] = (add ? y[j] : T(0)) + cont[i] * x[j];
  }
}

}  // namespace

int RecurrentOutputs(const char* field, uint32_t num_output) {
  constexpr uint32_t kMost = std::numeric_limits<int>::max() / 4;
  const int outputs = static_cast<int>(num_output);
  Require(outputs > 0, Error::Field{field}, ": num_output must be positive, got ", num_output);
  Require(num_output <= kMost, Error::Field{field}, ": num_output must be at most ", kMost,
          ", got ", num_output);
  return outputs;
}

std::vector<Shape> RecurrentShapes(const RecurrentParameter& param, int states,
                                   const std::vector<Shape>& bottoms) {
  const Shape& x = bottoms.at(0);
  const Shape& cont = bottoms.at(1);
  const int outputs = RecurrentOutputs("recurrent_param", param.num_output());
  Require(x.size() >= 2, "bottom 0, the inputs, must have axes (time, batch, ...), not ",
          ShapeString(x));
  Require(cont == Shape(x.begin(), x.begin() + 2), "bottom 1, the continuation indicators, must ",
          "have shape ", x[0], " ", x[1], ", one for each step of each sequence, not ",
          ShapeString(cont));
  const size_t exposed = param.expose_hidden() ? states : 0;
  const bool static_input = bottoms.size() > 2 + exposed;
  if (static_input) {
    Require(!bottoms[2].empty() && bottoms[2][0] == x[1], "bottom 2, the static input, must have ",
            x[1], " items, one for each sequence; it has shape ", ShapeString(bottoms[2]));
  }
  const Shape state = {1, x[1], outputs};
  std::vector<Shape> tops = {{x[0], x[1], outputs}};
  for (size_t i = 0; i < exposed; ++i) {
    const size_t bottom = 2 + static_input + i;
    Require(bottoms.at(bottom) == state, "bottom ", bottom, ", a hidden state, must have shape ",
            ShapeString(state), ", not ", ShapeString(bottoms[bottom]));
    tops.push_back(state);
  }
  return tops;
}

template <typename Dtype>
std::vector<Shape> DirectRecurrentLayer<Dtype>::TopShapes(const std::vector<Shape>& bottoms) const {
  return RecurrentShapes(Parameters(), states(), bottoms);
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::SetLengths(const Shape& input) {
  T_ = input[0];
  N_ = input[1];
}

template <typename Dtype>
std::vector<ParameterBlob> DirectRecurrentLayer<Dtype>::NeededParameters(int inputs,
                                                                         int static_inputs) const {
  const RecurrentParameter param = Parameters();
  const int rows = gates() * D_;
  std::vector<ParameterBlob> needed = {{{rows, inputs}, param.weight_filler()},
                                       {{rows}, param.bias_filler()}};
  if (static_input_) needed.push_back({{rows, static_inputs}, param.weight_filler()});
  needed.push_back({{rows, D_}, param.weight_filler()});
  return needed;
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>&) {
  TopShapes(ShapesOf(bottom));
  D_ = Parameters().num_output();
  expose_hidden_ = Parameters().expose_hidden();
  static_input_ = static_cast<int>(bottom.size()) > 2 + ExposedStates();
  if (static_input_) hidden_weights_ = static_weights_ + 1;
  SetLengths(bottom[0]->shape());
  Require(T_ > 0 && N_ > 0, "bottom 0 of shape ", ShapeString(bottom[0]->shape()),
          " has no steps or no sequences");
  for (Blob<Dtype>& kept : kept_) kept.Reshape(Shape{0});  // Reshape begins with states of zeros
  MakeOrCheckParameters(
      NeededParameters(bottom[0]->count() / (T_ * N_), static_input_ ? bottom[2]->count(1) : 0),
      &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> tops = TopShapes(ShapesOf(bottom));
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(tops.at(i));
  SetLengths(bottom[0]->shape());
  Require(T_ > 0 && N_ > 0, "bottom 0 of shape ", ShapeString(bottom[0]->shape()),
          " has no steps or no sequences");
  const auto check = [&](int i, int weights) {
    const int wanted = this->blobs_[weights]->shape(1);
    const int given = bottom[i]->count() / (i == 0 ? T_ * N_ : N_);
    Require(given == wanted, "bottom ", i, " of shape ", ShapeString(bottom[i]->shape()), " has ",
            given, " values per step where the weights are for ", wanted);
  };
  check(0, input_weights_);
  if (static_input_) check(2, static_weights_);
  for (int i = 0; i < states(); ++i) {
    state_[i].Reshape({T_ + 1, N_, D_});
    if (kept_[i].shape() == Shape{N_, D_}) continue;
    kept_[i].Reshape({N_, D_});
    caffe_set(kept_[i].count(), Dtype(0), kept_[i].mutable_cpu_data());
  }
  gates_.Reshape({T_, N_, gates() * D_});
  conted_.Reshape({T_, N_, D_});
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Reset() {
  for (Blob<Dtype>& kept : kept_) caffe_set(kept.count(), Dtype(0), kept.mutable_cpu_data());
}

template <typename Dtype>
std::string DirectRecurrentLayer<Dtype>::SaveState() {
  std::string state;
  for (int i = 0; i < states(); ++i) {
    state.append(reinterpret_cast<const char*>(kept_[i].cpu_data()),
                 kept_[i].count() * sizeof(Dtype));
  }
  return state;
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::RestoreState(const std::string& state) {
  const size_t bytes = kept_[0].count() * sizeof(Dtype);
  Require(state.size() == bytes * states(), "the saved state has ", state.size(),
          " bytes where that of this layer has ", bytes * states(),
          ": resume with the same batch size");
  for (int i = 0; i < states(); ++i) {
    std::memcpy(kept_[i].mutable_cpu_data(), state.data() + i * bytes, bytes);
  }
}

// What the steps do not change of the gates' inputs: x W_x + b, and the static input's part.
template <typename Dtype>
template <typename T>
void DirectRecurrentLayer<Dtype>::AddInputs(const vector<Blob<Dtype>*>& bottom) {
  const size_t rows = size_t(T_) * N_;
  const int columns = gates() * D_;
  Dtype* all = gate(0);
  const Dtype* bias = this->blobs_[bias_]->template cpu_data_as<Dtype>();
  for (size_t row = 0; row < rows; ++row) std::copy(bias, bias + columns, all + row * columns);
  const Blob<Dtype>& weights = *this->blobs_[input_weights_];
  kernels::Gemm(false, true, rows, columns, weights.shape(1), Dtype(1),
                bottom[0]->template cpu_data_as<T>(), weights.template cpu_data_as<T>(), Dtype(1),
                all);
  if (!static_input_) return;
  const Blob<Dtype>& static_weights = *this->blobs_[static_weights_];
  Workspace::Buffer<Dtype> part(Context::Current().workspace(), size_t(N_) * columns);
  kernels::Gemm(false, true, N_, columns, static_weights.shape(1), Dtype(1),
                bottom[2]->template cpu_data_as<T>(), static_weights.template cpu_data_as<T>(),
                Dtype(0), part.get());
  for (int t = 0; t < T_; ++t) kernels::Axpy(size_t(N_) * columns, Dtype(1), part.get(), gate(t));
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const size_t row = size_t(N_) * D_;
  const int columns = gates() * D_;
  const Dtype* cont = Continuation(bottom);
  for (int i = 0; i < states(); ++i) {
    const Blob<Dtype>& from = StateBefore(i, bottom);
    if (expose_hidden_ || KeepsState(bottom)) {
      std::copy_n(from.cpu_data(), row, state(i, 0));
    } else {
      std::fill_n(state(i, 0), row, Dtype(0));
    }
  }
  DispatchHalfOr<Dtype>(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    this->template AddInputs<T>(bottom);
    Workspace::Buffer<Dtype> weights(Context::Current().workspace(), size_t(columns) * D_);
    kernels::Convert(size_t(columns) * D_, this->blobs_[hidden_weights_]->template cpu_data_as<T>(),
                     weights.get());
    for (int t = 0; t < T_; ++t) {
      Dtype* conted = conted_.mutable_cpu_data() + t * row;
      TimesCont(N_, D_, cont + size_t(t) * N_, state(0, t), false, conted);
      if (N_ == 1) {
        kernels::Gemv(false, columns, D_, Dtype(1), weights.get(), conted, Dtype(1), gate(t));
      } else {
        kernels::Gemm(false, true, N_, columns, D_, Dtype(1), conted, weights.get(), Dtype(1),
                      gate(t));
      }
      Step(t, cont + size_t(t) * N_);
    }
    const Dtype* outputs = Outputs();
    if (Parameters().debug_info()) WriteDebugInfo(outputs);
    kernels::Convert(row * T_, outputs, top[0]->template overwrite_cpu_data_as<T>());
    for (int i = 0; i < states() && expose_hidden_; ++i) {
      kernels::Convert(row, state(i, T_), top[1 + i]->template overwrite_cpu_data_as<T>());
    }
  });
  for (int i = 0; i < states(); ++i) {
    std::copy_n(state(i, T_), row, kept_[i].mutable_cpu_data());
  }
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  Require(bottom.size() < 2 || !propagate_down[1], this->type(),
          " has no gradient for its continuation indicators");
  const size_t row = size_t(N_) * D_, rows = size_t(T_) * N_;
  const int columns = gates() * D_;
  const Dtype* cont = Continuation(bottom);
  const Blob<Dtype>& hidden_weights = *this->blobs_[hidden_weights_];
  for (int i = 0; i < states(); ++i) std::fill_n(state_diff(i, 0), row * (T_ + 1), Dtype(0));
  std::copy_n(top[0]->cpu_diff(), row * T_, state_diff(0, 1));
  OutputGradient(state_diff(0, 1));
  for (int i = 0; i < states() && expose_hidden_; ++i) {
    kernels::Axpy(row, Dtype(1), top[1 + i]->cpu_diff(), state_diff(i, T_));
  }
  Workspace::Buffer<Dtype> d_conted(Context::Current().workspace(), row);
  for (int t = T_ - 1; t >= 0; --t) {
    StepGradient(t, cont + size_t(t) * N_);
    kernels::Gemm(false, false, N_, D_, columns, Dtype(1), gate_diff(t), hidden_weights.cpu_data(),
                  Dtype(0), d_conted.get());
    TimesCont(N_, D_, cont + size_t(t) * N_, d_conted.get(), true, state_diff(0, t));
  }
  const Dtype* d_gates = gate_diff(0);
  if (this->param_propagate_down(hidden_weights_)) {
    kernels::Gemm(true, false, columns, D_, rows, Dtype(1), d_gates, conted_.cpu_data(), Dtype(1),
                  this->blobs_[hidden_weights_]->mutable_cpu_diff());
  }
  if (this->param_propagate_down(bias_)) {
    Dtype* d_bias = this->blobs_[bias_]->mutable_cpu_diff();
    for (size_t i = 0; i < rows; ++i) {
      kernels::Axpy(columns, Dtype(1), d_gates + i * columns, d_bias);
    }
  }
  // The gradient of a matrix W in x W^T, and of x, for `items` rows x of `blob`.
  const auto propagate = [&](int items, const Dtype* d_rows, Blob<Dtype>* blob, int weights_index,
                             bool to_blob) {
    Blob<Dtype>& weights = *this->blobs_[weights_index];
    const int inputs = weights.shape(1);
    DispatchHalfOr<Dtype>(this->forward_type(), [&](auto tag) {
      using T = decltype(tag);
      if (this->param_propagate_down(weights_index)) {
        kernels::Gemm(true, false, columns, inputs, items, Dtype(1), d_rows,
                      blob->template cpu_data_as<T>(), Dtype(1), weights.mutable_cpu_diff());
      }
    });
    if (!to_blob) return;
    DispatchHalfOr<Dtype>(this->backward_type(), [&](auto tag) {
      using D = decltype(tag);
      kernels::Gemm(false, false, items, inputs, columns, Dtype(1), d_rows, weights.cpu_data(),
                    Dtype(0), blob->template overwrite_cpu_diff_as<D>());
    });
  };
  propagate(rows, d_gates, bottom[0], input_weights_, propagate_down[0]);
  if (static_input_) {
    Workspace::Buffer<Dtype> sum(Context::Current().workspace(), size_t(N_) * columns);
    std::fill_n(sum.get(), size_t(N_) * columns, Dtype(0));
    for (int t = 0; t < T_; ++t) {
      kernels::Axpy(size_t(N_) * columns, Dtype(1), gate_diff(t), sum.get());
    }
    propagate(N_, sum.get(), bottom[2], static_weights_, propagate_down[2]);
  }
  for (int i = 0; i < states() && expose_hidden_; ++i) {
    const int index = FirstStateBottom() + i;
    if (!propagate_down[index]) continue;
    std::copy_n(state_diff(i, 0), row, bottom[index]->mutable_cpu_diff());
  }
}

// Mean magnitudes, in the form of a net's debug_info.
template <typename Dtype>
void DirectRecurrentLayer<Dtype>::WriteDebugInfo(const Dtype* outputs) const {
  const auto mean = [](const Dtype* x, size_t count) {
    return count == 0 ? 0. : kernels::Asum(count, x) / count;
  };
  const std::string& layer = this->layer_param_.name();
  for (size_t i = 0; i < this->blobs_.size(); ++i) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", param blob " << i << " data: "
              << mean(this->blobs_[i]->template cpu_data_as<Dtype>(), this->blobs_[i]->count());
  }
  for (int t = 0; t < T_; ++t) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", top blob " << (states() > 1 ? "h_" : "o_")
              << t + 1 << " data: " << mean(outputs + RowOffset(t), size_t(N_) * D_);
  }
}

template <typename Dtype>
void DirectRecurrentLayer<Dtype>::FillUnrolledNet(NetParameter*) const {
  Fail(this->type(), " has no unrolled net: a layer of your own derives from RecurrentLayer");
}
// What a net inside would call its blobs: none.
template <typename Dtype>
void DirectRecurrentLayer<Dtype>::RecurrentInputBlobNames(vector<string>* names) const {
  names->clear();
}
template <typename Dtype>
void DirectRecurrentLayer<Dtype>::RecurrentInputShapes(vector<BlobShape>* shapes) const {
  shapes->clear();
}
template <typename Dtype>
void DirectRecurrentLayer<Dtype>::RecurrentOutputBlobNames(vector<string>* names) const {
  names->clear();
}
template <typename Dtype>
void DirectRecurrentLayer<Dtype>::OutputBlobNames(vector<string>* names) const {
  names->clear();
}

INSTANTIATE_CLASS(DirectRecurrentLayer);

}  // namespace caffe
