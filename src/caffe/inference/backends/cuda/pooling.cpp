// Maxima and means over windows, channels last, in every type.
#include "caffe/layers/pooling_layer.hpp"

#include "../element_types.hpp"
#include "caffe/cuda/stream.hpp"
#include "cuda_target.hpp"

namespace caffe {
namespace inference {
namespace cuda {
namespace {

class PoolingStep : public Step {
 public:
  explicit PoolingStep(const Node& node) : param_(node.layer.pooling_param()) {}

  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.layout == kLast && y_.layout == kLast && x_.type == y_.type,
            "its blobs do not lie as kernels take them");
    shape_ = PooledShape(param_, x_.shape);
    shape_.planes = x_.shape[0];
  }

  void Run(void*) override {
    const bool means = param_.pool() == PoolingParameter_PoolMethod_AVE;
    (means ? caffe::cuda::PoolMeans : caffe::cuda::PoolMaxima)(
        caffe::cuda::CurrentStream(), shape_, ChannelCount(x_), PixelsOf(x_), PixelsOf(y_));
  }

 private:
  const PoolingParameter& param_;
  kernels::PoolingShape shape_;
  Operand x_, y_;
};

class Family : public Implementation {
 public:
  const char* name() const override { return "pooling"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (node.type() != "Pooling" || node.outputs.size() != 1 || !node.epilogue.empty() ||
        node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_STOCHASTIC ||
        CountOf(context.graph.values[node.inputs[0]].shape) == 0) {
      return {};
    }
    std::vector<Candidate> candidates;
    for (const ElementType type : kFloatTypes) {
      if (!context.Stores(type)) continue;
      candidates.push_back(Formats(*this, node, type, {type, kLast}, {type, kLast}));
    }
    // The kernel's sign is that of both; maxima have their bottom's scale (value_ranges.hpp).
    const Range &x = context.ranges[node.inputs[0]], &y = context.ranges[node.outputs[0]];
    if (context.Stores(ElementType::INT8) && x.known() && y.known() &&
        x.is_unsigned == y.is_unsigned) {
      const Format integers = {ElementType::INT8, kLast};
      candidates.push_back(Formats(*this, node, ElementType::INT8, integers, integers));
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph&, const Node& node) const override {
    return node.parameters;
  }
  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    Require(node.type() == "Pooling" && node.inputs.size() == 1 && node.outputs.size() == 1,
            "layer '", node.name(), "' (", node.type(), ") is no pooling with one top");
    return std::make_unique<PoolingStep>(node);
  }
};

}  // namespace

const Implementation& Pooling() {
  static const Family family;
  return family;
}

}  // namespace cuda
}  // namespace inference
}  // namespace caffe
