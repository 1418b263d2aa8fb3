#include "onednn.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "caffe/error.hpp"

#ifdef USE_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#if __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#endif

#include "caffe/context.hpp"
#include "caffe/kernels/instruction_set.hpp"
#endif

namespace caffe {
namespace onednn {
namespace {

bool* EnabledFlag() {
#ifdef USE_ONEDNN
  static bool enabled = [] {
    const char* value = std::getenv("CAFFE_ONEDNN");
    return !value || std::string(value) != "0";
  }();
#else
  static bool enabled = false;
#endif
  return &enabled;
}

}  // namespace

bool Enabled() { return *EnabledFlag(); }

#ifdef USE_ONEDNN

void SetEnabled(bool enabled) { *EnabledFlag() = enabled; }

const char* Version() {
  static const std::string version =
      Join(DNNL_VERSION_MAJOR, ".", DNNL_VERSION_MINOR, ".", DNNL_VERSION_PATCH);
  return version.c_str();
}

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;

constexpr auto kFloat = memory::data_type::f32;

dnnl::engine& CpuEngine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& CpuStream() {
  static thread_local dnnl::stream stream(CpuEngine());
  return stream;
}

/// oneDNN's errors are ours: nothing that a user wrote reaches it unchecked.
template <typename Function>
auto MakeOrNull(Function&& make) -> decltype(make()) {
  if (!Enabled()) return nullptr;
  try {
    return make();
  } catch (const dnnl::error&) {
    return nullptr;  // no implementation for this configuration
  }
}

Dims DimsOf(std::initializer_list<int> first, const std::vector<int>& rest = {}) {
  Dims dims(first.begin(), first.end());
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

memory::desc Any(const Dims& dims) { return memory::desc(dims, kFloat, Tag::any); }

/// Row-major, the last axis fastest.
memory::desc Plain(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return memory::desc(dims, kFloat, strides);
}

Tag PickTag(size_t axes, Tag one, Tag two, Tag three) {
  return axes == 3 ? one : axes == 4 ? two : three;
}

memory::desc Described(const Dims& dims, const Layout& layout) {
  switch (layout.kind) {
    case Layout::CHANNELS_LAST:
      return memory::desc(dims, kFloat, PickTag(dims.size(), Tag::nwc, Tag::nhwc, Tag::ndhwc));
    case Layout::CHANNELS_BLOCKED:
      return memory::desc(dims, kFloat,
                          layout.block == 8
                              ? PickTag(dims.size(), Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c)
                              : PickTag(dims.size(), Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c));
    case Layout::PLAIN:
      break;
  }
  return Plain(dims);
}

/// The layout that `desc` is; false if Tensor has no name for it.
bool LayoutOf(const memory::desc& desc, const Dims& dims, Layout* layout) {
  size_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  const size_t num = dims[0], channels = dims[1];
  for (const Layout& known : {Layout(), Layout::ChannelsLast(num, channels, spatial),
                              Layout::ChannelsBlocked(8, num, channels, spatial),
                              Layout::ChannelsBlocked(16, num, channels, spatial)}) {
    if (desc != Described(dims, known)) continue;
    *layout = known;
    return true;
  }
  return false;
}

memory Wrap(const memory::desc& desc, const void* data) {
  return memory(desc, CpuEngine(), const_cast<void*>(data));
}

dnnl::reorder Reorder(const memory::desc& from, const memory::desc& to,
                      const dnnl::primitive_attr& attributes = dnnl::primitive_attr()) {
  return dnnl::reorder(
      dnnl::reorder::primitive_desc(CpuEngine(), from, CpuEngine(), to, attributes));
}

/// Memory for the time of one call: layers take turns with it.
class Scratch {
 public:
  explicit Scratch(const memory::desc& desc)
      : buffer_(Context::Current().workspace(), desc.get_size()),
        memory_(Wrap(desc, buffer_.get())) {}
  operator memory&() { return memory_; }

 private:
  Workspace::Buffer<char> buffer_;
  memory memory_;
};

constexpr auto kInference = dnnl::prop_kind::forward_inference;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

/// True for implementations that are no better than ours.
template <typename PrimitiveDesc>
bool IsPlainLoop(const PrimitiveDesc& desc) {
  const std::string name = desc.impl_info_str();
  return name.compare(0, 3, "ref") == 0 || name.compare(0, 4, "gemm") == 0;
}

dnnl::primitive_attr AttributesOf(const PointwiseActivation& activation) {
  dnnl::primitive_attr attributes;
  if (activation.kind == PointwiseActivation::NONE) return attributes;
  const auto algorithm = activation.kind == PointwiseActivation::RELU
                             ? dnnl::algorithm::eltwise_relu
                             : dnnl::algorithm::eltwise_clip;
  dnnl::post_ops operations;
#if DNNL_VERSION_MAJOR >= 3
  operations.append_eltwise(algorithm, activation.alpha, activation.beta);
#else
  operations.append_eltwise(1.f, algorithm, activation.alpha, activation.beta);
#endif
  attributes.set_post_ops(operations);
  return attributes;
}

}  // namespace

// ---- Convolution

struct Convolution::State {
  Dims source_dims, weights_dims, bias_dims, target_dims, strides, dilation, pad;
  bool bias;
  Layout source, target, data_source, data_target, weights_source, weights_target;

  dnnl::convolution_forward::primitive_desc forward_desc;
  dnnl::convolution_forward forward;
  memory packed;  // not while training: the weights change with every step
  dnnl::reorder pack;

  struct BackwardData {
    dnnl::convolution_backward_data::primitive_desc desc;
    dnnl::convolution_backward_data primitive;
    dnnl::reorder pack;
  };
  std::unique_ptr<BackwardData> backward_data;
  struct BackwardWeights {
    dnnl::convolution_backward_weights::primitive_desc desc;
    dnnl::convolution_backward_weights primitive;
    dnnl::reorder add;  // to the gradients so far
  };
  std::unique_ptr<BackwardWeights> backward_weights;

  memory plain;  // Caffe's weights, while training

  bool MakeForward(const Options& options);
  bool MakeBackward();
  void Run(const memory& weights, const float* x, const float* bias, float* y);
};

void Convolution::State::Run(const memory& weights, const float* x, const float* bias_values,
                             float* y) {
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                                               {DNNL_ARG_WEIGHTS, weights},
                                               {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, Wrap(forward_desc.bias_desc(), bias_values));
  forward.execute(CpuStream(), arguments);
  CpuStream().wait();
}

bool Convolution::State::MakeForward(const Options& options) {
  const auto kind = options.training ? kTraining : kInference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::primitive_attr attributes = AttributesOf(options.activation);
  const memory::desc bias_desc = bias ? Any(bias_dims) : memory::desc();
#if DNNL_VERSION_MAJOR >= 3
  forward_desc = dnnl::convolution_forward::primitive_desc(
      CpuEngine(), kind, algorithm, Any(source_dims), Any(weights_dims), bias_desc,
      Any(target_dims), strides, dilation, pad, pad, attributes);
#else
  const dnnl::convolution_forward::desc desc(kind, algorithm, Any(source_dims), Any(weights_dims),
                                             bias_desc, Any(target_dims), strides, dilation, pad,
                                             pad);
  forward_desc = dnnl::convolution_forward::primitive_desc(desc, attributes, CpuEngine());
#endif
  if (IsPlainLoop(forward_desc)) return false;
  if (!LayoutOf(forward_desc.src_desc(), source_dims, &source) ||
      !LayoutOf(forward_desc.dst_desc(), target_dims, &target)) {
    return false;
  }
  forward = dnnl::convolution_forward(forward_desc);
  if (!options.training) packed = memory(forward_desc.weights_desc(), CpuEngine());
  pack = Reorder(Plain(weights_dims), forward_desc.weights_desc());
  return true;
}

bool Convolution::State::MakeBackward() {
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc bias_desc = bias ? Any(bias_dims) : memory::desc();
  backward_data.reset(new BackwardData);
  backward_weights.reset(new BackwardWeights);
#if DNNL_VERSION_MAJOR >= 3
  backward_data->desc = dnnl::convolution_backward_data::primitive_desc(
      CpuEngine(), algorithm, Any(source_dims), Any(weights_dims), Any(target_dims), strides,
      dilation, pad, pad, forward_desc);
  backward_weights->desc = dnnl::convolution_backward_weights::primitive_desc(
      CpuEngine(), algorithm, Any(source_dims), Any(weights_dims), bias_desc, Any(target_dims),
      strides, dilation, pad, pad, forward_desc);
#else
  backward_data->desc = dnnl::convolution_backward_data::primitive_desc(
      dnnl::convolution_backward_data::desc(algorithm, Any(source_dims), Any(weights_dims),
                                            Any(target_dims), strides, dilation, pad, pad),
      CpuEngine(), forward_desc);
  const auto weights_desc =
      bias
          ? dnnl::convolution_backward_weights::desc(algorithm, Any(source_dims), Any(weights_dims),
                                                     bias_desc, Any(target_dims), strides, dilation,
                                                     pad, pad)
          : dnnl::convolution_backward_weights::desc(algorithm, Any(source_dims), Any(weights_dims),
                                                     Any(target_dims), strides, dilation, pad, pad);
  backward_weights->desc =
      dnnl::convolution_backward_weights::primitive_desc(weights_desc, CpuEngine(), forward_desc);
#endif
  if (IsPlainLoop(backward_data->desc) || IsPlainLoop(backward_weights->desc)) return false;
  if (!LayoutOf(backward_data->desc.diff_src_desc(), source_dims, &data_source) ||
      !LayoutOf(backward_data->desc.diff_dst_desc(), target_dims, &data_target) ||
      !LayoutOf(backward_weights->desc.src_desc(), source_dims, &weights_source) ||
      !LayoutOf(backward_weights->desc.diff_dst_desc(), target_dims, &weights_target)) {
    return false;
  }
  backward_data->primitive = dnnl::convolution_backward_data(backward_data->desc);
  backward_data->pack = Reorder(Plain(weights_dims), backward_data->desc.weights_desc());
  backward_weights->primitive = dnnl::convolution_backward_weights(backward_weights->desc);
  dnnl::primitive_attr adding;
  dnnl::post_ops sum;
  sum.append_sum(1.f);
  adding.set_post_ops(sum);
  backward_weights->add =
      Reorder(backward_weights->desc.diff_weights_desc(), Plain(weights_dims), adding);
  return true;
}

std::unique_ptr<Convolution> Convolution::Make(const kernels::ConvolutionShape& shape, int num,
                                               const Options& options) {
  const int axes = shape.axes();
  if (axes < 1 || axes > 3 || num == 0 || shape.input_size() == 0 || shape.output_size() == 0) {
    return nullptr;
  }
  return MakeOrNull([&]() -> std::unique_ptr<Convolution> {
    std::unique_ptr<State> state(new State);
    state->bias = options.bias;
    state->source_dims = DimsOf({num, shape.channels}, shape.input);
    state->target_dims = DimsOf({num, shape.outputs}, shape.output);
    state->bias_dims = {shape.outputs};
    state->weights_dims =
        shape.group == 1
            ? DimsOf({shape.outputs, shape.channels}, shape.kernel)
            : DimsOf({shape.group, shape.outputs / shape.group, shape.channels / shape.group},
                     shape.kernel);
    state->strides = DimsOf({}, shape.stride);
    state->pad = DimsOf({}, shape.pad);
    for (const int dilation : shape.dilation) state->dilation.push_back(dilation - 1);
    if (!state->MakeForward(options)) return nullptr;
    if (options.training && !state->MakeBackward()) return nullptr;
    return std::unique_ptr<Convolution>(new Convolution(std::move(state)));
  });
}

Convolution::Convolution(std::unique_ptr<State> state) : state_(std::move(state)) {}
Convolution::~Convolution() = default;

const Layout& Convolution::source() const { return state_->source; }
const Layout& Convolution::target() const { return state_->target; }
const Layout& Convolution::data_source() const { return state_->data_source; }
const Layout& Convolution::data_target() const { return state_->data_target; }
const Layout& Convolution::weights_source() const { return state_->weights_source; }
const Layout& Convolution::weights_target() const { return state_->weights_target; }

void Convolution::SetWeights(const float* weights) {
  memory plain = Wrap(Plain(state_->weights_dims), weights);
  if (!state_->packed.get(true)) {
    state_->plain = plain;
    return;
  }
  state_->pack.execute(CpuStream(), plain, state_->packed);
  CpuStream().wait();
}

void Convolution::Forward(const float* x, const float* bias, float* y) {
  State& s = *state_;
  if (s.packed.get(true)) return s.Run(s.packed, x, bias, y);
  Scratch packed(s.forward_desc.weights_desc());
  s.pack.execute(CpuStream(), s.plain, packed);
  s.Run(packed, x, bias, y);
}

void Convolution::BackwardData(const float* dy, const float* weights, float* dx) {
  State::BackwardData& b = *state_->backward_data;
  Scratch packed(b.desc.weights_desc());
  memory plain = Wrap(Plain(state_->weights_dims), weights);
  b.pack.execute(CpuStream(), plain, packed);
  b.primitive.execute(CpuStream(), {{DNNL_ARG_DIFF_DST, Wrap(b.desc.diff_dst_desc(), dy)},
                                    {DNNL_ARG_WEIGHTS, packed},
                                    {DNNL_ARG_DIFF_SRC, Wrap(b.desc.diff_src_desc(), dx)}});
  CpuStream().wait();
}

void Convolution::BackwardWeights(const float* x, const float* dy, float* d_weights,
                                  float* d_bias) {
  State::BackwardWeights& b = *state_->backward_weights;
  Scratch packed(b.desc.diff_weights_desc());
  std::vector<float> bias_gradient(state_->bias ? state_->bias_dims[0] : 0);
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, Wrap(b.desc.src_desc(), x)},
      {DNNL_ARG_DIFF_DST, Wrap(b.desc.diff_dst_desc(), dy)},
      {DNNL_ARG_DIFF_WEIGHTS, packed}};
  if (state_->bias) {
    arguments.emplace(DNNL_ARG_DIFF_BIAS, Wrap(Plain(state_->bias_dims), bias_gradient.data()));
  }
  b.primitive.execute(CpuStream(), arguments);
  memory gradient = Wrap(Plain(state_->weights_dims), d_weights);
  b.add.execute(CpuStream(), packed, gradient);
  CpuStream().wait();
  if (!d_bias) return;
  for (size_t i = 0; i < bias_gradient.size(); ++i) d_bias[i] += bias_gradient[i];
}

// ---- LRN

struct Lrn::State {
  Layout layout;
  dnnl::lrn_forward::primitive_desc forward_desc;
  dnnl::lrn_forward forward;
  dnnl::lrn_backward::primitive_desc backward_desc;
  dnnl::lrn_backward backward;
  memory workspace;
};

std::unique_ptr<Lrn> Lrn::Make(int num, int channels, int height, int width, int size, float alpha,
                               float beta, float k, bool training, const Layout& layout) {
  return MakeOrNull([&]() -> std::unique_ptr<Lrn> {
    std::unique_ptr<State> state(new State);
    const Dims dims = {num, channels, height, width};
    const memory::desc desc = Described(dims, layout);
    const auto kind = training ? kTraining : kInference;
    const auto algorithm = dnnl::algorithm::lrn_across_channels;
#if DNNL_VERSION_MAJOR >= 3
    state->forward_desc = dnnl::lrn_forward::primitive_desc(CpuEngine(), kind, algorithm, desc,
                                                            desc, size, alpha, beta, k);
    if (training) {
      state->backward_desc = dnnl::lrn_backward::primitive_desc(
          CpuEngine(), algorithm, desc, desc, desc, size, alpha, beta, k, state->forward_desc);
    }
#else
    state->forward_desc = dnnl::lrn_forward::primitive_desc(
        dnnl::lrn_forward::desc(kind, algorithm, desc, size, alpha, beta, k), CpuEngine());
    if (training) {
      state->backward_desc = dnnl::lrn_backward::primitive_desc(
          dnnl::lrn_backward::desc(algorithm, desc, desc, size, alpha, beta, k), CpuEngine(),
          state->forward_desc);
    }
#endif
    if (IsPlainLoop(state->forward_desc) || (training && IsPlainLoop(state->backward_desc))) {
      return nullptr;
    }
    state->layout = layout;
    state->forward = dnnl::lrn_forward(state->forward_desc);
    if (training) {
      state->backward = dnnl::lrn_backward(state->backward_desc);
      state->workspace = memory(state->forward_desc.workspace_desc(), CpuEngine());
    }
    return std::unique_ptr<Lrn>(new Lrn(std::move(state)));
  });
}

Lrn::Lrn(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lrn::~Lrn() = default;
const Layout& Lrn::layout() const { return state_->layout; }

void Lrn::Forward(const float* x, float* y) {
  State& s = *state_;
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, Wrap(s.forward_desc.src_desc(), x)},
                                               {DNNL_ARG_DST, Wrap(s.forward_desc.dst_desc(), y)}};
  if (s.workspace.get(true)) arguments.emplace(DNNL_ARG_WORKSPACE, s.workspace);
  s.forward.execute(CpuStream(), arguments);
  CpuStream().wait();
}

void Lrn::Backward(const float* x, const float* dy, float* dx) {
  State& s = *state_;
  s.backward.execute(CpuStream(), {{DNNL_ARG_SRC, Wrap(s.backward_desc.src_desc(), x)},
                                   {DNNL_ARG_DIFF_DST, Wrap(s.backward_desc.diff_dst_desc(), dy)},
                                   {DNNL_ARG_WORKSPACE, s.workspace},
                                   {DNNL_ARG_DIFF_SRC, Wrap(s.backward_desc.diff_src_desc(), dx)}});
  CpuStream().wait();
}

#else  // without oneDNN

void SetEnabled(bool) {}
const char* Version() { return ""; }

struct Convolution::State {};
Convolution::Convolution(std::unique_ptr<State> state) : state_(std::move(state)) {}
Convolution::~Convolution() = default;
std::unique_ptr<Convolution> Convolution::Make(const kernels::ConvolutionShape&, int,
                                               const Options&) {
  return nullptr;
}
namespace {
[[noreturn]] void Absent() { Fail("this library was built without oneDNN"); }
}  // namespace
const Layout& Convolution::source() const { Absent(); }
const Layout& Convolution::target() const { Absent(); }
const Layout& Convolution::data_source() const { Absent(); }
const Layout& Convolution::data_target() const { Absent(); }
const Layout& Convolution::weights_source() const { Absent(); }
const Layout& Convolution::weights_target() const { Absent(); }
void Convolution::SetWeights(const float*) { Absent(); }
void Convolution::Forward(const float*, const float*, float*) { Absent(); }
void Convolution::BackwardData(const float*, const float*, float*) { Absent(); }
void Convolution::BackwardWeights(const float*, const float*, float*, float*) { Absent(); }

struct Lrn::State {};
Lrn::Lrn(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lrn::~Lrn() = default;
std::unique_ptr<Lrn> Lrn::Make(int, int, int, int, int, float, float, float, bool, const Layout&) {
  return nullptr;
}
const Layout& Lrn::layout() const { Absent(); }
void Lrn::Forward(const float*, float*) { Absent(); }
void Lrn::Backward(const float*, const float*, float*) { Absent(); }

#endif

}  // namespace onednn
}  // namespace caffe
