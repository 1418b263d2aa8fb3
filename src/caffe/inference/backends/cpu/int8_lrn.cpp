// Local response normalization across channels, from 8-bit integers to 8-bit integers.
#include "byte_step.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/lrn.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class LrnStep : public ByteStep {
 public:
  explicit LrnStep(const Node& node) : param_(node.layer.lrn_param()) {}

  void Bind(const Binding& binding) override {
    ByteStep::Bind(binding);
    const Shape& shape = y_.shape;
    Require(!y_.plain() && shape.size() == 4 && x_[0].shape == shape,
            "its blobs are in a layout that the kernel does not take");
    const Shape extents = ShapeByPosition(y_);
    shape_ = {extents[0],
              extents[1],
              extents[2],
              extents[3],
              static_cast<int>(param_.local_size()),
              false,
              param_.alpha(),
              param_.beta(),
              param_.k()};
  }

 private:
  void Compute(const std::vector<const void*>& x, void* y, size_t images) override {
    kernels::LrnShape shape = shape_;
    shape.num = static_cast<int>(images);
    DispatchInteger(x_[0].type, [&](auto from) {
      DispatchInteger(y_.type, [&](auto to) {
        const auto* bottom = static_cast<const decltype(from)*>(x[0]);
        auto* top = static_cast<decltype(to)*>(y);
        const float scale = x_[0].scale, factor = 1 / y_.scale;
        if (y_.channels_last()) {
          kernels::ChannelsLastLrnForward(shape, {y_.image, y_.image, y_.image}, scale, bottom,
                                          factor, top);
        } else {
          kernels::BlockedLrnForward(shape, y_.block, scale, bottom, factor, top);
        }
      });
    });
  }

  const LRNParameter& param_;
  kernels::LrnShape shape_;
};

bool IsAcrossChannels(const Graph& graph, const Node& node) {
  return node.type() == "LRN" && node.epilogue.empty() && node.inputs.size() == 1 &&
         node.outputs.size() == 1 &&
         node.layer.lrn_param().norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS &&
         node.layer.lrn_param().local_size() % 2 == 1 &&
         graph.values[node.inputs[0]].shape.size() == 4;
}

class Int8LrnImpl : public Implementation {
 public:
  const char* name() const override { return "int8_lrn"; }
  bool RoundsInputs(const Graph& graph, const Node& node) const override {
    return IsAcrossChannels(graph, node);
  }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsAcrossChannels(context.graph, node)) return context.None("is for LRN across channels");
    if (!HaveRanges(context, node)) return {};
    return InBytes(*this, node, {kBlocked, kChannelsLast});
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(IsAcrossChannels(graph, node), "layer '", node.name(), "' (", node.type(),
            ") is not an LRN across channels");
    return std::make_unique<LrnStep>(node);
  }
};

}  // namespace

const Implementation& Int8Lrn() {
  static const Int8LrnImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
