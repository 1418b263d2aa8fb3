// LRN and Softmax across channels, with channels last, in every type of floating-point numbers.
#include <memory>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/softmax.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class AcrossChannelsStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    pixels_ = PixelsOf(x_, y_);
    Require(x_.type == y_.type && x_.shape == y_.shape && y_.shape.size() == 4,
            "its blobs differ in type or shape");
  }
  void Run(void*) override {
    if (CountOf(y_.shape) > 0) Compute();
  }

 protected:
  virtual void Compute() = 0;

  Operand x_, y_;
  kernels::ChannelsLast pixels_ = {};
};

class LrnAcrossStep : public AcrossChannelsStep {
 public:
  explicit LrnAcrossStep(const LRNParameter& param) : param_(param) {}

 private:
  void Compute() override {
    const Shape& shape = y_.shape;
    const kernels::LrnShape lrn = {
        shape[0], shape[1],       shape[2],      shape[3],  static_cast<int>(param_.local_size()),
        false,    param_.alpha(), param_.beta(), param_.k()};
    DispatchFloat(y_.type, [&](auto tag) {
      using T = decltype(tag);
      kernels::ChannelsLastLrnForward(lrn, pixels_, x_.as<const T>(), y_.as<T>());
    });
  }

  const LRNParameter& param_;
};

class SoftmaxAcrossStep : public AcrossChannelsStep {
  void Compute() override {
    DispatchFloat(y_.type, [&](auto tag) {
      using T = decltype(tag);
      kernels::ChannelsLastSoftmax(y_.images, y_.shape[1], pixels_, x_.as<const T>(), y_.as<T>());
    });
  }
};

bool IsLrnAcross(const Node& node) {
  const LRNParameter& param = node.layer.lrn_param();
  return node.type() == "LRN" && param.local_size() % 2 == 1 &&
         param.norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS;
}

bool IsSoftmaxAcross(const Node& node) {
  const int axis = node.layer.softmax_param().axis();
  return node.type() == "Softmax" && (axis == 1 || axis == -3);
}

class AcrossChannelsImpl : public Implementation {
 public:
  const char* name() const override { return "across channels"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!(IsLrnAcross(node) || IsSoftmaxAcross(node)) || node.inputs.size() != 1 ||
        node.outputs.size() != 1 || !node.epilogue.empty() ||
        context.graph.values[node.inputs[0]].shape.size() != 4) {
      return context.None("is for LRN and Softmax across channels of images");
    }
    std::vector<Candidate> candidates;
    for (const ElementType type : kFloatTypes) {
      if (!context.Stores(type)) continue;
      const Format format = {type, kChannelsLast};
      candidates.push_back(Formats(*this, node, type, format, format));
    }
    return candidates;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    Require(node.inputs.size() == 1 && node.outputs.size() == 1 &&
                (IsLrnAcross(node) || IsSoftmaxAcross(node)),
            "layer '", node.name(), "' (", node.type(), ") is not an operation across channels");
    if (IsLrnAcross(node)) return std::make_unique<LrnAcrossStep>(node.layer.lrn_param());
    return std::make_unique<SoftmaxAcrossStep>();
  }
};

}  // namespace

const Implementation& AcrossChannels() {
  static const AcrossChannelsImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
