// LRN and Softmax across channels in the channels-last layout, which need no reorders around them.
#include "caffe/kernels/cuda/across_channels.hpp"

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

class AcrossChannelsStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.layout == kLast && y_.layout == kLast && x_.shape == y_.shape,
            "its blobs are in a layout that the kernel does not take");
  }

 protected:
  int pixels() const { return PixelCount(y_); }
  int channels() const { return y_.shape[1]; }
  bool empty() const { return CountOf(y_.shape) == 0; }

  Operand x_, y_;
};

class LrnStep : public AcrossChannelsStep {
 public:
  explicit LrnStep(const LRNParameter& param) {
    lrn_.size = static_cast<int>(param.local_size());
    lrn_.alpha = param.alpha();
    lrn_.beta = param.beta();
    lrn_.k = param.k();
  }
  void Run(void*) override {
    if (empty()) return;
    caffe::cuda::LrnOfPixels(caffe::cuda::CurrentStream(), lrn_, pixels(), channels(),
                             ChannelCount(y_), PixelsOf(x_), PixelsOf(y_));
  }

 private:
  kernels::LrnShape lrn_;
};

class SoftmaxStep : public AcrossChannelsStep {
 public:
  size_t scratch_bytes() const override { return caffe::cuda::SoftmaxScratchBytes(pixels()); }
  void Run(void* scratch) override {
    if (empty()) return;
    caffe::cuda::SoftmaxOfPixels(caffe::cuda::CurrentStream(), pixels(), channels(),
                                 ChannelCount(y_), PixelsOf(x_), scratch, PixelsOf(y_));
  }
};

bool IsLrn(const Node& node) {
  return node.type() == "LRN" &&
         node.layer.lrn_param().norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS;
}

bool IsSoftmax(const Node& node) {
  const int axis = node.layer.softmax_param().axis();
  return node.type() == "Softmax" && (axis == 1 || axis == -3);
}

class AcrossChannelsImpl : public Implementation {
 public:
  const char* name() const override { return "across channels"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!(IsLrn(node) || IsSoftmax(node)) || node.outputs.size() != 1 || !node.epilogue.empty() ||
        context.graph.values[node.inputs[0]].shape.size() != 4) {
      return context.None("is for LRN and Softmax across channels of images");
    }
    std::vector<Candidate> candidates;
    for (const ElementType type : kFloatTypes) {
      if (!context.Stores(type)) continue;
      candidates.push_back(Formats(*this, node, type, {type, kLast}, {type, kLast}));
    }
    return candidates;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    if (IsLrn(node)) return std::make_unique<LrnStep>(node.layer.lrn_param());
    Require(IsSoftmax(node), "layer '", node.name(), "' (", node.type(),
            ") is not an operation across channels");
    return std::make_unique<SoftmaxStep>();
  }
};

}  // namespace

const Implementation& AcrossChannels() {
  static const AcrossChannelsImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
