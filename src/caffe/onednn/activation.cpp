#include <optional>

#include "primitives.hpp"

namespace caffe::onednn {
namespace {

using Algorithm = dnnl::algorithm;

class ActivationPrimitive : public Activation {
 public:
  bool from_output = false;  // the gradient is computed from y
  dnnl::eltwise_forward::primitive_desc forward_desc;
  dnnl::eltwise_forward forward;
  dnnl::eltwise_backward::primitive_desc backward_desc;
  dnnl::eltwise_backward backward;

  void Forward(const float* x, float* y) override {
    Run(forward, {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                  {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}});
  }

  void Backward(const float* v, const float* dy, float* dx) override {
    Run(backward, {{from_output ? DNNL_ARG_DST : DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), v)},
                   {DNNL_ARG_DIFF_DST, Wrap(backward_desc.diff_dst_desc(), dy)},
                   {DNNL_ARG_DIFF_SRC, Wrap(backward_desc.diff_src_desc(), dx)}});
  }
};

struct Function {
  Algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// oneDNN's name of f.
std::optional<Function> NameOf(const kernels::Activation& f, bool training) {
  using Kind = kernels::Activation;
  const float a = static_cast<float>(f.a), b = static_cast<float>(f.b);
  switch (f.kind) {
    case Kind::ABSOLUTE:
      return Function{Algorithm::eltwise_abs};
    case Kind::POWER:
      if (f.c == 1) return Function{Algorithm::eltwise_linear, b, a};
      break;
    case Kind::EXPONENTIAL:
      if (a == 1 && b == 1) return Function{Algorithm::eltwise_exp_use_dst_for_bwd};
      break;
    case Kind::SIGMOID:
      return Function{Algorithm::eltwise_logistic_use_dst_for_bwd};
    case Kind::TANH:
      return Function{Algorithm::eltwise_tanh_use_dst_for_bwd};
    case Kind::ELU:
      if (b == 1 && a > 0) return Function{Algorithm::eltwise_elu_use_dst_for_bwd, a};
      break;
    case Kind::SWISH:
      return Function{Algorithm::eltwise_swish, a};
    case Kind::CLIP:
      return Function{Algorithm::eltwise_clip, a, b};
    case Kind::CLIPPED_RELU:
      // The gradient may have to be computed from y, where oneDNN takes the bound for an inside.
      if (b == 0 && !training) return Function{Algorithm::eltwise_clip, 0, a};
      break;
    case Kind::RELU:
      return Function{Algorithm::eltwise_relu, a};
    case Kind::SOFTPLUS:  // oneDNN's is up to 2e-6 off far below 0, where it is smaller than that
    case Kind::NONE:
    case Kind::PRELU:
    case Kind::HARD_SWISH:
    case Kind::GELU:
    case Kind::LOGARITHM:
    case Kind::THRESHOLD:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Activation> Activation::Make(const kernels::Activation& f, size_t count,
                                             const Layout& layout, bool training) {
  const std::optional<Function> function = NameOf(f, training);
  if (!function || count == 0) return nullptr;
  return MakeOrNull([&, name = *function]() -> std::unique_ptr<Activation> {
    std::unique_ptr<ActivationPrimitive> activation(new ActivationPrimitive);
    activation->from_output = f.GradientArgument() == kernels::Activation::Argument::OUTPUT;
    const memory::desc desc = DescribedFlat(count, layout);
    activation->forward_desc =
        DescribeEltwise(ForwardKind(training), name.algorithm, desc, name.alpha, name.beta);
    if (IsPlainLoop(activation->forward_desc)) return nullptr;
    activation->forward = dnnl::eltwise_forward(activation->forward_desc);
    if (!training) return activation;
    activation->backward_desc = DescribeEltwiseBackward(activation->forward_desc, name.algorithm,
                                                        desc, name.alpha, name.beta);
    if (IsPlainLoop(activation->backward_desc)) return nullptr;
    activation->backward = dnnl::eltwise_backward(activation->backward_desc);
    return activation;
  });
}

}  // namespace caffe::onednn
