// Inner products in FLOAT and FLOAT16 by matrix products; the weights lie (outputs, inputs).
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "convolution_node.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

/// Outputs and inputs of a row of a node whose weights are not packed yet.
struct Extents {
  int outputs, inputs;
};

Extents ExtentsOf(const Node& node) {
  const int outputs = static_cast<int>(node.layer.inner_product_param().num_output());
  return {outputs, static_cast<int>(node.parameters[0].count() / outputs)};
}

/// Calls f(T()) for the types that matrix products take.
template <typename F>
void DispatchFactor(ElementType type, F&& f) {
  type == ElementType::FLOAT16 ? f(float16()) : f(float());
}

float Activated(const PointwiseActivation& activation, float x) {
  if (activation.kind == PointwiseActivation::RELU) return x > 0 ? x : activation.alpha * x;
  if (activation.kind == PointwiseActivation::CLIP) {
    return std::min(std::max(x, activation.alpha), activation.beta);
  }
  return x;
}

class InnerProductStep : public Step {
 public:
  explicit InnerProductStep(const Node& node) : node_(node), epilogue_(*FusedEpilogueOf(node)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    outputs_ = static_cast<int>(node_.layer.inner_product_param().num_output());
    inputs_ = static_cast<int>(node_.parameters[0].count() / outputs_);
    rows_ = static_cast<int>(CountOf(y_.shape) / outputs_);
  }
  size_t scratch_bytes() const override { return size_t(rows_) * outputs_ * sizeof(float); }

  void Run(void* scratch) override {
    float* sums = y_.type == ElementType::FLOAT ? y_.as<float>() : static_cast<float*>(scratch);
    DispatchFactor(node_.math, [&](auto w) {
      const auto* weights = static_cast<const decltype(w)*>(node_.parameters[0].data.get());
      const auto* x = x_.as<const decltype(w)>();
      if (rows_ == 1) {
        kernels::Gemv(false, outputs_, inputs_, 1.f, weights, x, 0.f, sums);
      } else {
        kernels::Gemm(false, true, rows_, outputs_, inputs_, 1.f, x, weights, 0.f, sums);
      }
    });
    const float* bias = node_.parameters[1].floats();
    kernels::ParallelFor(size_t(rows_) * outputs_, 1 << 14, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        sums[i] = Activated(epilogue_.activation, sums[i] + bias[i % outputs_]);
      }
    });
    if (y_.type == ElementType::FLOAT) return;
    DispatchFactor(y_.type, [&](auto y) {
      kernels::Convert(size_t(rows_) * outputs_, sums, y_.as<decltype(y)>());
    });
  }

 private:
  const Node& node_;
  const FusedEpilogue epilogue_;
  Operand x_, y_;
  int rows_ = 0, outputs_ = 0, inputs_ = 0;
};

class Family : public Implementation {
 public:
  const char* name() const override { return "inner_product"; }

  std::vector<Candidate> Candidates(const Context& context, const Node& node) const override {
    const auto epilogue = FusedEpilogueOf(node);
    if (node.type() != "InnerProduct" || node.inputs.size() != 1 || node.outputs.size() != 1 ||
        node.parameters.empty() || !epilogue || epilogue->residual >= 0) {
      return {};
    }
    std::vector<Candidate> candidates;
    for (const ElementType math : {ElementType::FLOAT, ElementType::FLOAT16}) {
      if (!context.Stores(math)) continue;
      for (const ElementType written : {math, ElementType::FLOAT}) {
        candidates.push_back(Formats(*this, node, math, {math, false}, {written, false}));
        if (math == ElementType::FLOAT) break;
      }
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph&, const Node& node) const override {
    const Extents extents = ExtentsOf(node);
    std::vector<float> weights = node.parameters[0].ToVector();
    if (node.layer.inner_product_param().transpose()) {
      const std::vector<float> given = weights;
      for (int o = 0; o < extents.outputs; ++o) {
        for (int i = 0; i < extents.inputs; ++i) {
          weights[size_t(o) * extents.inputs + i] = given[size_t(i) * extents.outputs + o];
        }
      }
    }
    const Constant packed = NewConstant(node.math, weights.size());
    DispatchFactor(node.math, [&](auto w) {
      kernels::Convert(weights.size(), weights.data(), Elements<decltype(w)>(packed));
    });
    return {packed, Constant::Of({extents.outputs}, BiasOf(node, extents.outputs))};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<InnerProductStep>(node);
  }
};

}  // namespace

const Implementation& InnerProduct() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
